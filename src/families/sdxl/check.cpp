#include "families/sdxl/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/path_text.hpp"

namespace omnirt::families {
namespace {

bool wants_score(const Checks& checks) {
  return checks.holds(index_is("requires_aesthetics_score", true));
}

}  // namespace

// The UNet's embedding of numbers is as wide as its input: the pooled text and 6 numbers, or 5 with
// an aesthetic score.
void CheckXL::check_numbers(Checks& checks) const {
  const UNet2DConditionModel& network = checks[unet];
  if (!network.add_embedding) {
    checks.error({"unet.addition_embed_type", "null",
                  "a UNet of Stable Diffusion XL takes sizes and a pooled text (text_time)",
                  "use the UNet of such a model"});
    return;
  }
  int64_t numbers = wants_score(checks) ? 5 : 6, text = checks[text_encoder_2].projection_dim();
  int64_t made = numbers * network.added_number_dim() + text, taken = network.added_dim();
  if (made == taken) return;
  checks.error({"unet.projection_class_embeddings_input_dim", std::to_string(taken),
                fmt::format("{} numbers and a pooled text of {} make {}", numbers, text, made),
                "set requires_aesthetics_score in model_index.json as the UNet wants it, and use "
                "the text_encoder_2 of the same model"});
}

void CheckXL::check_prompts(Checks& checks) const {
  if (!checks[force_zeros]) return;
  for (const Condition& condition : checks.conditions()) {
    auto first = checks.texts(prompt, condition), second = checks.texts(prompt_2, condition);
    if (!condition.negative() || second.texts.empty() || !first.texts.empty()) continue;
    checks.warn(
        {"inputs." + second.input, second.texts.front(),
         fmt::format("has no effect: without {} this model takes zeros for both", first.input),
         fmt::format("give {} too, or set force_zeros_for_empty_prompt to false", first.input)});
    return;
  }
}

void CheckXL::take_index(Checks& checks) const {
  auto zeros = checks.model_index().find(force_zeros.name());
  bool said = zeros != checks.model_index().end() && zeros->is_boolean();
  if (said && checks.origin(force_zeros) == Origin::fallback)
    checks.settle(force_zeros, zeros->get<bool>(), Origin::model);
  if (checks.holds(index_is("add_watermarker", true))) {
    checks.warn({"model.add_watermarker", "true", "this build writes no invisible watermark",
                 "add one to the images afterwards where it is wanted"});
  }
}

void CheckXL::check(Checks& checks) const {
  take_index(checks);
  check_numbers(checks);
  check_prompts(checks);
  if (checks.task() == "text2image" && wants_score(checks)) {
    checks.error({"task", checks.task(), "a refiner changes images, and makes none from noise",
                  "give inputs.image, or inputs.latents of a base model"});
  }
}

// The latents say where the run that made them ended.
void SizeOfLatents::check_hand_over(Checks& checks, const LatentsInput& given) const {
  Json request = given.info.origin.value("request", Json::object());
  Json config = request.is_object() ? request.value("config", Json::object()) : Json::object();
  if (!config.is_object() || !config.contains("denoising_end")) return;
  const Json& end = config["denoising_end"];
  auto start = checks.maybe(denoising_start);
  if (!end.is_number() || (start && *start == end.get<double>())) return;
  checks.warn(
      {"config.denoising_start", start ? fmt::format("{}", *start) : "unset",
       fmt::format("the latents of {} were made with denoising_end {}", path_text(given.path),
                   end.get<double>()),
       fmt::format("give {}, and the noise that is left is taken away", end.get<double>())});
}

void SizeOfLatents::settle_side(Checks& checks, const Config<int64_t>& port, int64_t side) const {
  auto given = checks.maybe(port);
  if (given && *given != side) {
    checks.error({"config." + port.name(), std::to_string(*given),
                  fmt::format("the latents make an image of {}", side),
                  "remove it: latents are not resized"});
  } else if (side > static_cast<int64_t>(port.key.max)) {
    checks.error({"inputs.latents", std::to_string(side),
                  fmt::format("more than {} pixels", port.key.max), "give smaller ones"});
  } else {
    checks.settle(port, side, Origin::derived);
  }
}

void SizeOfLatents::check(Checks& checks) const {
  const LatentsInput* given = checks.latents(latents);
  if (!given) return;
  const std::vector<int64_t>& shape = given->info.shape;
  if (shape.size() != 4) {
    checks.error({"inputs.latents", fmt::format("{{{}}}", fmt::join(shape, ", ")),
                  "these are of a video", "give {images, channels, height, width}"});
    return;
  }
  int64_t grid = checks[vae].factors().side, channels = checks[vae].latent_channels();
  settle_side(checks, width, shape[3] * grid);
  settle_side(checks, height, shape[2] * grid);
  if (shape[1] != channels) {
    checks.error({"inputs.latents", fmt::format("{{{}}}", fmt::join(shape, ", ")),
                  fmt::format("the autoencoder has {} latent channels", channels),
                  "give latents of a model of the same family"});
  }
  auto images = static_cast<int64_t>(checks.texts(prompt).size()) * checks[num_images];
  if (images % shape[0] != 0) {
    checks.error({"inputs.latents", fmt::format("{} of them", shape[0]),
                  fmt::format("the request makes {} images", images),
                  "give one for all, or one per image"});
  }
  check_hand_over(checks, *given);
}

}  // namespace omnirt::families
