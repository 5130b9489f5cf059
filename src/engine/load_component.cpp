#include "engine/load_component.hpp"

#include <fmt/format.h>

#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "io/cached_path.hpp"
#include "nn/autoencoder.hpp"
#include "weights/loader.hpp"
#include "weights/original_weights.hpp"
#include "weights/storage_casting.hpp"

namespace omnirt {
namespace {

// The type that most bytes of a component are stored in.
std::string stored_dtype(const WeightStore& store) {
  std::map<std::string, size_t> bytes;
  for (const auto& [name, weight] : store.all()) bytes[weight->stored_as()] += weight->bytes;
  std::string most;
  for (const auto& [name, count] : bytes) {
    if (most.empty() || count > bytes[most]) most = name;
  }
  return most;
}

std::shared_ptr<const WeightStore> weights_of(const ComponentFolder& folder,
                                              const nn::NetworkInfo& info,
                                              const nn::Network& network) {
  if (folder.original) {
    auto layout = original_layout(network, folder.original->layout);
    return open_original_weights(io::TensorFiles::open_file(folder.original->file), network, layout,
                                 folder.original->prefix, folder.name);
  }
  std::error_code error;
  auto files = std::filesystem::is_regular_file(folder.folder, error)
                   ? io::TensorFiles::open_file(folder.folder)
                   : io::TensorFiles::open(folder.folder, std::span(&info.weights_base, 1));
  return open_weights(files, network, folder.name);
}

bool wants_fp32(const nn::Network& network) {
  const auto* autoencoder = dynamic_cast<const nn::Autoencoder*>(&network);
  return autoencoder && autoencoder->force_upcast();
}

io::Dtype dtype_of(StorageType type) {
  switch (type) {
    case StorageType::float8_e4m3fn:
      return io::Dtype::f8_e4m3;
    case StorageType::float8_e5m2:
      return io::Dtype::f8_e5m2;
    case StorageType::bf16:
      return io::Dtype::bf16;
    case StorageType::fp16:
      return io::Dtype::f16;
  }
  throw InternalError("a storage type without a type of weights");
}

void keep_narrow(const ComponentKey& key, LoadedComponent& component, PlanFacts& facts) {
  if (!key.storage) return;
  component.store = cast_for_storage(*component.store, *component.network, dtype_of(*key.storage),
                                     key.folder.name);
  component.kept_dtype = name_of(*key.storage);
  // Packed forms are copies in wider types.
  facts.pack = PackPolicy::never;
}

void load_network(const Catalogue& catalogue, Backend& backend, const ComponentKey& key,
                  LoadedComponent& component) {
  const ComponentFolder& folder = key.folder;
  const nn::NetworkInfo* info = catalogue.find_network(folder.class_name);
  if (!info) {
    std::vector<std::string> known;
    for (const nn::NetworkInfo& each : catalogue.networks) known.push_back(each.class_name);
    for (const text::TokenizerInfo& each : catalogue.tokenizers)
      known.insert(known.end(), each.class_names.begin(), each.class_names.end());
    for (const ImageProcessorInfo& each : catalogue.image_processors)
      known.insert(known.end(), each.class_names.begin(), each.class_names.end());
    throw Unsupported({"model." + folder.name, folder.class_name,
                       "this build has no such class of networks, tokenizers or image processors",
                       suggest(folder.class_name, known)});
  }
  if (folder.config_file.empty()) {
    throw InvalidFile({path_text(folder.folder), "", "the component has no config.json",
                       io::fix_of_file(folder.folder, "complete the folder")});
  }
  component.network = info->make(folder.config, path_text(folder.config_file));
  component.store = weights_of(folder, *info, *component.network);
  component.stored_dtype = stored_dtype(*component.store);
  PlanFacts facts = key.facts;
  keep_narrow(key, component, facts);
  if (key.upcasts && wants_fp32(*component.network)) facts.dtype = at::kFloat;
  component.wrapped = backend.wrap_module(folder.name, folder.class_name, facts);
}

}  // namespace

std::shared_ptr<LoadedComponent> load_component(const Catalogue& catalogue, Backend& backend,
                                                const ComponentKey& key) {
  const ComponentFolder& folder = key.folder;
  auto component = std::make_shared<LoadedComponent>();
  component->name = folder.name;
  component->class_name = folder.class_name;
  const text::TokenizerInfo* tokenizer = catalogue.find_tokenizer(folder.class_name);
  const ImageProcessorInfo* processor = catalogue.find_image_processor(folder.class_name);
  // Of a checkpoint of one file: this program's vocabulary with the model's own settings.
  if (tokenizer)
    component->tokenizer = tokenizer->make(folder.folder, folder.original ? folder.config : Json());
  // A processor may be both; a folder that prepares no images has no file that says how.
  if (processor && folder.config_file.filename() != "tokenizer_config.json")
    component->image_processor = processor->make(folder.config, path_text(folder.config_file));
  if (!tokenizer && !processor) load_network(catalogue, backend, key, *component);
  return component;
}

}  // namespace omnirt
