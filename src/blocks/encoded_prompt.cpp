#include "blocks/encoded_prompt.hpp"

#include <fmt/format.h>

#include "pipeline/checks.hpp"
#include "pipeline/symbol_sizes.hpp"

namespace omnirt::blocks {
namespace {

constexpr int64_t max_images = 256;
const std::string negative = "negative_";

}  // namespace

Trigger has_encoded_prompt() {
  return has(encoded_prompt.name);
}

void StartNoiseOfEncoded::check(Checks& checks) const {
  const EmbedsInput* given = checks.embeds(encoded);
  int64_t images = given ? given->info.prompts() * checks[num_images] : 0;
  if (images <= max_images) return;
  checks.error({"config.num_images_per_prompt", fmt::format("{} images in all", images),
                fmt::format("more than {} in one request", max_images), "send several requests"});
}

void StartNoiseOfEncoded::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  const EmbedsInput* given = checks.embeds(encoded);
  if (given) sizes.set("B", given->info.prompts() * checks[num_images]);
}

void StartNoiseOfEncoded::run(Frame& frame) const {
  auto prompts = static_cast<uint64_t>(frame[encoded].tensors.at("prompt_embeds").size(0));
  auto first = static_cast<uint64_t>(frame[seed]);
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < prompts * static_cast<uint64_t>(frame[num_images]); ++i)
    all.push_back(first + i);
  frame[prompt] = std::vector<std::string>(prompts);
  frame[noise_source] = std::make_shared<Noise>(all);
  frame[seeds] = std::move(all);
}

Tensor TakeEncodedPrompt::rows_of(Frame& frame, const char* name) const {
  const Tensor& rows = frame[encoded].tensors.at(frame.unconditional() ? negative + name : name);
  return rows.repeat_interleave(static_cast<int64_t>(frame[seeds].size()) / rows.size(0), 0);
}

void TakeEncodedPrompt::check_tensor(Checks& checks, const EmbedsInput& given,
                                     const std::string& name, int64_t width) const {
  for (const Condition& condition : checks.conditions()) {
    std::string wanted = condition.negative() ? negative + name : name;
    auto shape = given.info.shapes.find(wanted);
    if (shape == given.info.shapes.end()) {
      checks.error({"inputs." + encoded.name(), given.path, fmt::format("has no {}", wanted),
                    condition.negative() ? "add it, or set guidance_scale to 1" : "add it"});
    } else if (shape->second.back() != width) {
      checks.error({"inputs." + encoded.name(), given.path,
                    fmt::format("its {} is {} wide, and the model takes {}", wanted,
                                shape->second.back(), width),
                    "give what this model's text encoder makes"});
    }
  }
}

void TakeEncodedPrompt::check(Checks& checks) const {
  const EmbedsInput* given = checks.embeds(encoded);
  if (given) check_tensor(checks, *given, "prompt_embeds", checks[unet].context_dim());
}

void TakeEncodedPrompt::run(Frame& frame) const {
  frame[prompt_embeds] = rows_of(frame, "prompt_embeds");
}

}  // namespace omnirt::blocks
