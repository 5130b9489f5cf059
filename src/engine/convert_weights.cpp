#include "engine/convert_weights.hpp"

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "engine/convert_gguf.hpp"
#include "engine/convert_scaled.hpp"
#include "weights/loader.hpp"
#include "weights/original_weights.hpp"
#include "weights/pipeline_folder.hpp"
#include "weights/single_file_kind.hpp"

namespace omnirt {
namespace fs = std::filesystem;

WeightsToConvert::WeightsToConvert(const Catalogue& catalogue, const ConvertRequest& request) {
  std::error_code error;
  if (fs::is_directory(request.from, error))
    take_component(catalogue, request);
  else
    take_file(request);
}

void WeightsToConvert::take_file(const ConvertRequest& request) {
  auto files = io::TensorFiles::open_file(request.from);
  for (const std::string& name : files.names()) {
    auto weight = std::make_shared<const Weight>(weight_of(*files.find(name)));
    tensors_.push_back(tensor_source(name, weight));
  }
  metadata_ = files.files().front()->metadata();
}

void WeightsToConvert::take_component(const Catalogue& catalogue, const ConvertRequest& request) {
  ComponentFolder component = read_component_folder("from", request.from);
  const nn::NetworkInfo* info = catalogue.find_network(component.class_name);
  if (!info) {
    throw Unsupported(
        {"from", path_text(request.from),
         "neither a pipeline's folder nor one of a network that this build knows",
         "give a folder with model_index.json, or a component's with its config.json"});
  }
  network_ = info->make(component.config, path_text(component.config_file));
  auto layouts = network_->original_layouts();
  if (layouts.empty()) {
    throw Unsupported({"from", component.class_name,
                       "the network has no original layout, whose names are written", ""});
  }
  auto files = io::TensorFiles::open(component.folder, std::span(&info->weights_base, 1));
  store_ = open_weights(files, *network_, component.name);
  Json config = component.config;
  config["_class_name"] = component.class_name;
  Json embedded = {{"index", Json::object()}, {"configs", {{"component", config}}}};
  metadata_ = {{single_file_configs, embedded.dump()}};
  if (is_gguf_name(request.to) || layouts.front().name != "llama.cpp") {
    tensors_ = original_tensors(*store_, *network_, layouts.front(), "");
    return;
  }
  for (const auto& [name, weight] : store_->all())
    tensors_.push_back(tensor_source(info->published_prefix + name, weight));
}

bool is_gguf_name(const fs::path& path) {
  return path.extension() == ".gguf";
}

Json write_quantized(const Catalogue& catalogue, const ConvertRequest& request,
                     std::span<const io::TensorSource> tensors, const io::FileMetadata& metadata) {
  if (is_gguf_name(request.to)) return write_as_gguf(catalogue, request, tensors, metadata);
  return write_as_scaled(request, tensors, metadata);
}

}  // namespace omnirt
