#include "blocks/binned_hires.hpp"

#include <fmt/format.h>

namespace omnirt::blocks {

int64_t BinnedHiresSize::grid(const Checks& checks) const {
  return HiresSize::grid(checks) * sizes_.patch_size(checks[transformer]);
}

void BinnedHiresSize::check(Checks& checks) const {
  HiresSize::check(checks);
  auto wide = checks.maybe(width), high = checks.maybe(height);
  const auto bins = sizes_.bins(checks[transformer]);
  if (!wide || !high || !checks[binning] || bins.empty()) return;
  const PixelSize asked{*high, *wide}, made = binned(asked, bins);
  if (made == asked) return;
  checks.error({"config.use_resolution_binning", "true",
                fmt::format("the first pass would be made at {}x{}, and not at the {}x{} that the "
                            "second one begins from",
                            made.width, made.height, asked.width, asked.height),
                fmt::format("set config.width={} and config.height={}, or "
                            "config.use_resolution_binning=false",
                            made.width, made.height)});
}

}  // namespace omnirt::blocks
