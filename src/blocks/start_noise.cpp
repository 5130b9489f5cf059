#include "blocks/start_noise.hpp"

#include <fmt/format.h>

#include "pipeline/checks.hpp"
#include "pipeline/symbol_sizes.hpp"

namespace omnirt::blocks {
namespace {

constexpr int64_t most_images = 256;

}  // namespace

int64_t StartNoise::images_of(const Checks& checks) const {
  return static_cast<int64_t>(checks.texts(prompt).size()) * checks[num_images];
}

void StartNoise::check(Checks& checks) const {
  int64_t images = images_of(checks);
  if (images <= most_images) return;
  checks.error({"config.num_images_per_prompt", fmt::format("{} images in all", images),
                fmt::format("more than {} in one request", most_images), "send several requests"});
}

void StartNoise::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  sizes.set("B", images_of(checks));
}

void StartNoise::run(Frame& frame) const {
  auto count =
      static_cast<uint64_t>(frame[prompt].size()) * static_cast<uint64_t>(frame[num_images]);
  auto first = static_cast<uint64_t>(frame[seed]);
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < count; ++i) all.push_back(first + i);
  frame[noise_source] = std::make_shared<Noise>(all);
  frame[seeds] = std::move(all);
}

}  // namespace omnirt::blocks
