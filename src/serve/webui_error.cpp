// Errors as stable-diffusion-webui's clients read them.
#include <fmt/format.h>

#include <map>

#include "serve/problem.hpp"
#include "serve/webui.hpp"

namespace omnirt::serve {
namespace {

// The names that webui's clients know, of findings about ours.
const std::map<std::string, std::string>& names_of_ours() {
  static const std::map<std::string, std::string> names = [] {
    std::map<std::string, std::string> made{
        {"inputs.prompt", "prompt"},
        {"inputs.negative_prompt", "negative_prompt"},
        {"inputs.image", "init_images"},
        {"inputs.mask", "mask"},
        {"config.scheduler", "sampler_name, scheduler"},
        {"config.clip_skip", "override_settings.CLIP_stop_at_last_layers"},
        {"config.strength", "denoising_strength"},
        {"config.hires_strength", "denoising_strength"},
        {"config.hires_scale", "hr_scale"},
        {"config.hires_width", "hr_resize_x"},
        {"config.hires_height", "hr_resize_y"},
        {"config.hires_steps", "hr_second_pass_steps"},
        {"config.hires_upscaler", "hr_upscaler"},
        {"config.image_fit", "resize_mode"},
        {"config.mask_blur", "mask_blur"},
        {"config.padding_mask_crop", "inpaint_full_res, inpaint_full_res_padding"},
        {"config.num_images_per_prompt", "batch_size, n_iter"}};
    for (const WebuiField& field : webui_fields()) {
      if (field.use == WebuiUse::config)
        made.emplace("config." + std::string(field.to), std::string(field.name));
    }
    return made;
  }();
  return names;
}

}  // namespace

bool is_webui(const std::string& path) {
  return path.starts_with("/sdapi/v1/");
}

std::string webui_name_of(const std::string& field) {
  auto known = names_of_ours().find(field);
  return known == names_of_ours().end() ? field : known->second;
}

HttpResponse webui_error(HttpResponse problem) {
  if (problem.type != "application/problem+json") return problem;
  const Json json = parse_json(problem.body, "the problem");
  const std::string type = json["type"].get<std::string>();
  Json error = {{"error", type.substr(type.rfind(':') + 1)},
                {"detail", json["detail"]},
                {"body", ""},
                {"errors", ""}};
  if (json.contains("errors")) {
    std::string all;
    for (const Json& each : json["errors"]) {
      all += fmt::format("{}{} = {}: {}", all.empty() ? "" : "; ",
                         webui_name_of(each["field"].get<std::string>()),
                         each["value"].get<std::string>(), each["message"].get<std::string>());
      if (!each.value("way_out", "").empty()) all += "; " + each["way_out"].get<std::string>();
    }
    error["detail"] = error["errors"] = all;
  }
  problem.type = "application/json";
  problem.body = text_of(error) + "\n";
  return problem;
}

}  // namespace omnirt::serve
