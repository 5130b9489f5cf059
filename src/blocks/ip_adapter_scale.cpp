#include "blocks/ip_adapter_scale.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <sstream>

#include "blocks/control_keys.hpp"

namespace omnirt::blocks {
namespace {

constexpr double lowest = -10, highest = 10;

// A layer as the scales name it: {"down", "block_2", 1}; {"mid", "", 0}.
struct Place {
  std::string way;
  std::string block;
  size_t transformer = 0;
};

Place place_of(const std::string& layer) {
  std::vector<std::string> parts;
  std::istringstream in(layer);
  for (std::string part; std::getline(in, part, '.');) parts.push_back(part);
  // "mid_block.attentions.0...", "down_blocks.2.attentions.1..."
  if (parts.front() == "mid_block") return {"mid", "", 0};
  return {parts[0] == "down_blocks" ? "down" : "up", "block_" + parts[1], std::stoul(parts[3])};
}

double of_block(const Json& value, size_t transformer) {
  if (!value.is_array()) return value.get<double>();
  return value.at(value.size() == 1 ? 0 : transformer).get<double>();
}

class Checker {
 public:
  Checker(Checks& checks, const std::vector<ImagePromptSite>& sites) : checks_(checks) {
    for (const ImagePromptSite& site : sites) {
      Place place = place_of(site.path);
      size_t& count = transformers_[place.way][place.block];
      count = std::max(count, place.transformer + 1);
    }
  }

  void check(const Json& value, size_t adapters) {
    if (!value.is_array()) return check_one(value);
    if (value.size() != adapters) {
      return refuse(value, fmt::format("there are {} IP-Adapters", adapters),
                    "give one number for all, or one for each");
    }
    for (const Json& each : value) check_one(each);
  }

 private:
  void refuse(const Json& value, const std::string& what, const std::string& way_out) {
    checks_.error(
        {fmt::format("config.{}", keys::ip_adapter_scale.name), shown(value), what, way_out});
  }

  void check_number(const Json& value) {
    if (value.is_number() && value.get<double>() >= lowest && value.get<double>() <= highest)
      return;
    refuse(value, "not a number that is taken", fmt::format("give {} to {}", lowest, highest));
  }

  void check_one(const Json& value) {
    if (value.is_array()) {
      for (const Json& each : value) check_number(each);
    } else if (value.is_object()) {
      for (const auto& [way, scales] : value.items()) check_way(way, scales);
    } else {
      check_number(value);
    }
  }

  void check_way(const std::string& way, const Json& scales) {
    auto known = transformers_.find(way);
    if (known == transformers_.end()) return refuse(way, "no such part", "give down, mid or up");
    if (!scales.is_object()) {
      for (const auto& [block, count] : known->second) check_block(scales, count);
      return;
    }
    for (const auto& [block, scale] : scales.items()) {
      auto at = known->second.find(block);
      if (at != known->second.end()) {
        check_block(scale, at->second);
        continue;
      }
      std::vector<std::string> names;
      for (const auto& [name, count] : known->second) names.push_back(name);
      refuse(way + "." + block, "this UNet has no attention to the text there",
             fmt::format("give one of: {}", fmt::join(names, ", ")));
    }
  }

  void check_block(const Json& scale, size_t count) {
    if (!scale.is_array()) return check_number(scale);
    if (scale.size() != 1 && scale.size() != count) {
      return refuse(scale, fmt::format("the block has {} transformers", count),
                    "give one number for all, or one for each");
    }
    for (const Json& each : scale) check_number(each);
  }

  Checks& checks_;
  std::map<std::string, std::map<std::string, size_t>> transformers_;
};

}  // namespace

double ImagePromptScale::at(const std::string& layer, size_t image) const {
  if (value_.is_number()) return value_.get<double>();
  if (value_.is_array()) return value_.at(value_.size() == 1 ? 0 : image).get<double>();
  Place place = place_of(layer);
  if (!value_.contains(place.way)) return 0.0;
  const Json& way = value_[place.way];
  if (!way.is_object()) return of_block(way, place.transformer);
  return way.contains(place.block) ? of_block(way[place.block], place.transformer) : 0.0;
}

void check_ip_adapter_scale(Checks& checks, const Config<Json>& scale, size_t adapters,
                            const std::vector<ImagePromptSite>& sites) {
  Checker(checks, sites).check(checks[scale], adapters);
}

}  // namespace omnirt::blocks
