#pragma once
#include "networks/sana_controlnet_model/config.hpp"
#include "nn/blocks/sana_blocks.hpp"
#include "nn/control_network.hpp"

namespace omnirt {

struct SanaControlInput {
  Tensor sample;                 // {B, C, H, W}
  Tensor timestep;               // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;  // {B, T, caption_channels}: tokens alone, no padding
  Tensor controlnet_cond;        // {B or 1, C, H, W}: the control image's latents

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("controlnet_cond", self.controlnet_cond);
  }
};

// Some of Sana's blocks that read a control image next to the latents; both become tokens by the
// same layer (diffusers controlnet_sana.py).
class SanaControlNetModel final : public nn::ControlNetwork {
 public:
  SanaControlNetModel(const SanaControlNetConfig& config, Json json);
  const char* class_name() const override { return "SanaControlNetModel"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;

  Values control(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override;
  std::vector<Residuals> residuals() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t token_dim() const override { return config_.inner_dim(); }
  int64_t patch() const override { return config_.patch_size; }
  int64_t context_dim() const override { return config_.caption_channels; }

  nn::PatchEmbed patch_embed;
  nn::AdaLayerNormSingle time_embed;
  nn::PixArtAlphaTextProjection caption_projection;
  nn::RmsNorm caption_norm;
  nn::ModuleList<nn::SanaTransformerBlock> transformer_blocks;
  nn::ModuleList<nn::Linear> controlnet_blocks;
  nn::Linear input_block;

 private:
  Tensor tokens(Context& cx, const SanaControlInput& input) const;
  nn::SanaContext context(Context& cx, const SanaControlInput& input) const;

  SanaTransformer2DConfig config_;
};

const nn::NetworkInfo& sana_controlnet_model_info();

}  // namespace omnirt
