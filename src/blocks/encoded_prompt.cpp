#include "blocks/encoded_prompt.hpp"

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>

#include "base/path_text.hpp"
#include "blocks/start_noise.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/symbol_sizes.hpp"

namespace omnirt {

SavedValue ValueCodec<GivenEmbeds>::save(const GivenEmbeds& value) {
  SavedValue saved{Json::object()};
  saved.tensors = value.tensors;
  return saved;
}

GivenEmbeds ValueCodec<GivenEmbeds>::load(const SavedValue& saved, const Catalogue&) {
  EmbedsInfo info;
  for (const auto& [name, tensor] : saved.tensors) {
    if (!tensor.defined() || tensor.scalar_type() != at::kFloat ||
        !tensor.isfinite().all().item<bool>())
      SavedValue::refuse("embeddings that are not finite fp32 numbers");
    info.shapes[name] = tensor.sizes().vec();
  }
  std::string fault = embeds_fault(info);
  if (!fault.empty()) SavedValue::refuse("a file of embeddings that " + fault);
  return {saved.tensors};
}

}  // namespace omnirt

namespace omnirt::blocks {
namespace {

const std::string negative = "negative_";

}  // namespace

Trigger has_encoded_prompt() {
  return has(encoded_prompt.name);
}

void StartNoiseOfEncoded::check(Checks& checks) const {
  const EmbedsInput* given = checks.embeds(encoded);
  if (!given) return;
  check_image_count(checks, given->info.prompts() * checks[num_images]);
  check_generators(checks, given->info.prompts() * checks[num_images]);
}

void StartNoiseOfEncoded::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  const EmbedsInput* given = checks.embeds(encoded);
  if (given) sizes.set("B", given->info.prompts() * checks[num_images]);
}

void StartNoiseOfEncoded::run(Frame& frame) const {
  auto prompts = static_cast<uint64_t>(frame[encoded].tensors.at("prompt_embeds").size(0));
  std::vector<uint64_t> all =
      seeds_from(frame[seed], prompts * static_cast<uint64_t>(frame[num_images]));
  frame[prompt] = std::vector<std::string>(prompts);
  frame[noise_source] = frame.noise_of(all);
  frame[seeds] = std::move(all);
}

Tensor TakeEncodedPrompt::rows_of(Frame& frame, const char* name) const {
  const Tensor& rows = frame[encoded].tensors.at(frame.unconditional() ? negative + name : name);
  auto images = static_cast<int64_t>(frame[seeds].size());
  if (images % rows.size(0) != 0) {
    throw InvalidRequest({"inputs." + encoded.name(), fmt::format("{} prompts", rows.size(0)),
                          fmt::format("the run makes {} images", images), "make the state anew"});
  }
  return rows.repeat_interleave(images / rows.size(0), 0);
}

std::map<std::string, int64_t> TakeEncodedPrompt::widths(const Checks& checks) const {
  return {{"prompt_embeds", checks[unet].context_dim()}};
}

std::string TakeEncodedPrompt::fault_of(const Checks& checks, const EmbedsInfo& given) const {
  for (const Condition& condition : checks.conditions()) {
    for (const auto& [name, width] : widths(checks)) {
      std::string wanted = condition.negative() ? negative + name : name;
      auto shape = given.shapes.find(wanted);
      if (shape == given.shapes.end()) return fmt::format("has no {}", wanted);
      if (shape->second.back() != width) {
        return fmt::format("its {} is {} wide, and the model takes {}", wanted,
                           shape->second.back(), width);
      }
    }
  }
  return "";
}

void TakeEncodedPrompt::check(Checks& checks) const {
  const EmbedsInput* given = checks.embeds(encoded);
  std::string fault = given ? fault_of(checks, given->info) : "";
  if (fault.empty()) return;
  checks.error({"inputs." + encoded.name(), path_text(given->path), fault,
                "give what this model's text encoders make, with negative_prompt_embeds where "
                "guidance_scale is above 1"});
}

void TakeEncodedPrompt::check_loaded(Checks& checks) const {
  for (const GivenEmbeds* given : checks.restored(encoded)) {
    EmbedsInfo info;
    for (const auto& [name, tensor] : given->tensors) info.shapes[name] = tensor.sizes().vec();
    std::string fault = fault_of(checks, info);
    if (!fault.empty()) checks.refuse_restored(encoded, fault);
  }
}

void TakeEncodedPrompt::run(Frame& frame) const {
  frame[prompt_embeds] = rows_of(frame, "prompt_embeds");
}

}  // namespace omnirt::blocks
