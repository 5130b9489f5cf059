#pragma once
#include <vector>

#include "networks/flux_ip_adapter/config.hpp"
#include "nn/blocks/image_projection.hpp"
#include "nn/network.hpp"

namespace omnirt {

// An image's keys and values for one of the transformer's blocks.
class FluxImagePromptLayer final : public nn::Module {
 public:
  FluxImagePromptLayer(Module* parent, const std::string& name, int64_t in, int64_t out);

  nn::Linear to_k_ip, to_v_ip;
};

// An image as a prompt of FLUX.1 (XLabs; diffusers FluxIPAdapterAttnProcessor): keys and values
// that the image's tokens attend to in addition to the text's. A component of its own, as the
// IP-Adapters of Stable Diffusion are.
class FluxIPAdapter final : public nn::Network {
 public:
  FluxIPAdapter(const FluxIPAdapterConfig& config, Json json);
  const char* class_name() const override { return "FluxIPAdapter"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  const FluxIPAdapterConfig& sizes() const { return config_; }

  // Keys and values for each block, {B, num_tokens, inner_dim}, of {B, image_embed_dim}.
  struct Output {
    std::vector<Tensor> keys, values;
  };
  Output forward(Context& cx, const Tensor& image_embeds) const;

  nn::ImageProjection image_proj;
  nn::ModuleList<FluxImagePromptLayer> ip_adapter;

 private:
  FluxIPAdapterConfig config_;
};

const nn::NetworkInfo& flux_ip_adapter_info();

}  // namespace omnirt
