#include "engine/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "engine/convert_weights.hpp"
#include "io/file.hpp"
#include "io/new_folder.hpp"
#include "request/model_search.hpp"
#include "request/single_file.hpp"
#include "weights/loader.hpp"
#include "weights/original_weights.hpp"

namespace omnirt {
namespace fs = std::filesystem;
namespace {

constexpr const char* rest_file = "original_rest.safetensors";
// Readers of the reference take the key for the framework that wrote the tensors.
const io::FileMetadata framework{{"format", "pt"}};

void write_json(const fs::path& path, const Json& json) {
  io::write_file(path, json.dump(2) + "\n");
}

const nn::NetworkInfo& network_info(const Catalogue& catalogue, const ComponentFolder& component) {
  if (const nn::NetworkInfo* info = catalogue.find_network(component.class_name)) return *info;
  throw Unsupported({component.name, component.class_name,
                     "this build has no such network class, so it knows no layout of it", ""});
}

std::string config_name(const ComponentFolder& component) {
  if (component.class_name.ends_with("Scheduler")) return "scheduler_config.json";
  return "config.json";
}

void write_tokenizer(const ComponentFolder& component, const fs::path& folder) {
  for (const char* name : {"vocab.json", "merges.txt", "tokenizer.json"}) {
    std::error_code error;
    if (fs::is_regular_file(component.folder / name, error))
      io::write_file(folder / name, io::read_file(component.folder / name, size_t{64} << 20));
  }
  write_json(folder / "tokenizer_config.json", component.config);
  Json map = Json::object();
  for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    if (!component.config.contains(name)) continue;
    map[name] = component.config[name];
    if (map[name].is_object()) map[name].erase("__type");
  }
  write_json(folder / "special_tokens_map.json", map);
}

// Buffers that published folders and original files hold by the same name and no network takes
// (positions): they go with their component.
std::vector<std::string> carried(const nn::Network& network, const nn::OriginalLayout& layout) {
  std::vector<std::string> names, ignored = network.weight_map().ignored;
  std::ranges::copy_if(layout.leftovers, std::back_inserter(names), [&](const std::string& name) {
    return std::ranges::find(ignored, name) != ignored.end();
  });
  return names;
}

void carry(std::vector<io::TensorSource>& into, const std::string& name,
           const std::optional<io::FoundTensor>& found) {
  if (!found) return;
  into.push_back({name, found->entry->dtype, found->entry->shape,
                  [tensor = *found](const io::TensorSource::Emit& emit) {
                    emit_numbers(weight_of(tensor), emit);
                  }});
}

class ToFolder {
 public:
  ToFolder(const Catalogue& catalogue, const ConvertRequest& request)
      : catalogue_(catalogue),
        request_(request),
        opened_(open_single_file(catalogue, request.from, request.config_folder,
                                 request.prediction_type)),
        files_(io::TensorFiles::open_file(request.from)) {}

  Json run() {
    settle_prediction();
    check();
    io::NewFolder folder("to", request_.to);
    write_json(folder.path() / "model_index.json", opened_.folder.index);
    for (const auto& [name, component] : opened_.folder.components)
      write_component(component, folder.path() / name);
    Json told = to_json(opened_);
    told["rest"] = write_rest(folder.path());
    folder.commit();
    return told;
  }

 private:
  // Every network is built and its tensors found before anything is written.
  void check() const {
    std::vector<Finding> findings;
    for (const auto& [name, component] : opened_.folder.components) {
      if (!component.original || component.original->layout.empty()) continue;
      try {
        weights_of(component);
      } catch (const InvalidRequest& thrown) {
        findings.insert(findings.end(), thrown.findings().begin(), thrown.findings().end());
      }
    }
    for (const auto& [name, entry] : opened_.folder.index.items()) {
      bool listed = entry.is_array() && entry.size() == 2 && entry[0].is_string();
      if (!listed || opened_.folder.find(name)) continue;
      const auto lacks = opened_.missing.find(name);
      findings.push_back({name, "",
                          lacks == opened_.missing.end()
                              ? "its data are not installed with this program"
                              : lacks->second.why,
                          "give single_file_config a folder that has it, or convert a whole file"});
    }
    if (!findings.empty()) throw InvalidRequest(std::move(findings));
  }

  std::pair<std::unique_ptr<nn::Network>, std::shared_ptr<const WeightStore>> weights_of(
      const ComponentFolder& component) const {
    const nn::NetworkInfo& info = network_info(catalogue_, component);
    auto network = info.make(component.config, path_text(component.config_file));
    auto layout = original_layout(*network, component.original->layout);
    auto store =
        open_original_weights(files_, *network, layout, component.original->prefix, component.name);
    return {std::move(network), std::move(store)};
  }

  void write_component(const ComponentFolder& component, const fs::path& folder) {
    fs::create_directory(folder);
    if (catalogue_.find_tokenizer(component.class_name)) {
      write_tokenizer(component, folder);
      return;
    }
    write_json(folder / config_name(component), component.config);
    if (!component.original || component.original->layout.empty()) return;
    auto [network, store] = weights_of(component);
    std::vector<io::TensorSource> tensors;
    const nn::NetworkInfo& info = network_info(catalogue_, component);
    for (const auto& [name, weight] : store->all())
      tensors.push_back(tensor_source(info.published_prefix + name, weight));
    auto layout = original_layout(*network, component.original->layout);
    for (const std::string& name : carried(*network, layout)) {
      carry(tensors, name, files_.find(component.original->prefix + name));
      taken_.insert(component.original->prefix + name);
    }
    io::stream_safetensors(folder / (info.weights_base + ".safetensors"), tensors, framework);
    for (const Param* param : network->params())
      taken_.insert(component.original->prefix + nn::original_place(layout, *param)->name);
  }

  // What is not averages of training, and of no component.
  Json write_rest(const fs::path& folder) const {
    std::vector<io::TensorSource> tensors;
    size_t left_out = 0;
    for (const std::string& name : files_.names()) {
      if (taken_.contains(name)) continue;
      if (name.starts_with("model_ema.")) {
        ++left_out;
        continue;
      }
      carry(tensors, name, files_.find(name));
    }
    io::FileMetadata metadata = files_.files().front()->metadata();
    metadata.erase(single_file_configs);
    if (!tensors.empty() || !metadata.empty())
      io::stream_safetensors(folder / rest_file, tensors, metadata);
    return {{"kept", tensors.size()}, {"left_out", left_out}};
  }

  void settle_prediction() {
    if (request_.prediction_type.empty()) return;
    auto it = opened_.folder.components.find("scheduler");
    if (it == opened_.folder.components.end()) return;
    it->second.config["prediction_type"] = request_.prediction_type;
    bool told = std::ranges::any_of(opened_.decisions, [](const SingleFileDecision& each) {
      return each.what == "prediction_type";
    });
    if (!told)
      opened_.decisions.push_back({"prediction_type", request_.prediction_type, "asked for"});
  }

  const Catalogue& catalogue_;
  const ConvertRequest& request_;
  SingleFile opened_;
  io::TensorFiles files_;
  std::set<std::string> taken_;
};

class ToFile {
 public:
  ToFile(const Catalogue& catalogue, const ConvertRequest& request)
      : catalogue_(catalogue), request_(request), folder_(open_pipeline_folder(request.from)) {}

  Json run() {
    add_parts();
    io::FileMetadata metadata = add_rest();
    metadata[single_file_configs] = configs().dump();
    Json told = {{"tensors", tensors_.size()}};
    if (is_gguf_name(request_.to) || !request_.quantize.empty())
      told = write_quantized(catalogue_, request_, tensors_, metadata);
    else
      io::stream_safetensors(request_.to, tensors_, metadata);
    told["kind"] = kind_;
    told["warnings"] = tokenizers_left();
    return told;
  }

 private:
  std::vector<SingleFileModel::Part> parts() {
    for (const Family& family : catalogue_.families) {
      for (const SingleFileKind& kind : family.single_files) {
        auto parts = kind.parts_of(folder_);
        kind_ = kind.name;
        if (!parts.empty()) return parts;
      }
    }
    throw Unsupported({"from", path_text(folder_.path),
                       fmt::format("a {} has no layout in one file here", folder_.class_name), ""});
  }

  void add_parts() {
    std::vector<Finding> findings;
    for (const SingleFileModel::Part& part : parts()) {
      try {
        add_part(part);
      } catch (const InvalidRequest& thrown) {
        findings.insert(findings.end(), thrown.findings().begin(), thrown.findings().end());
      }
    }
    if (!findings.empty()) throw InvalidRequest(std::move(findings));
  }

  void add_part(const SingleFileModel::Part& part) {
    const ComponentFolder* component = folder_.find(part.component);
    if (!component)
      throw InvalidRequest({part.component, path_text(folder_.path), "the folder has none", ""});
    const nn::NetworkInfo& info = network_info(catalogue_, *component);
    networks_.push_back(info.make(component->config, path_text(component->config_file)));
    const nn::Network& network = *networks_.back();
    auto files = io::TensorFiles::open(component->folder, std::span(&info.weights_base, 1));
    stores_.push_back(open_weights(files, network, component->name));
    auto layout = original_layout(network, part.layout);
    for (io::TensorSource& tensor : original_tensors(*stores_.back(), network, layout, part.prefix))
      tensors_.push_back(std::move(tensor));
    for (const std::string& name : carried(network, layout))
      carry(tensors_, part.prefix + name, files.find(name));
  }

  // What came from a single file and no component took goes back into it.
  io::FileMetadata add_rest() {
    std::error_code error;
    fs::path path = folder_.path / rest_file;
    if (!fs::is_regular_file(path, error)) return framework;
    rest_ = io::SafetensorsFile::open(path);
    std::set<std::string> there;
    for (const io::TensorSource& tensor : tensors_) there.insert(tensor.name);
    for (const io::TensorEntry& entry : rest_->entries()) {
      if (there.contains(entry.name)) continue;
      auto bytes = rest_->data(entry);
      tensors_.push_back({entry.name, entry.dtype, entry.shape,
                          [bytes](const io::TensorSource::Emit& emit) { emit(bytes); }});
    }
    return rest_->metadata();
  }

  // A file has no place for a vocabulary: what reads it takes CLIP's own.
  Json tokenizers_left() const {
    Json left = Json::array();
    for (const auto& [name, component] : folder_.components) {
      const text::TokenizerInfo* info = catalogue_.find_tokenizer(component.class_name);
      if (!info || is_stock(*info, component)) continue;
      left.push_back(
          fmt::format("{0}: it is not CLIP's own, and no part of the file; run the file "
                      "with --component {0}={1}",
                      name, path_text(component.folder)));
    }
    return left;
  }

  static bool is_stock(const text::TokenizerInfo& info, const ComponentFolder& component) {
    constexpr const char* sample =
        "A photo of 3 quick brown foxes, jumping over lazy dogs' naïve 🦊!";
    try {
      auto own = info.make(component.folder, Json());
      auto clip = info.make(single_file_tokenizer(), component.config);
      return own->vocab_size() == clip->vocab_size() &&
             own->encode(sample).ids == clip->encode(sample).ids;
    } catch (const InvalidRequest&) {
      return false;  // one of them is not there, or cannot be read
    }
  }

  Json configs() const {
    Json all = Json::object();
    for (const auto& [name, component] : folder_.components) all[name] = component.config;
    return {{"index", folder_.index}, {"configs", all}};
  }

  const Catalogue& catalogue_;
  const ConvertRequest& request_;
  PipelineFolder folder_;
  std::string kind_;
  std::vector<std::unique_ptr<nn::Network>> networks_;
  std::vector<std::shared_ptr<const WeightStore>> stores_;
  std::shared_ptr<const io::SafetensorsFile> rest_;
  std::vector<io::TensorSource> tensors_;
};

// A file of tensors in other types, under the original's names.
Json to_quantized(const Catalogue& catalogue, const ConvertRequest& request) {
  const char* layout = is_gguf_name(request.to) ? "gguf" : "single-file";
  if (!request.layout.empty() && request.layout != layout) {
    throw InvalidRequest(
        {"to", request.layout, "such a file has the original's layout", "omit --to"});
  }
  Json told;
  if (is_pipeline_folder(request.from)) {
    told = ToFile(catalogue, request).run();
  } else {
    WeightsToConvert weights(catalogue, request);
    told = write_quantized(catalogue, request, weights.tensors(), weights.metadata());
  }
  told["layout"] = layout;
  return told;
}

Json between_layouts(const Catalogue& catalogue, const ConvertRequest& request) {
  std::error_code error;
  if (!request.quantize.empty()) {
    throw InvalidRequest({"quantize", request.quantize, "only one file is written so",
                          "name a file that ends with .gguf or .safetensors"});
  }
  bool is_file = fs::is_regular_file(request.from, error);
  std::string layout =
      request.layout.empty() ? (is_file ? "diffusers" : "single-file") : request.layout;
  if ((layout == "diffusers") != is_file) {
    throw InvalidRequest({"to", layout,
                          fmt::format("{} is {} already", path_text(request.from),
                                      is_file ? "one file" : "a folder"),
                          "omit --to, or name the other layout"});
  }
  if (!is_file && request.to.extension() != ".safetensors") {
    throw InvalidRequest({"to", path_text(request.to),
                          "a single file is written as .safetensors or .gguf",
                          "name a file that ends with .safetensors or .gguf"});
  }
  Json told = is_file ? ToFolder(catalogue, request).run() : ToFile(catalogue, request).run();
  told["layout"] = layout;
  return told;
}

}  // namespace

Json convert(const Catalogue& catalogue, const ConvertRequest& request) {
  std::error_code error;
  if (fs::symlink_status(request.to, error).type() != fs::file_type::not_found) {
    throw InvalidRequest({"to", path_text(request.to), "there is something of this name already",
                          "name another, or remove it first"});
  }
  bool scaled = !request.quantize.empty() && request.to.extension() == ".safetensors";
  Json told = scaled || is_gguf_name(request.to) ? to_quantized(catalogue, request)
                                                 : between_layouts(catalogue, request);
  told["from"] = request.from.native();
  told["to"] = request.to.native();
  return told;
}

}  // namespace omnirt
