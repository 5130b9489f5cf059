#include "hub/choose_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/python_json.hpp"
#include "io/shard_index.hpp"
#include "io/weight_choice.hpp"

namespace omnirt::hub {
namespace {

constexpr const char* index_name = "model_index.json";
constexpr const char* modular_index_name = "modular_model_index.json";
constexpr size_t max_index_bytes = size_t{1} << 20;
constexpr size_t most_shown = 12;
// Configs, vocabularies and merges; weights' indexes are taken with the weights.
constexpr uint64_t max_small_bytes = uint64_t{64} << 20;

bool ends_with_any(std::string_view name, std::span<const std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

bool is_small(const RemoteFile& file) {
  constexpr std::array<std::string_view, 5> ends{".json", ".txt", ".model", ".jinja", ".tiktoken"};
  return ends_with_any(file.path, ends) && !file.path.ends_with(".index.json") &&
         file.path.find(".safetensors.index.") == std::string::npos &&
         file.bytes <= max_small_bytes;
}

// By the classes that have none in diffusers and transformers.
bool has_weights(const std::string& class_name) {
  constexpr std::array<std::string_view, 7> without{
      "Tokenizer", "TokenizerFast",    "Processor",    "ProcessorFast",
      "Scheduler", "FeatureExtractor", "SafetyChecker"};
  return !ends_with_any(class_name, without) && class_name.find("Scheduler") == std::string::npos;
}

class Chooser {
 public:
  Chooser(const Listing& listing, const Choice& choice, const ReadFile& read)
      : listing_(listing), choice_(choice), read_(read) {}

  std::vector<RemoteFile> choose() {
    if (choice_.all) return listing_.files;
    if (!choice_.patterns.empty())
      take_patterns();
    else if (listing_.find(index_name))
      take_pipeline(index_name);
    else if (listing_.find(modular_index_name))
      take_pipeline(modular_index_name);
    else
      take_top();
    return files();
  }

 private:
  std::vector<RemoteFile> files() const {
    std::vector<RemoteFile> files;
    for (const RemoteFile& file : listing_.files)
      if (taken_.contains(file.path)) files.push_back(file);
    return files;
  }

  void take_patterns() {
    for (const std::string& pattern : choice_.patterns) {
      bool matched = false;
      for (const RemoteFile& file : listing_.files) {
        if (fnmatch(pattern.c_str(), file.path.c_str(), 0) != 0) continue;
        matched = true;
        taken_.insert(file.path);
      }
      if (!matched) refuse("files", pattern, "the repository has no such file");
    }
  }

  void take_pipeline(const char* of_index) {
    taken_.insert(of_index);
    const RemoteFile& index = *listing_.find(of_index);
    if (index.bytes > max_index_bytes)
      refuse(of_index, fmt::to_string(index.bytes), "larger than a pipeline's index");
    const Json components = parse_python_json(read_(index), of_index, max_index_bytes);
    if (!components.is_object()) refuse(of_index, "", "an object is expected");
    for (const auto& [name, entry] : components.items()) {
      bool present = entry.is_array() && entry.size() == 2 && entry[1].is_string();
      if (present) take_component(name, entry[1].get<std::string>());
      if (entry.is_array() && entry.size() == 3 && entry[2].is_object()) take_modular(entry);
    }
  }

  // [library, class, where it is], the first two perhaps in "type_hint" alone. What is in other
  // repositories is fetched from those.
  void take_modular(const Json& entry) {
    auto text = [](const Json& value) {
      return value.is_string() ? value.get<std::string>() : std::string();
    };
    const Json hint = entry[2].value("type_hint", Json());
    std::string class_name = text(entry[1]);
    if (class_name.empty() && hint.is_array() && hint.size() == 2) class_name = text(hint[1]);
    const std::string folder = text(entry[2].value("subfolder", Json()));
    if (!folder.empty() && !listing_.names_in(folder).empty()) take_component(folder, class_name);
  }

  void take_component(const std::string& folder, const std::string& class_name) {
    take_small(folder);
    if (has_weights(class_name)) take_weights(folder);
  }

  void take_small(const std::string& folder) {
    for (const std::string& name : listing_.names_in(folder)) {
      const std::string path = below(folder, name);
      if (is_small(*listing_.find(path))) taken_.insert(path);
    }
  }

  void take_weights(const std::string& folder) {
    static const std::vector<std::string> bases{"diffusion_pytorch_model", "model"};
    const io::WeightChoice weights =
        io::choose_weights_among(folder, listing_.names_in(folder), bases, choice_.variant);
    const std::string path = below(folder, weights.path.filename().string());
    taken_.insert(path);
    if (!weights.is_index) return;
    for (const std::string& shard :
         io::ShardIndex::parse(read_(*listing_.find(path)), path).shards) {
      if (!listing_.find(below(folder, shard)))
        refuse(path, shard, "the index lists a file that the repository does not have");
      taken_.insert(below(folder, shard));
    }
  }

  // A component, or an adapter or checkpoint of one file.
  void take_top() {
    std::vector<std::string> weights = listing_.names_in("");
    std::erase_if(weights, [](const std::string& name) {
      return !name.ends_with(".safetensors") && !name.ends_with(".gguf");
    });
    if (listing_.find("config.json") && weights.size() != 1) {
      take_small("");
      return take_weights("");
    }
    if (weights.size() != 1)
      refuse("model", "",
             weights.empty() ? "no pipeline, and no file of weights at its top"
                             : "no pipeline, and several files of weights");
    taken_.insert(weights.front());
    if (listing_.find("config.json")) take_small("");
  }

  static std::string below(const std::string& folder, const std::string& name) {
    return folder.empty() ? name : folder + "/" + name;
  }

  [[noreturn]] void refuse(const std::string& field, const std::string& value,
                           std::string message) const {
    std::vector<std::string> there;
    for (const RemoteFile& file : listing_.files)
      if (!file.path.ends_with(".md") && !file.path.starts_with('.')) there.push_back(file.path);
    const size_t more = there.size() > most_shown ? there.size() - most_shown : 0;
    there.resize(there.size() - more);
    throw InvalidRequest(
        {field, value, std::move(message),
         fmt::format("name the files to take; there are: {}{}", fmt::join(there, ", "),
                     more ? fmt::format(" and {} more", more) : "")});
  }

  const Listing& listing_;
  const Choice& choice_;
  const ReadFile& read_;
  std::set<std::string> taken_;
};

}  // namespace

std::vector<RemoteFile> choose_files(const Listing& listing, const Choice& choice,
                                     const ReadFile& read) {
  return Chooser(listing, choice, read).choose();
}

}  // namespace omnirt::hub
