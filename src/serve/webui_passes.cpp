// What a body asks of the run: the sampler, the prompts, the second pass, the image to start from.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "serve/webui_image.hpp"
#include "serve/webui_names.hpp"
#include "serve/webui_prompt.hpp"
#include "serve/webui_reader.hpp"

namespace omnirt::serve {
namespace {

constexpr double usual_strength = 0.75;

}  // namespace

// Forge has two scales for models that were trained with guidance as an input: that input, and
// guidance by two predictions, which is off at 1.
void WebuiReader::guidance() {
  const Json& distilled = at("distilled_cfg_scale");
  if (distilled.is_null()) return;
  if (!setting_.has_key(request_["model"].get<std::string>(), "true_cfg_scale"))
    return note("distilled_cfg_scale", distilled,
                "ignored: the model was not trained with guidance as an input");
  config()["guidance_scale"] = distilled;
  const Json& scale = at("cfg_scale");
  if (!scale.is_null() && scale != 1) config()["true_cfg_scale"] = scale;
}

// webui's sampler without a name is Euler for all models; here it is the model's own. A schedule
// type that the name ends with counts, as there.
void WebuiReader::sampler() {
  std::string name = text("sampler_name");
  if (name.empty()) name = text("sampler_index");
  if (name == "0") {
    note("sampler_index", 0, "ignored: samplers have names", "GET /sdapi/v1/samplers lists them");
    name.clear();
  }
  std::string type = text("scheduler");
  if (const std::string ending = take_webui_schedule(name); !ending.empty()) {
    const std::string asked = webui_scheduler("", type);
    if (!asked.empty() && asked != webui_scheduler("", ending))
      note("scheduler", type, fmt::format("ignored: the sampler's name says {}", ending));
    type = ending;
  }
  name = eta(name);
  const std::string scheduler = webui_scheduler(name, type);
  if (!scheduler.empty()) config()["scheduler"] = scheduler;
}

// The sampler that `eta` makes of a sampler: without its noise an ancestral one is another.
std::string WebuiReader::eta(const std::string& sampler) {
  const Json& value = at("eta");
  const WebuiSampler* known = find_webui_sampler(sampler);
  if (value.is_null() || !known || known->eta == WebuiSampler::Eta::none) return sampler;
  if (known->eta == WebuiSampler::Eta::free) {
    config()["eta"] = value;
  } else if (value == 0 && !known->without_noise.empty()) {
    note("eta", value, fmt::format("{} without noise is {}", known->name, known->without_noise));
    return std::string(known->without_noise);
  } else if (value != 1) {
    refuse("eta", value, fmt::format("{} has 1 here", known->name), "omit it");
  }
  return sampler;
}

// <lora:...> become adapters whatever the model; weights of words are for models that have them.
void WebuiReader::prompts() {
  const std::string model = request_["model"].get<std::string>();
  const bool weighs = setting_.has_key(model, "prompt_syntax");
  if (weighs) config()["prompt_syntax"] = "a1111";
  try {
    WebuiPrompt prompt = read_webui_prompt(text("prompt"), "prompt", weighs);
    request_["inputs"]["prompt"] = prompt.text;
    if (!prompt.adapters.empty()) request_["adapters"] = prompt.adapters;
    prompt = read_webui_prompt(text("negative_prompt"), "negative_prompt", weighs);
    if (!prompt.adapters.empty())
      refuse("negative_prompt", text("negative_prompt"), "adapters are named in the prompt only",
             "move <lora:...> to the prompt");
    if (!prompt.text.empty()) request_["inputs"]["negative_prompt"] = prompt.text;
  } catch (const InvalidRequest& error) {
    findings_.insert(findings_.end(), error.findings().begin(), error.findings().end());
  }
}

// The images of all batches are one request's: image i has seed + i in webui, too.
void WebuiReader::images_at_a_time(WebuiRequest& made) {
  constexpr int64_t most = 1024;
  made.batch_size = count("batch_size", 1);
  made.batches = count("n_iter", 1);
  for (const char* name : {"batch_size", "n_iter"}) {
    const int64_t value = count(name, 1);
    if (value < 1 || value > most)
      return refuse(name, value, "out of range", fmt::format("give 1 to {}", most));
  }
  if (made.batch_size * made.batches > 1)
    config()["num_images_per_prompt"] = made.batch_size * made.batches;
}

void WebuiReader::same_in_second_pass(const char* name, const std::string& first,
                                      const char* usual) {
  const std::string given = text(name);
  if (given.empty() || given == usual || given == first) return;
  refuse(name, given, "is another than the first pass's", "omit it: both passes have the same");
}

void WebuiReader::same_guidance_in_second_pass() {
  for (const auto& [name, first] :
       {std::pair{"hr_cfg", "cfg_scale"}, std::pair{"hr_distilled_cfg", "distilled_cfg_scale"}}) {
    const Json& given = at(name);
    if (!given.is_null() && !at(first).is_null() && given != at(first))
      refuse(name, given, "is another than the first pass's", "omit it: both passes have the same");
  }
  const Json& modules = at("hr_additional_modules");
  if (modules.is_array() && !modules.empty() && modules != Json::array({"Use same choices"}))
    refuse("hr_additional_modules", modules, "both passes have the same model", "omit it");
}

void WebuiReader::second_size() {
  const int64_t wide = count("hr_resize_x", 0), high = count("hr_resize_y", 0);
  if ((wide > 0) != (high > 0)) {
    refuse("hr_resize_x, hr_resize_y", fmt::format("{}, {}", wide, high),
           "one side alone is not done", "give both, or hr_scale");
  } else if (wide > 0) {
    config()["hires_width"] = wide;
    config()["hires_height"] = high;
  } else {
    config()["hires_scale"] = at("hr_scale").is_null() ? Json(2.0) : at("hr_scale");
  }
}

void WebuiReader::second_pass() {
  if (!flag("enable_hr")) return;
  second_size();
  const std::string upscaler = text("hr_upscaler");
  config()["hires_upscaler"] = upscaler.empty() ? "latent" : webui_upscaler(upscaler);
  const bool own_steps = count("hr_second_pass_steps", 0) != 0;
  if (own_steps) config()["hires_steps"] = count("hr_second_pass_steps", 0);
  config()["hires_strength"] = strength(own_steps ? "hr_second_pass_steps" : "steps");
  const std::string sampler = text("sampler_name");
  same_in_second_pass("hr_sampler_name", sampler.empty() ? text("sampler_index") : sampler,
                      "Use same sampler");
  same_in_second_pass("hr_scheduler", text("scheduler"), "Use same scheduler");
  same_in_second_pass("hr_prompt", text("prompt"), "");
  same_in_second_pass("hr_negative_prompt", text("negative_prompt"), "");
  same_in_second_pass("hr_checkpoint_name", "", "Use same checkpoint");
  same_guidance_in_second_pass();
}

// webui takes one step where the strength leaves none.
Json WebuiReader::strength(const char* steps) {
  const Json& given = at("denoising_strength");
  if (given.is_null()) return usual_strength;
  if (given != 0) return given;
  const int64_t usual = setting_.default_steps(request_["model"].get<std::string>());
  const auto all = static_cast<double>(std::max<int64_t>(count(steps, usual), 1));
  // Above 1 / all by a little: the product is cut to a whole number of steps.
  const double least = std::min(1.0, 1.0001 / all);
  note("denoising_strength", given, fmt::format("is {:.4f} here: the last step alone", least));
  return least;
}

void WebuiReader::start_image() {
  const Json& images = at("init_images");
  if (!images.is_array() || images.size() != 1 || !images[0].is_string())
    return refuse("init_images", images, "one image in base64 is expected", "send one");
  request_["inputs"]["image"] = webui_image_input(images[0].get<std::string>());
  config()["strength"] = strength("steps");
  static constexpr std::array fits{"stretch", "crop", "fill"};
  const int64_t mode = count("resize_mode", 0);
  if (mode < 0 || mode >= static_cast<int64_t>(fits.size()))
    refuse("resize_mode", mode, "is not done by this server",
           "give 0 (stretch), 1 (crop and resize) or 2 (resize and fill)");
  else if (mode > 0)
    config()["image_fit"] = fits[static_cast<size_t>(mode)];
  if (!text("mask").empty()) mask();
}

void WebuiReader::mask() {
  try {
    request_["inputs"]["mask"] = webui_mask_input(text("mask"), flag("inpainting_mask_invert"));
  } catch (const InvalidRequest& error) {
    findings_.insert(findings_.end(), error.findings().begin(), error.findings().end());
  }
  const int64_t fill = count("inpainting_fill", 1);
  if (fill != 1)
    refuse("inpainting_fill", fill, "what is masked starts from the image here",
           "give 1 (original)");
  if (flag("inpaint_full_res"))
    config()["padding_mask_crop"] = count("inpaint_full_res_padding", 0);
  mask_blur();
}

void WebuiReader::mask_blur() {
  const int64_t both = count("mask_blur", 0);
  const int64_t wide = count("mask_blur_x", both), high = count("mask_blur_y", both);
  if (wide != high)
    return refuse("mask_blur_x, mask_blur_y", fmt::format("{}, {}", wide, high), "are not the same",
                  "give mask_blur");
  if (wide != 0) config()["mask_blur"] = wide;
}

}  // namespace omnirt::serve
