#include "blocks/start_noise.hpp"

#include <fmt/format.h>

#include "pipeline/checks.hpp"
#include "pipeline/symbol_sizes.hpp"

namespace omnirt::blocks {

void check_image_count(Checks& checks, int64_t images) {
  constexpr int64_t most = 256;
  if (images <= most) return;
  checks.error({"config.num_images_per_prompt", fmt::format("{} images in all", images),
                fmt::format("more than {} in one request", most), "send several requests"});
}

// One for all draws {n, ...} at a time, as the reference does: the same only where every image
// draws alike.
void check_generators(Checks& checks, int64_t images) {
  const auto count = static_cast<int64_t>(checks.generators());
  const bool one_for_all = count == 1 && checks.task() == "text2image";
  if (count == 0 || count == images || one_for_all) return;
  checks.error({"inputs.generator", fmt::format("{} generators", count),
                fmt::format("the request makes {} images", images), "give one for each"});
}

void refuse_generators(Checks& checks, const std::string& what) {
  if (checks.generators() == 0) return;
  checks.error(
      {"inputs.generator", fmt::format("{} generators", checks.generators()),
       fmt::format("{} draws again from the image's seed, which a generator does not say", what),
       "give config.seed"});
}

std::vector<uint64_t> seeds_from(int64_t first, uint64_t images) {
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < images; ++i) all.push_back(static_cast<uint64_t>(first) + i);
  return all;
}

int64_t StartNoise::images_of(const Checks& checks) const {
  return static_cast<int64_t>(checks.texts(prompt).size()) * checks[num_images];
}

void StartNoise::check(Checks& checks) const {
  check_image_count(checks, images_of(checks));
  check_generators(checks, images_of(checks));
}

void StartNoise::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  sizes.set("B", images_of(checks));
}

void StartNoise::run(Frame& frame) const {
  auto count =
      static_cast<uint64_t>(frame[prompt].size()) * static_cast<uint64_t>(frame[num_images]);
  std::vector<uint64_t> all = seeds_from(frame[seed], count);
  frame[noise_source] = frame.noise_of(all);
  frame[seeds] = std::move(all);
}

}  // namespace omnirt::blocks
