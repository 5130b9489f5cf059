#pragma once
#include <optional>

#include "networks/sd3_controlnet_model/config.hpp"
#include "nn/blocks/sd3_blocks.hpp"
#include "nn/blocks/time_text_embedding.hpp"
#include "nn/control_network.hpp"

namespace omnirt {

struct SD3ControlInput {
  std::optional<Tensor> sample;                 // {B, C, H, W}; or, of the model's embedding:
  std::optional<Tensor> image_tokens;           // {B, L, D}
  Tensor timestep;                              // {B} or {1}, 0..1000
  std::optional<Tensor> encoder_hidden_states;  // {B, T, joint_attention_dim}, where it reads text
  Tensor pooled_projections;                    // {B, pooled_projection_dim}
  Tensor controlnet_cond;  // {B or 1, C, H, W}: the control image's latents, and its mask's

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("image_tokens", self.image_tokens);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("pooled_projections", self.pooled_projections);
    v("controlnet_cond", self.controlnet_cond);
  }
};

// Some of Stable Diffusion 3's blocks that read a control image next to the latents; those of 3.5
// large look at the image alone (diffusers controlnet_sd3.py).
class SD3ControlNetModel final : public nn::ControlNetwork {
 public:
  SD3ControlNetModel(const SD3ControlNetConfig& config, Json json);
  const char* class_name() const override { return "SD3ControlNetModel"; }
  nn::Metadata metadata() const override;

  Values control(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override;
  std::vector<Residuals> residuals() const override;

  int64_t in_channels() const override { return config_.transformer.in_channels; }
  int64_t token_dim() const override { return config_.transformer.inner_dim(); }
  int64_t patch() const override { return config_.transformer.patch_size; }
  int64_t context_dim() const override { return config_.joint_attention_dim.value_or(0); }
  int64_t pooled_dim() const override { return config_.transformer.pooled_projection_dim; }
  bool shifts_latents() const override { return !config_.force_zeros_for_pooled_projection; }
  bool reads_mask() const override { return config_.reads_mask(); }
  int64_t max_side() const override;

  std::optional<nn::SD3PatchEmbed> pos_embed;
  nn::TimeTextEmbedding time_text_embed;
  std::optional<nn::Linear> context_embedder;
  nn::ModuleList<nn::Module>
      transformer_blocks;  // SD3TransformerBlock or SD3SingleTransformerBlock
  nn::ModuleList<nn::Linear> controlnet_blocks;
  nn::SD3PatchEmbed pos_embed_input;

 private:
  Tensor image(Context& cx, const SD3ControlInput& input) const;
  Tensor activated(Context& cx, const SD3ControlInput& input, int64_t rows) const;

  SD3ControlNetConfig config_;
};

const nn::NetworkInfo& sd3_controlnet_model_info();

}  // namespace omnirt
