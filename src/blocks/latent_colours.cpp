#include "blocks/latent_colours.hpp"

namespace omnirt::blocks {

PreviewMeans sd_latents() {
  return {.colours = {{0.3512, 0.2297, 0.3227},
                      {0.3250, 0.4974, 0.2350},
                      {-0.2829, 0.1762, 0.2721},
                      {-0.2120, -0.2616, -0.7177}},
          .bias = {},
          .tiny = "madebyollin/taesd"};
}

PreviewMeans sdxl_latents() {
  return {.colours = {{0.3651, 0.4232, 0.4341},
                      {-0.2533, -0.0042, 0.1068},
                      {0.1076, 0.1111, -0.0362},
                      {-0.3165, -0.2492, -0.2188}},
          .bias = {0.1084, -0.0175, -0.0011},
          .tiny = "madebyollin/taesdxl"};
}

}  // namespace omnirt::blocks
