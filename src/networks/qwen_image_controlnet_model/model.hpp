#pragma once
#include <optional>

#include "networks/qwen_image_controlnet_model/config.hpp"
#include "nn/blocks/qwen_image_blocks.hpp"
#include "nn/control_network.hpp"

namespace omnirt {

struct QwenImageControlInput {
  Tensor sample;                                 // {B, C, H, W}: each square of patch_size a token
  Tensor timestep;                               // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;                  // {B, T, joint_attention_dim}
  std::optional<Tensor> encoder_attention_mask;  // {B, T}: 0 where a text has padding
  // {B or 1, C, H, W}: the control image's latents; {B or 1, C + 1, H, W} where it reads a mask.
  Tensor controlnet_cond;

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("encoder_attention_mask", self.encoder_attention_mask);
    v("controlnet_cond", self.controlnet_cond);
  }
};

// A few of Qwen-Image's blocks that read a control image next to the latents (diffusers
// controlnet_qwenimage.py).
class QwenImageControlNetModel final : public nn::ControlNetwork {
 public:
  QwenImageControlNetModel(const QwenImageControlNetConfig& config, Json json);
  const char* class_name() const override { return "QwenImageControlNetModel"; }
  nn::Metadata metadata() const override;

  Values control(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override {
    return nn::input_names<QwenImageControlInput>();
  }
  std::vector<Residuals> residuals() const override;

  int64_t in_channels() const override { return config_.latent_channels(); }
  int64_t token_dim() const override { return config_.inner_dim(); }
  int64_t patch() const override { return config_.patch_size; }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  bool reads_mask() const override { return reads_mask_; }

  nn::QwenTimestepProjEmbeddings time_text_embed;
  nn::RmsNorm txt_norm;
  nn::Linear img_in, txt_in;
  nn::ModuleList<nn::QwenImageTransformerBlock> transformer_blocks;
  nn::ModuleList<nn::Linear> controlnet_blocks;
  nn::Linear controlnet_x_embedder;

 private:
  nn::TokenStream embedded(Context& cx, const QwenImageControlInput& input) const;

  QwenImageTransformer2DConfig config_;
  bool reads_mask_;
};

const nn::NetworkInfo& qwen_image_controlnet_model_info();

}  // namespace omnirt
