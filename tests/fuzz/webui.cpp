// Bodies of stable-diffusion-webui's requests, and the generation parameters that images carry.
#include <array>

#include "base/error.hpp"
#include "fuzz/mutate_json.hpp"
#include "fuzz/target.hpp"
#include "serve/webui.hpp"
#include "serve/webui_image.hpp"

namespace omnirt::fuzz {
namespace {

// An input's first byte picks one.
enum Kind : char { text_to_image, image_to_image, image_info, parameters };

// One pixel.
#define ONE_PIXEL                                                    \
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhf" \
  "DwAChwGA60e6kgAAAABJRU5ErkJggg=="

// Accepted as they are.
constexpr std::array seeds{
    R"({"prompt": "a (red:1.2) apple", "negative_prompt": "grey", "seed": -1, "steps": 4, "cfg_scale": 5,)"
    R"( "sampler_name": "DDIM", "scheduler": "Karras", "eta": 0.5, "batch_size": 2, "n_iter": 2,)"
    R"( "enable_hr": true, "hr_scale": 2, "hr_upscaler": "Nearest", "hr_second_pass_steps": 3,)"
    R"( "denoising_strength": 0.5, "styles": [], "override_settings": {"sd_model_checkpoint": "emoji [x]",)"
    R"( "CLIP_stop_at_last_layers": 2, "samples_format": "jpg"}, "alwayson_scripts": {"x": {"args": []}}})",
    R"({"prompt": "an apple", "init_images": ["data:image/png;base64,)" ONE_PIXEL
    R"("], "mask": ")" ONE_PIXEL
    R"(", "resize_mode": 1, "mask_blur": 4, "inpainting_fill": 1, "inpainting_mask_invert": 1,)"
    R"( "inpaint_full_res": true, "inpaint_full_res_padding": 32, "include_init_images": true})"};
constexpr const char* infotext =
    "a cat, in a hat\nNegative prompt: dog\nSteps: 20, Sampler: Euler a, Hashes: \"a: 1, "
    "\\\"b\\\": "
    "2\", Size: 5x5";

void read_webui(std::string_view body, serve::WebuiRoute route) {
  const serve::ServedModels models{{{"emoji", "emoji"}, {"plain", "plain"}}, "emoji", {}};
  const serve::WebuiSetting setting{
      models, "emoji",
      [](const std::string& model, const std::string&) { return model == "emoji"; },
      [](const std::string&) { return int64_t{20}; }};
  const serve::WebuiRequest read = serve::read_webui_request(body, route, setting);
  const GenerateRequest& request = read.served.request;
  require(models.models.contains(request.model), "a model is one that is served");
  require(request.components.empty(), "no component is named");
  require(request.adapters.empty(), "no folder of adapters is served here");
  require(!request.config.contains("output") && !request.config.contains("state"),
          "no path of the server is named");
}

}  // namespace

std::string make_input(Random& random) {
  const char kind = static_cast<char>(random() % 4);
  if (kind == parameters) return char{kind} + mutate_text(infotext, random);
  if (kind == image_info) return char{kind} + mutate_text(ONE_PIXEL, random);
  const std::string seed = seeds[below(seeds.size(), random)];
  return char{kind} +
         (random() % 2 ? mutate_text(seed, random) : mutate_json(Json::parse(seed), random).dump());
}

void read_input(std::string_view input) {
  if (input.empty()) return;
  const std::string_view body = input.substr(1);
  switch (input.front()) {
    case text_to_image:
      return read_webui(body, serve::WebuiRoute::text2image);
    case image_to_image:
      return read_webui(body, serve::WebuiRoute::image2image);
    case image_info:
      serve::webui_image_info(std::string(body));
      return;
    default:
      require(serve::read_parameters_text(std::string(body)).contains("Prompt"),
              "a text has a prompt, which may be empty");
  }
}

}  // namespace omnirt::fuzz
