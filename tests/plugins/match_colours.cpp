#include <ATen/ATen.h>

#include "pipeline/plugin.hpp"
#include "tensor/image_tensor.hpp"

using namespace omnirt;

constexpr Key<double> colour_match{"colour_match", 1.0, {0, 1}, "colour-match", "share taken over"};

// Gives the images the mean and the spread of a reference in each colour channel.
class MatchColours final : public Block {
 public:
  Config<double> share{this, colour_match};
  Input<io::Image> reference{this, "colour_reference", "an image whose colours are taken over"};
  InOut<std::vector<io::Image>> images{this, "images", "the images"};

  MatchColours()
      : Block("match_colours", Stage::decode, Guidance::shared, has("colour_reference")) {}

  void run(Frame& frame) const override {
    auto mean = [](const Tensor& x) { return x.mean({2, 3}, true); };
    auto spread = [](const Tensor& x) { return x.std({2, 3}, false, true).clamp_min(1e-3); };
    Tensor wanted = image_to_tensor(io::to_rgb(frame[reference])) * 2 - 1;  // {1, 3, H, W}
    for (io::Image& image : frame[images]) {
      Tensor given = image_to_tensor(image) * 2 - 1;
      Tensor matched = (given - mean(given)) / spread(given) * spread(wanted) + mean(wanted);
      image = tensor_to_image(at::lerp(given, matched, frame[share]), 0);
    }
  }
};

extern "C" Plugin omnirt_plugin() {
  return {.name = "match_colours", .add = [](Catalogue& catalogue) {
            for (Family& family : catalogue.families) {
              if (find_block(family.blocks, "decode_latents"))
                insert_after(family.blocks, "decode_latents", std::make_shared<MatchColours>());
            }
          }};
}
