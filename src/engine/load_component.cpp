#include "engine/load_component.hpp"

#include <fmt/format.h>

#include "base/nearest.hpp"
#include "text/clip_tokenizer.hpp"
#include "weights/loader.hpp"

namespace omnirt {
namespace {

// The type that most bytes of a component are stored in.
std::string stored_dtype(const WeightStore& store) {
  std::map<std::string, size_t> bytes;
  for (const auto& [name, weight] : store.all())
    bytes[std::string(io::common_dtype_name(weight->dtype))] += weight->bytes;
  std::string most;
  for (const auto& [name, count] : bytes) {
    if (most.empty() || count > bytes[most]) most = name;
  }
  return most;
}

void load_network(const Catalogue& catalogue, const ComponentFolder& folder, Backend& backend,
                  const PlanFacts& facts, LoadedComponent& component) {
  const nn::NetworkInfo* info = catalogue.find_network(folder.class_name);
  if (!info) {
    std::vector<std::string> known;
    for (const nn::NetworkInfo& each : catalogue.networks) known.push_back(each.class_name);
    throw Unsupported({"model." + folder.name, folder.class_name,
                       "this build has no such network class", suggest(folder.class_name, known)});
  }
  if (folder.config_file.empty()) {
    throw InvalidFile(
        {folder.folder.string(), "", "the component has no config.json", "complete the folder"});
  }
  component.network = info->make(folder.config, folder.config_file.string());
  auto files = io::TensorFiles::open(folder.folder, std::span(&info->weights_base, 1));
  component.store = open_weights(files, *component.network, folder.name);
  component.stored_dtype = stored_dtype(*component.store);
  component.wrapped = backend.wrap_module(folder.name, folder.class_name, facts);
}

}  // namespace

at::ScalarType compute_dtype(const std::string& name) {
  if (name == "fp32") return at::kFloat;
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  throw Unsupported({"config.dtype", name, "not a type to compute in", "give fp32, fp16 or bf16"});
}

std::shared_ptr<LoadedComponent> load_component(const Catalogue& catalogue,
                                                const ComponentFolder& folder, Backend& backend,
                                                const PlanFacts& facts) {
  auto component = std::make_shared<LoadedComponent>();
  component->name = folder.name;
  component->class_name = folder.class_name;
  if (folder.class_name == "CLIPTokenizer" || folder.class_name == "CLIPTokenizerFast") {
    component->tokenizer =
        std::make_shared<text::CLIPTokenizer>(text::CLIPTokenizer::from_folder(folder.folder));
  } else {
    load_network(catalogue, folder, backend, facts, *component);
  }
  return component;
}

}  // namespace omnirt
