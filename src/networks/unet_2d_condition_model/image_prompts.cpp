#include "networks/unet_2d_condition_model/model.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

// The number after the list's name in "down_blocks.2.attentions...".
size_t place_in(const std::string& path, const std::string& list) {
  return std::stoul(path.substr(list.size() + 1));
}

}  // namespace

std::vector<ImagePromptSite> UNet2DConditionModel::image_prompt_sites() const {
  std::vector<ImagePromptSite> sites;
  size_t lowest = down_blocks.size() - 1;
  visit([&](const nn::Module& module) {
    const auto* block = dynamic_cast<const nn::BasicTransformerBlock*>(&module);
    if (!block) return;
    size_t level = lowest;
    if (block->path().starts_with(down_blocks.path()))
      level = place_in(block->path(), down_blocks.path());
    else if (block->path().starts_with(up_blocks.path()))
      level = lowest - place_in(block->path(), up_blocks.path());
    const nn::Linear& keys = block->attn2.to_k;
    sites.push_back({block->attn2.path(), keys.out(), keys.in(), level});
  });
  return sites;
}

std::vector<std::array<int64_t, 2>> UNet2DConditionModel::level_sizes(int64_t height,
                                                                      int64_t width) const {
  std::vector<std::array<int64_t, 2>> sizes;
  for (size_t i = 0; i < down_blocks.size(); ++i) {
    sizes.push_back({height, width});
    height = (height + config_.downsample_padding) / 2;
    width = (width + config_.downsample_padding) / 2;
  }
  return sizes;
}

nn::ImagePrompts UNet2DConditionModel::image_prompts(Context& cx, const UNetInput& input) const {
  nn::ImagePrompts prompts;
  auto sites = image_prompt_sites();
  size_t count = sites.empty() ? 0 : input.ip_adapter_keys.size() / sites.size();
  ensure(input.ip_adapter_keys.size() == count * sites.size() &&
             input.ip_adapter_values.size() == input.ip_adapter_keys.size(),
         "{} keys and {} values of image prompts for {} layers", input.ip_adapter_keys.size(),
         input.ip_adapter_values.size(), sites.size());
  size_t levels = down_blocks.size();
  ensure(input.ip_adapter_masks.size() == count * levels, "{} masks for {} image prompts",
         input.ip_adapter_masks.size(), count);
  for (size_t i = 0; i < count; ++i) {
    std::vector<Tensor> masks;
    for (size_t level = 0; level < levels; ++level)
      masks.push_back(nn::in_form(cx, input.ip_adapter_masks[i * levels + level]));
    for (size_t k = 0; k < sites.size(); ++k) {
      size_t at = i * sites.size() + k;
      prompts.add(sites[k].path, {nn::in_form(cx, input.ip_adapter_keys[at]),
                                  nn::in_form(cx, input.ip_adapter_values[at]), masks});
    }
  }
  return prompts;
}

}  // namespace omnirt
