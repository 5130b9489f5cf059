#include "base/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/json_reason.hpp"
#include "base/json_text.hpp"

namespace omnirt {
namespace {

// Of comparisons of keys in all objects together: some eight of the widest.
constexpr size_t max_key_work = size_t{1} << 26;
// No number has as many digits.
constexpr size_t longest_scalar = 128;
// Of the keys that an error names.
constexpr size_t longest_path = 200;

// Builds the value itself through nlohmann's DOM parser, but refuses depth and duplicate keys as
// they appear. Knows the keys that lead to where the parser is.
class Guard {
 public:
  explicit Guard(const std::string& where) : where_(where) {}

  // "inputs.prompt"; "" outside any object.
  std::string path() const {
    std::string path;
    for (const std::string& name : names_) path += (path.empty() ? "" : ".") + name;
    return path.substr(0, longest_path);
  }

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > static_cast<int>(max_json_depth)) {
      throw InvalidFile(
          {where_, "", fmt::format("nested deeper than {} levels", max_json_depth), "flatten it"});
    }
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
      names_.emplace_back();
    }
    if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
      names_.pop_back();
    }
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
      names_.back() = std::move(key);
    }
    return true;
  }

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> keys_;
  std::vector<std::string> names_;
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

// Throws nlohmann's exceptions where it is malformed; `guard` then knows where.
Json parse_guarded(std::string_view text, const std::string& where, size_t max_bytes,
                   Guard& guard) {
  if (text.size() > max_bytes) {
    throw InvalidFile({where, fmt::format("{} bytes", text.size()),
                       fmt::format("larger than the limit of {} bytes", max_bytes), "shorten it"});
  }
  return Json::parse(text, std::ref(guard));
}

// JSON can escape half of a surrogate pair, which programs leave that cut a text in the middle of a
// character.
bool is_half_character(const Json::exception& error) {
  return std::string_view(error.what()).find("surrogate U+") != std::string_view::npos;
}

}  // namespace

std::string json_reason(std::string_view reason) {
  const size_t name = reason.starts_with("[json.exception.") ? reason.find("] ") : reason.npos;
  if (name != reason.npos) reason.remove_prefix(name + 2);
  constexpr std::string_view place = "parse error at ", rule = ": syntax error while parsing ";
  if (reason.starts_with(place)) reason.remove_prefix(place.size());
  const size_t from = reason.find(rule), to = reason.find(" - ", from);
  if (from == reason.npos || to == reason.npos) return brief(reason);
  return brief(std::string(reason.substr(0, from)) + ": " + std::string(reason.substr(to + 3)));
}

Json parse_json(std::string_view text, const std::string& where, size_t max_bytes) {
  Guard guard(where);
  try {
    return parse_guarded(text, where, max_bytes, guard);
  } catch (const Json::exception& error) {
    const std::string path = guard.path(), reason = json_reason(error.what());
    if (path.empty()) throw InvalidFile({where, "", "not valid JSON: " + reason, ""});
    const std::string field = where == "request" ? path : fmt::format("{}: {}", where, path);
    if (is_half_character(error))
      throw InvalidFile({field, "", "holds half of a surrogate pair, which is no character",
                         "remove the \\ud800 to \\udfff that stands alone"});
    throw InvalidFile({where, "", fmt::format("not valid JSON at '{}': {}", path, reason), ""});
  }
}

Json parse_json_or_text(std::string_view text, const std::string& where) {
  try {
    Guard guard(where);
    return parse_guarded(text, where, max_json_bytes, guard);
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
