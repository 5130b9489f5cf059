#pragma once
#include <optional>
#include <string>
#include <vector>

#include "nn/denoiser_network.hpp"

namespace omnirt::nn {

// How residuals are shared out among a denoiser's blocks where there are fewer of them.
enum class ResidualOrder {
  intervals,  // each to ceil(blocks / count) blocks that follow each other
  repeated,   // block i takes i modulo count
  even,       // block i takes floor(i / (blocks / count))
  leading     // block i takes i, and those after the last residual none
};

// How many of a site's first blocks take one of `count` residuals.
size_t blocks_with_residual(ResidualOrder order, size_t blocks, size_t count);

// The residual, of `count`, that block `block` of `blocks` takes (diffusers:
// controlnet_block_samples of FluxTransformer2DModel, block_controlnet_hidden_states of
// SD3Transformer2DModel, controlnet_block_samples of SanaTransformer2DModel).
size_t residual_of(ResidualOrder order, size_t block, size_t blocks, size_t count);

// A network that reads a control image and makes residuals for a denoiser of tokens, not scaled
// yet.
class ControlNetwork : public Network {
 public:
  // Those of one of the denoiser's ResidualSites.
  struct Residuals {
    std::string input;
    size_t count = 0;
    ResidualOrder order = ResidualOrder::intervals;
  };
  virtual std::vector<Residuals> residuals() const = 0;
  // Lists of {B, L, D} by the denoiser's input. `inputs` are those of the denoiser's step that
  // inputs() names, image_tokens (DenoiserNetwork::image_tokens) among them, with controlnet_cond:
  // latents {B or 1, C, H, W} of the control image, or its pixels {1, 3, H, W} in -1..1; and
  // control_mode {1} int64 where there are modes.
  virtual Values control(Context& cx, const Values& inputs) const;
  // What it makes of a step depends on what the denoiser's blocks make of what it adds: hint() is
  // asked after each block, and control() is not.
  virtual bool feeds_back() const { return false; }
  // What is added, not scaled yet, to the tokens {B, L, D} that block `block` of the denoiser made:
  // `inputs` are image_tokens, those tokens, and controlnet_cond. As many blocks as residuals()
  // says.
  virtual Tensor hint(Context& cx, const Values& inputs, size_t block) const;
  virtual std::vector<NetworkInput> inputs() const = 0;

  virtual int64_t in_channels() const = 0;     // of the denoiser's latents
  virtual int64_t token_dim() const = 0;       // D
  virtual int64_t patch() const { return 2; }  // latents per token and side
  // Width of encoder_hidden_states; 0: it reads no text.
  virtual int64_t context_dim() const = 0;
  // Width of pooled_projections; 0: it takes none.
  virtual int64_t pooled_dim() const { return 0; }
  // The guidance scale is one of its inputs.
  virtual bool takes_guidance_scale() const { return false; }
  // Whether latents of the control image are shifted as the model's are, or scaled alone.
  virtual bool shifts_latents() const { return true; }
  // The most tokens of a side that there are positions for; 0: any number.
  virtual int64_t max_side() const { return 0; }
  // Pixels of the control image per token and side, where it reads pixels; 0: it reads latents.
  virtual int64_t pixels_per_token() const { return 0; }
  // For inpainting: it reads the image without what is repainted, and a channel more, 1 where it is
  // kept and 0 where it is repainted.
  virtual bool reads_mask() const { return false; }
  // Of a union: kinds of control images, told apart by number.
  virtual std::optional<int64_t> modes() const { return std::nullopt; }

 protected:
  using Network::Network;
};

}  // namespace omnirt::nn
