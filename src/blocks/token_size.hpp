#pragma once
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// Settles width and height of images whose latents become tokens of `patch` x `patch` each: the
// request's, which must be whole tokens; else `usual` latents per side. An image that is started
// from takes this size, as in the reference's pipelines (FluxImg2ImgPipeline).
class SizeInTokens final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<nn::Autoencoder> vae{this, "vae"};

  explicit SizeInTokens(int64_t patch = 2, int64_t usual = 128)
      : Block("image_size", Stage::prepare_conditions), patch_(patch), usual_(usual) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  int64_t patch_, usual_;
};

}  // namespace omnirt::blocks
