#include "base/json.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "base/error.hpp"

namespace omnirt {
namespace {

// An object is searched from its front, so that many keys in one cost the square of their number.
constexpr size_t max_json_keys = 4096;

// Builds the value itself through nlohmann's DOM parser, but refuses depth and duplicate keys as
// they appear.
class Guard {
 public:
  explicit Guard(const std::string& where) : where_(where) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > static_cast<int>(max_json_depth)) {
      throw InvalidFile(
          {where_, "", fmt::format("nested deeper than {} levels", max_json_depth), "flatten it"});
    }
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key) {
      auto key = parsed.get<std::string>();
      if (keys_.back().size() >= max_json_keys) {
        throw InvalidFile(
            {where_, "", fmt::format("more than {} keys in one object", max_json_keys), ""});
      }
      if (!keys_.back().insert(key).second) {
        throw InvalidFile({where_, key, "the key is there twice", "keep one of them"});
      }
    }
    return true;
  }

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& where, size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw InvalidFile({where, fmt::format("{} bytes", text.size()),
                       fmt::format("larger than the limit of {} bytes", max_bytes), ""});
  }
  try {
    return Json::parse(text, Guard(where));
  } catch (const Json::exception& error) {
    throw InvalidFile({where, "", fmt::format("not valid JSON: {}", error.what()), ""});
  }
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 120 ? text : text.substr(0, 117) + "...";
}

}  // namespace omnirt
