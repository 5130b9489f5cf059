#include "nn/feature_metadata.hpp"

#include <algorithm>
#include <set>

#include "nn/denoiser_network.hpp"
#include "nn/original_layout.hpp"

namespace omnirt::nn {
namespace {

std::vector<std::string> layout_names(const Network& network) {
  std::vector<std::string> names;
  for (const OriginalLayout& layout : network.original_layouts()) names.push_back(layout.name);
  return names;
}

// As adapters::Targets finds layers: by their own names, with dots or underscores, in any network.
std::vector<std::string> adapter_layouts(const Network& network) {
  AdapterNames names = network.adapter_names();
  std::vector<std::string> layouts{"diffusers", "peft", "kohya"};
  if (!network.original_layouts().empty()) layouts.emplace_back("original");
  for (const OriginalLayout& layout : names.layouts) layouts.push_back(layout.name);
  for (const NamedAdapters& each : named_adapters()) {
    const std::vector<std::string> originals = layout_names(network);
    if (std::ranges::find(originals, each.original) != originals.end())
      layouts.push_back(each.name);
  }
  if (!names.numbered_classes.empty()) layouts.emplace_back("cloneofsimo");
  if (!names.token_table.empty()) layouts.emplace_back("textual_inversion");
  return layouts;
}

bool takes_image_prompts(const Network& network) {
  const auto* denoiser = dynamic_cast<const DenoiserNetwork*>(&network);
  if (!denoiser) return false;
  std::vector<NetworkInput> inputs = denoiser->inputs();
  return std::ranges::any_of(
      inputs, [](const NetworkInput& input) { return input.name.starts_with("ip_adapter_keys"); });
}

bool has_caches(const Network& network) {
  const auto* denoiser = dynamic_cast<const DenoiserNetwork*>(&network);
  return denoiser && (denoiser->cache_branches() > 0 || denoiser->caches_blocks());
}

}  // namespace

std::vector<std::string> module_classes(const Module& root) {
  std::set<std::string> names;
  root.visit([&](const Module& module) {
    if (std::string name = module.class_name(); !name.empty()) names.insert(std::move(name));
  });
  return {names.begin(), names.end()};
}

Metadata feature_metadata(const Network& network, const NetworkFeatures& features) {
  return Metadata({
      {"_supports_gradient_checkpointing", false,
       "Recomputing activations in training. This runtime runs inference only: there is nothing to "
       "set."},
      {"_supports_group_offloading", true,
       "Weights that come and go in groups while the network computes (config.offload group or "
       "leaf, or a budget), on backends that plan memory: of the process (cpu) or of a device "
       "(cuda). Groups follow the order of use: there is nothing to set."},
      {"_no_split_modules", features.no_split_modules,
       "Modules that stay on one device as a whole; config.device_map places whole networks, and "
       "splits none. Set NetworkFeatures::no_split_modules."},
      {"_skip_layerwise_casting_patterns", features.skip_layerwise_casting_patterns,
       "Parts of names whose weights keep the compute dtype when others are stored in a narrower "
       "one. Set NetworkFeatures::skip_layerwise_casting_patterns."},
      {"_repeated_blocks", features.repeated_blocks,
       "Blocks that repeat, each run through Context::segment; profiles sum them up. Set "
       "NetworkFeatures::repeated_blocks."},
      {"_cp_plan", false,
       "Splitting a sequence over devices. There is no plan for this class, and none can be set "
       "yet."},
      {"_weight_mapping", layout_names(network),
       "Original layouts of one file that are read and written. Add one to "
       "Network::original_layouts."},
      {"_lora", adapter_layouts(network),
       "Layouts of adapter files that are read: layers are found by their own names in any "
       "network. "
       "Say how else files name them in Network::adapter_names."},
      {"_supports_cache", has_caches(network),
       "Reusing features between steps (config.cache). A TransformerNetwork supports first_block, "
       "mag and taylorseer with use_lite_mode as it is. For taylorseer without it, run attentions "
       "as Context::predicted_attention and override predicts_attentions; for deep, override "
       "DenoiserNetwork::cache_branches and run the deep part as a shared_segment."},
      {"_supports_ip_adapter", takes_image_prompts(network),
       "Image prompts (components.ip_adapter). Add ip_adapter_keys, values and masks to the "
       "network's inputs."},
  });
}

std::string shown_value(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (!value.is_array()) return value.is_string() ? value.get<std::string>() : value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ", ") + shown_value(item);
  return text.empty() ? "none" : text;
}

}  // namespace omnirt::nn
