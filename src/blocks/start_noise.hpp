#pragma once
#include <memory>

#include "blocks/slots.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

namespace omnirt::blocks {

// A finding where a request makes more images than one may.
void check_image_count(Checks& checks, int64_t images);
// A finding where a request brings generators, and not as many as this run's images take.
void check_generators(Checks& checks, int64_t images);
// A finding where a request brings generators: what `what` draws again from the seeds is not
// theirs.
void refuse_generators(Checks& checks, const std::string& what);
// The seeds of this many images: image i has the first one's + i.
std::vector<uint64_t> seeds_from(int64_t first, uint64_t images);

// The run's images and their generators: prompts x num_images_per_prompt, image i with seed +
// i. Every later block draws from this one source, in the order of the list, as the reference draws
// from its list of generators.
class StartNoise final : public Block {
 public:
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Config<int64_t> num_images{this, keys::num_images_per_prompt};
  Config<int64_t> seed{this, keys::seed};
  Output<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};

  explicit StartNoise(Trigger trigger = {})
      : Block("start_noise", Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  int64_t images_of(const Checks& checks) const;
};

}  // namespace omnirt::blocks
