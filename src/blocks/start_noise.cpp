#include "blocks/start_noise.hpp"

#include <fmt/format.h>

#include "pipeline/symbol_sizes.hpp"
#include "request/proposal.hpp"

namespace omnirt::blocks {
namespace {

constexpr int64_t max_pictures = 256;

}  // namespace

void StartNoise::check(Proposal& proposal) const {
  auto prompts = static_cast<int64_t>(proposal.texts_of("prompt").size());
  int64_t pictures = prompts * proposal.config.get(keys::num_images_per_prompt);
  if (pictures <= max_pictures) return;
  proposal.error({"config.num_images_per_prompt", fmt::format("{} images in all", pictures),
                  fmt::format("more than {} in one request", max_pictures),
                  "send several requests"});
}

void StartNoise::tell_sizes(const Proposal& proposal, SymbolSizes& sizes) const {
  auto prompts = static_cast<int64_t>(proposal.texts_of("prompt").size());
  sizes.set("B", prompts * proposal.config.get(keys::num_images_per_prompt));
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
