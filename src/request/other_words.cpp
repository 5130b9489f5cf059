#include "request/other_words.hpp"

#include <algorithm>
#include <cctype>

namespace omnirt {
namespace {

// Fields by their own names, for words that are one level too high or too low.
constexpr std::string_view fields[] = {
    "task",
    "model",
    "backend",
    "inputs.prompt",
    "inputs.prompt_2",
    "inputs.encoded_prompt",
    "inputs.negative_prompt",
    "inputs.negative_prompt_2",
    "inputs.image",
    "inputs.mask",
    "inputs.latents",
    "inputs.control_image",
    "inputs.ip_adapter_image",
    "inputs.image_reference",
    "config.num_inference_steps",
    "config.guidance_scale",
    "config.guidance_rescale",
    "config.scheduler",
    "config.scheduler_config",
    "config.seed",
    "config.width",
    "config.height",
    "config.strength",
    "config.num_images_per_prompt",
    "config.clip_skip",
    "config.eta",
    "config.dtype",
    "config.preset",
    "config.output",
    "config.output_dir",
    "config.output_format",
    "components.vae",
    "components.controlnet",
};

std::string spelled(std::string_view word) {
  std::string out(word);
  std::ranges::replace(out, '-', '_');
  if (out.size() == 1) return out;
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

const OtherWord* find_other_word(std::string_view word) {
  const std::string given = spelled(word);
  for (const OtherWord& each : other_words()) {
    if (each.word == given) return &each;
  }
  return nullptr;
}

std::string field_meant(std::string_view place, std::string_view word) {
  std::string given = spelled(word);
  std::string here = place.empty() ? given : std::string(place) + "." + given;
  for (std::string_view field : fields) {
    if (field != here && (field == given || field.ends_with("." + given)))
      return std::string(field);
  }
  const OtherWord* other = given.size() > 1 ? find_other_word(given) : nullptr;
  bool of_request = other && !other->field.empty() && other->field != "threads" &&
                    other->field != "file" && other->field != here;
  return of_request ? std::string(other->field) : "";
}

}  // namespace omnirt
