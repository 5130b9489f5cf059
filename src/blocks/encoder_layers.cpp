#include "blocks/encoder_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace omnirt::blocks {
namespace {

constexpr size_t most_read_layers = 16;

}  // namespace

int64_t state_of(int64_t layer, int64_t layers) {
  return layer < 0 ? layer + layers + 1 : layer;
}

void check_layers(Checks& checks, const ReadLayers& of) {
  std::string shown = fmt::format("[{}]", fmt::join(of.chosen, ", "));
  auto exists = [&](int64_t layer) {
    int64_t state = state_of(layer, of.layers);
    return state >= 0 && state <= of.layers;
  };
  if (of.chosen.empty() || of.chosen.size() > most_read_layers ||
      !std::ranges::all_of(of.chosen, exists)) {
    checks.error(
        {"config.text_encoder_out_layers", shown,
         fmt::format("the text encoder has {} layers", of.layers),
         fmt::format("give 1 to {} of {} to {}", most_read_layers, -of.layers - 1, of.layers)});
    return;
  }
  const int64_t made = of.width * static_cast<int64_t>(of.chosen.size());
  if (made != of.read) {
    checks.error({"config.text_encoder_out_layers", shown,
                  fmt::format("these states of the text encoder are {} values side by side; the "
                              "transformer reads {}",
                              made, of.read),
                  "use the text encoder of the same model, and as many layers as it was made for"});
  }
}

}  // namespace omnirt::blocks
