#pragma once
#include <optional>
#include <vector>

#include "networks/z_image_controlnet_model/config.hpp"
#include "nn/blocks/z_image_blocks.hpp"
#include "nn/network.hpp"

namespace omnirt {

// A block over the control image's tokens, which may take in the image's own before and hint to a
// block of the transformer after (diffusers ZImageControlTransformerBlock); without either it is
// the transformer's block.
class ZImageControlTransformerBlock final : public nn::ZImageTransformerBlock {
 public:
  struct Parts {
    bool takes_image, hints;
  };
  ZImageControlTransformerBlock(Module* parent, const std::string& name,
                                const ZImageTransformer2DConfig& config, Parts parts);
  const char* class_name() const override { return "ZImageControlTransformerBlock"; }

  // The control image's tokens {B, T, dim} after the block, and its hint, if it makes one.
  struct Looked {
    Tensor control, hint;
  };
  Looked look(Context& cx, const Tensor& control, const Tensor& image, const Tensor& rotary,
              const Tensor& embedded) const;

  std::optional<nn::Linear> before_proj, after_proj;
};

// Blocks that read a control image and hint to those of Z-Image's transformer (diffusers
// controlnet_z_image.py). It has no embedding of image, text or time of its own: they are the
// transformer's (ZImageTransformer2DModel::lent).
class ZImageControlNetModel final : public nn::Network {
 public:
  ZImageControlNetModel(const ZImageControlNetConfig& config, Json json);
  const char* class_name() const override { return "ZImageControlNetModel"; }
  nn::Metadata metadata() const override;

  // Of what the transformer lends and `controlnet_cond` {B or 1, control_in_dim, H, W}: `context`
  // {B, L, dim}, and `hints` to the transformer's noise refiner, as controlnet_block_samples are,
  // if it makes any.
  Values refine(Context& cx, const Values& inputs) const;
  // Of `context`, what the transformer lends, and `image` refined with these hints:
  // `controlnet_block_samples`, {B, L + T, dim} for each of the transformer's blocks up to the last
  // that gets one, {B, 0, dim} for one that gets none.
  Values control(Context& cx, const Values& inputs) const;

  int64_t control_channels() const { return config_.control_in_dim; }
  int64_t token_dim() const { return config_.blocks.dim; }
  // How many blocks the transformer has at least.
  int64_t least_layers() const;
  int64_t least_refiner_layers() const;

  nn::ModuleList<ZImageControlTransformerBlock> control_layers;
  nn::ZImageByPatch<nn::Linear> control_all_x_embedder;
  nn::ModuleList<ZImageControlTransformerBlock> control_noise_refiner;

 private:
  Tensor control_tokens(Context& cx, const Values& inputs) const;
  ZImageControlNetConfig config_;
};

const nn::NetworkInfo& z_image_controlnet_model_info();

}  // namespace omnirt
