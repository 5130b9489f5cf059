#include "families/pixart/hires.hpp"

#include <fmt/format.h>

#include "families/pixart/blocks.hpp"

namespace omnirt::pixart {

int64_t HiresSize::grid(const Checks& checks) const {
  return blocks::HiresSize::grid(checks) * checks[transformer].patch_size();
}

void HiresSize::check(Checks& checks) const {
  blocks::HiresSize::check(checks);
  auto wide = checks.maybe(width), high = checks.maybe(height);
  const auto bins = pixart_sizes().bins(checks[transformer]);
  if (!wide || !high || !checks[binning] || bins.empty()) return;
  const blocks::PixelSize asked{*high, *wide}, made = blocks::binned(asked, bins);
  if (made == asked) return;
  checks.error(
      {"config.use_resolution_binning", "true",
       fmt::format("the first pass would be made at {}x{}, and not at the {}x{} that the "
                   "second one begins from",
                   made.width, made.height, asked.width, asked.height),
       fmt::format("give --width {} --height {}, or set it to false", made.width, made.height)});
}

HiresSizeConditions::HiresSizeConditions(const Trigger& hires)
    : Block("size_conditions_of_hires", Stage::prepare_conditions, Guidance::shared,
            hires && takes_size()) {}

void HiresSizeConditions::run(Frame& frame) const {
  const SizeNumbers numbers = size_numbers({frame[hires_height], frame[hires_width]});
  frame[resolution] = numbers.resolution;
  frame[aspect_ratio] = numbers.aspect_ratio;
}

}  // namespace omnirt::pixart
