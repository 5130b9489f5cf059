#include "cli/value_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"

namespace omnirt::cli {
namespace {

// Up to here a limit is informative; what is beyond is the type's.
constexpr double telling = 1e7;

std::string with_range(const char* type, const KeyInfo& key) {
  if (!(key.min > -telling) || !(key.max < telling)) return type;
  return fmt::format("{} {}..{}", type, key.min, key.max);
}

std::string path_words(std::string_view name) {
  if (name == keys::preview_decoder.name) return "linear|tiny|FOLDER";
  if (name == keys::output.name) return "FILE|FOLDER/";
  bool folder = name.ends_with("_dir") || name == keys::single_file_config.name;
  if (name == keys::model_path.name) return "FOLDER|FILE";
  return folder ? "FOLDER" : "FILE";
}

std::string text_words(const KeyInfo& key) {
  std::string_view name = key.name;
  auto named = [&](const KeyInfo* each) { return name == each->name; };
  if (std::ranges::any_of(keys::paths(), named)) return path_words(name);
  return name == keys::scheduler.name ? "NAME" : "TEXT";
}

}  // namespace

std::string value_words(const KeyInfo& key) {
  if (key.names) return fmt::format("{}", fmt::join(key.choice_list(), "|"));
  switch (key.type) {
    case KeyInfo::Type::boolean:
      return "";
    case KeyInfo::Type::integer:
      return std::string_view(key.name) == keys::seed.name ? "INT|random" : with_range("INT", key);
    case KeyInfo::Type::number:
      return with_range("FLOAT", key);
    case KeyInfo::Type::text:
      return text_words(key);
    case KeyInfo::Type::list:
      return "INT,INT,...";
    case KeyInfo::Type::object:
      break;
  }
  std::string kinds = fmt::format("{}", fmt::join(key.choice_list(), "|"));
  if (kinds.empty()) return "JSON";
  if (kinds == "list") return "FLOAT,FLOAT,...";
  if (kinds.starts_with("text")) return "NAME|JSON";
  return kinds.starts_with("number") ? "FLOAT|JSON" : "JSON";
}

}  // namespace omnirt::cli
