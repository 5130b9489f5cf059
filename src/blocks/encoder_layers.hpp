#pragma once
#include <string>
#include <vector>

#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

// Text encoders of which a model reads the states of several layers, side by side.
namespace omnirt::blocks {

inline constexpr Key<std::vector<int64_t>> text_encoder_out_layers{
    "text_encoder_out_layers",
    std::monostate{},
    {-257, 256},
    "text-encoder-out-layers",
    "layers of the text encoder whose states the model reads, side by side: 0 the embedded tokens, "
    "-1 the last layer; default: [9, 18, 27], flux2.dev's [10, 20, 30], flux3's [4, 8, 12, 16, 20, "
    "24, 28, 32]"};

// Counted from the embedded tokens, 0; a negative one is counted from the last of `layers`.
int64_t state_of(int64_t layer, int64_t layers);

struct ReadLayers {
  std::vector<int64_t> chosen;
  int64_t layers = 0;  // that the text encoder has
  int64_t width = 0;   // of a layer's state
  int64_t read = 0;    // values of a token that the transformer takes
};
// A finding where the layers do not exist, or return as many values as the transformer does not
// read.
void check_layers(Checks& checks, const ReadLayers& of);

}  // namespace omnirt::blocks
