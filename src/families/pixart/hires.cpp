#include "families/pixart/hires.hpp"

#include "families/pixart/blocks.hpp"

namespace omnirt::pixart {

HiresSizeConditions::HiresSizeConditions(const Trigger& hires)
    : Block("size_conditions_of_hires", Stage::prepare_conditions, Guidance::shared,
            hires && takes_size()) {}

void HiresSizeConditions::run(Frame& frame) const {
  const SizeNumbers numbers = size_numbers({frame[hires_height], frame[hires_width]});
  frame[resolution] = numbers.resolution;
  frame[aspect_ratio] = numbers.aspect_ratio;
}

}  // namespace omnirt::pixart
