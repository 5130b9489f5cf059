#include "io/weight_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/cached_path.hpp"
#include "io/sniff.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_listed = 10;

[[noreturn]] void refuse(const fs::path& folder, std::string message, std::string way_out) {
  throw InvalidFile({path_text(folder), "", std::move(message), std::move(way_out)});
}

std::vector<std::string> file_names(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    bool exists = fs::exists(folder, error);
    refuse(folder, exists ? "this is a file, and a folder was expected" : "there is no such folder",
           "");
  }
  std::vector<std::string> names;
  fs::directory_iterator entry(folder, error), end;
  while (!error && entry != end) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error) refuse(folder, fmt::format("the folder cannot be read: {}", error.message()), "");
  std::ranges::sort(names);
  return names;
}

// What is left of `name` between `head` and `tail`.
std::optional<std::string> between(std::string_view name, std::string_view head,
                                   std::string_view tail) {
  if (name.size() < head.size() + tail.size() || !name.starts_with(head) || !name.ends_with(tail)) {
    return std::nullopt;
  }
  name.remove_prefix(head.size());
  name.remove_suffix(tail.size());
  return std::string(name);
}

// "fp16", "non_ema"; and not "fp16-00001-of-00002", which is a shard.
bool is_variant(std::string_view name) {
  auto legal = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  return !name.empty() && std::ranges::all_of(name, legal) && name.find("-of-") == name.npos;
}

// The names that the reference libraries have given to weights, now and in earlier versions
// (diffusers utils/hub_utils.py and pipelines/pipeline_loading_utils.py).
std::optional<WeightChoice> recognised(const std::string& name, const std::string& base) {
  const std::string plain = base + ".safetensors", plain_index = plain + ".index.json";
  if (name == plain) return WeightChoice{name, false, ""};
  if (name == plain_index) return WeightChoice{name, true, ""};
  struct Pattern {
    std::string head, tail;
    bool is_index;
  };
  for (const auto& [head, tail, is_index] :
       {Pattern{base + ".", ".safetensors", false}, Pattern{plain + ".index.", ".json", true},
        Pattern{plain + ".", ".index.json", true},
        Pattern{base + ".", ".safetensors.index.json", true}}) {
    auto variant = between(name, head, tail);
    if (variant && is_variant(*variant)) return WeightChoice{name, is_index, *variant};
  }
  return std::nullopt;
}

using Variants = std::map<std::string, WeightChoice>;

Variants variants_of(const std::string& base, const std::vector<std::string>& names) {
  const bool index_counts = base != "model";
  Variants variants;
  for (const std::string& name : names) {
    std::optional<WeightChoice> file = recognised(name, base);
    if (!file) continue;
    auto [it, added] = variants.emplace(file->variant, *file);
    if (!added && it->second.is_index != file->is_index && file->is_index == index_counts) {
      it->second = *file;
    }
  }
  return variants;
}

// The first of them, for a message.
std::vector<std::string> listed(const Variants& variants) {
  std::vector<std::string> names;
  for (const auto& [variant, choice] : variants) {
    if (names.size() < most_listed) names.push_back(path_text(choice.path));
  }
  return names;
}

WeightChoice choose(const fs::path& folder, const Variants& variants, const std::string& wanted) {
  if (auto it = variants.find(wanted); it != variants.end()) return it->second;
  if (auto it = variants.find(""); it != variants.end()) return it->second;
  const std::string there = fmt::format("there are: {}", fmt::join(listed(variants), ", "));
  if (!wanted.empty()) {
    refuse(folder,
           fmt::format("no weights of the variant {} and no plain ones", shown_name(wanted)),
           there);
  }
  if (variants.size() == 1) return variants.begin()->second;
  if (auto it = variants.find("fp32"); it != variants.end()) return it->second;
  refuse(folder, "the weights are there in several variants, and none is the plain one",
         "name the variant to use; " + there);
}

[[noreturn]] void refuse_folder(const fs::path& folder, std::span<const std::string> bases,
                                std::vector<std::string> names) {
  auto pickle = std::ranges::find_if(names, [](const auto& n) { return has_pickle_suffix(n); });
  if (pickle != names.end()) {
    refuse(folder,
           fmt::format("the weights are there only as Python objects ({}), which can run any code "
                       "when they are read",
                       shown_name(*pickle)),
           std::string(pickle_way_out()));
  }
  std::vector<std::string> expected;
  for (const std::string& base : bases) expected.push_back(base + ".safetensors");
  std::erase_if(names, [](const std::string& n) { return !n.ends_with(".safetensors"); });
  if (names.size() > most_listed) names.resize(most_listed);
  refuse(
      folder,
      fmt::format("no weights are there: expected {} (or its index)", fmt::join(expected, " or ")),
      names.empty() ? fix_of_file(folder, "")
                    : fmt::format("there are: {}", fmt::join(names, ", ")));
}

}  // namespace

WeightChoice choose_weights(const fs::path& folder, std::span<const std::string> bases,
                            const std::string& variant) {
  return choose_weights_among(folder, file_names(folder), bases, variant);
}

WeightChoice choose_weights_among(const fs::path& folder, std::vector<std::string> names,
                                  std::span<const std::string> bases, const std::string& variant) {
  for (const std::string& base : bases) {
    Variants variants = variants_of(base, names);
    if (variants.empty()) continue;
    WeightChoice choice = choose(folder, variants, variant);
    choice.path = folder / choice.path;
    return choice;
  }
  refuse_folder(folder, bases, std::move(names));
}

}  // namespace omnirt::io
