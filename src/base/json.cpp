#include "base/json.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/json_text.hpp"

namespace omnirt {
namespace {

// Of comparisons of keys in all objects together: some eight of the widest.
constexpr size_t max_key_work = size_t{1} << 26;
// No number has as many digits.
constexpr size_t longest_scalar = 128;

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
        throw InvalidFile({where_, "",
                           fmt::format("more than {} keys in one object", max_json_keys),
                           "give it fewer keys"});
      }
      key_work_ += keys_.back().size();
      if (key_work_ > max_key_work) {
        throw InvalidFile({where_, "", "too many objects of too many keys", "give it fewer keys"});
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
  size_t key_work_ = 0;
};

// The library quotes what it last read, of any length and not always UTF-8.
std::string brief(std::string_view message) {
  std::string text(message.substr(0, 200));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return message.size() > text.size() ? text + "..." : text;
}

// Throws nlohmann's exceptions where it is malformed.
Json parse_guarded(std::string_view text, const std::string& where, size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw InvalidFile({where, fmt::format("{} bytes", text.size()),
                       fmt::format("larger than the limit of {} bytes", max_bytes), "shorten it"});
  }
  return Json::parse(text, Guard(where));
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where, size_t max_bytes) {
  try {
    return parse_guarded(text, where, max_bytes);
  } catch (const Json::exception& error) {
    throw InvalidFile({where, "", fmt::format("not valid JSON: {}", brief(error.what())), ""});
  }
}

Json parse_json_or_text(std::string_view text, const std::string& where) {
  try {
    return parse_guarded(text, where, max_json_bytes);
  } catch (const Json::exception&) {
    return text;
  }
}

Json parse_scalar(std::string_view text) {
  if (text.empty() || text.size() > longest_scalar) return text;
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_primitive() && !value.is_string() && !value.is_discarded() ? value : Json(text);
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 120 ? text : text.substr(0, 117) + "...";
}

}  // namespace omnirt
