#pragma once
#include <memory>
#include <string>
#include <vector>

#include "blocks/encoded_prompt.hpp"
#include "blocks/slots.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/latents_file.hpp"

// Latents that a request brings in a file (pipeline/latents_file.hpp).
template <>
struct omnirt::ValueCodec<omnirt::GivenLatents> {
  static constexpr const char* type = "given latents";
  static SavedValue save(const GivenLatents& value);
  static GivenLatents load(const SavedValue& saved, const Catalogue& catalogue);
};

namespace omnirt::blocks {

inline constexpr Slot<GivenLatents> initial_latents{
    "latents", "the noise to start from, in a safetensors file"};

// What is wrong with latents {n, ...} of this shape for a run over latents of the shape `wanted`
// {images, ...}: there is one for all images or one per image, or fewer that are taken in turn.
// "" where nothing is.
std::string latents_fault(const std::vector<int64_t>& shape, const std::vector<int64_t>& wanted);
// Given latents {n, ...} for each of this many images, in turn. Throws InvalidRequest where the n
// do not go into the images.
Tensor latents_per_image(const GivenLatents& given, int64_t images);
// The initial noise of a run over latents of this shape: what the request brings, else a draw.
// Throws InvalidRequest where the former has another shape.
Tensor initial_noise(const Tensor* given, Noise& source, const std::vector<int64_t>& shape);

// Width and height of the images that given noise makes, where the request names none.
class SizeOfNoise final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<GivenLatents> latents{this, "latents"};

  explicit SizeOfNoise(Trigger trigger)
      : Block("size_of_noise", Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

// Initial noise from a file in place of draws (reference: `latents` of the pipelines' __call__).
class TakeNoise : public Block {
 public:
  Input<GivenLatents> given{this, initial_latents};
  Output<Tensor> given_noise;

  void check(Checks& checks) const override;

 protected:
  TakeNoise(Trigger trigger, const Slot<Tensor>& as)
      : Block("take_noise", Stage::prepare_latents, Guidance::shared, std::move(trigger)),
        given_noise(this, as) {}
  // The shape of the run's latents.
  virtual std::vector<int64_t> wanted(const Checks& checks) const = 0;
};

class TakeNoiseOfImages : public TakeNoise {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> num_images{this, keys::num_images_per_prompt};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<std::vector<std::string>> prompt{this, "prompt"};
  Described<GivenEmbeds> encoded{this, encoded_prompt.name};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};

  explicit TakeNoiseOfImages(Trigger trigger) : TakeNoise(std::move(trigger), slots::given_noise) {}
  void run(Frame& frame) const override;

 protected:
  std::vector<int64_t> wanted(const Checks& checks) const override;
};

}  // namespace omnirt::blocks
