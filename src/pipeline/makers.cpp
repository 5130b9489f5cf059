#include "pipeline/makers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "pipeline/block_list.hpp"
#include "pipeline/model_spec.hpp"

namespace omnirt {
namespace {

bool makes(const Block& block, const std::string& value, std::type_index type) {
  return std::ranges::any_of(block.ports(), [&](const PortInfo& port) {
    return port.kind == PortInfo::Kind::output && port.name == value && port.type == type;
  });
}

// "prepare_mask makes it when has(image) and has(mask)".
std::vector<std::string> in_list(const std::string& value, std::type_index type,
                                 const BlockList& list, const Facts& facts) {
  std::vector<std::string> ways;
  for (const auto& block : list) {
    if (!makes(*block, value, type)) continue;
    ways.push_back(
        block->trigger()(facts)
            ? fmt::format("{} makes it, and comes after it", block->name())
            : fmt::format("{} makes it when {}", block->name(), block->trigger().text()));
  }
  return ways;
}

std::vector<std::string> in_catalogue(const std::string& value, std::type_index type,
                                      const BlockList& list, const Catalogue& catalogue) {
  std::vector<std::string> makers;
  for (const Family& family : catalogue.families) {
    for (const auto& block : family.blocks) {
      if (!makes(*block, value, type) || find_block(list, block->name())) continue;
      makers.push_back(fmt::format("{} (family {})", block->name(), family.name));
    }
  }
  return makers;
}

}  // namespace

std::string who_could_make(const std::string& value, std::type_index type, const BlockList& list,
                           const Facts& facts, const Catalogue* catalogue) {
  std::vector<std::string> ways = in_list(value, type, list, facts);
  std::vector<std::string> others;
  if (catalogue) others = in_catalogue(value, type, list, *catalogue);
  if (!others.empty())
    ways.push_back(fmt::format("put in one that makes it: {}", fmt::join(others, ", ")));
  if (ways.empty()) return "no block of this build makes it: write one with this output";
  return fmt::format("{}", fmt::join(ways, "; "));
}

}  // namespace omnirt
