#include "serve/webui_answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/report.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

Json settled_value(const Json& job, const char* key) {
  const Json& config = job["report"]["config_resolved"];
  auto it = config.find(key);
  return it == config.end() || !it->is_object() ? Json() : it->value("value", Json());
}

// The same text for each image, as webui's lists have it.
Json repeated(const Json& value, size_t times) {
  Json list = Json::array();
  for (size_t i = 0; i < times; ++i) list.push_back(value);
  return list;
}

std::string text_at(const Json& object, const char* name) {
  auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

int64_t clip_skip_of(const Json& job) {
  const Json skipped = settled_value(job, "clip_skip");
  return skipped.is_number_integer() ? skipped.get<int64_t>() + 1 : 1;
}

Json strength_of(const Json& job) {
  const Json hires = settled_value(job, "hires_strength");
  return hires.is_null() ? settled_value(job, "strength") : hires;
}

// Sizes that were rounded, as the answer's images have them.
void note_rounded(const WebuiRequest& request, const Json& job, Json& warnings) {
  const Json& made = job["request"]["config"];
  for (const auto& [name, key] :
       {std::pair{"width", "width"}, std::pair{"height", "height"},
        std::pair{"hr_resize_x", "hires_width"}, std::pair{"hr_resize_y", "hires_height"}}) {
    const Json given = request.parameters.value(name, Json()), size = made.value(key, Json());
    if (!given.is_number_integer() || !size.is_number_integer() || given == size) continue;
    warnings.push_back(to_json(Finding{
        name, shown(given),
        fmt::format("is {} here: rounded down to what the model makes", size.get<int64_t>()), ""}));
  }
}

// What the run says, by webui's names, and what was ignored.
Json warnings_of(const WebuiRequest& request, const Json& job) {
  Json warnings = job["report"].value("warnings", Json::array());
  for (Json& each : warnings) {
    if (each.is_object() && each.contains("field"))
      each["field"] = webui_name_of(each["field"].get<std::string>());
  }
  for (const Finding& each : request.notes) warnings.push_back(to_json(each));
  note_rounded(request, job, warnings);
  const Json scale = request.parameters.value("cfg_scale", Json());
  if (scale.is_number() && scale != 1 && !job["request"]["config"].contains("guidance_scale"))
    warnings.push_back(to_json(Finding{"cfg_scale", shown(scale),
                                       "ignored: the model was distilled without guidance", ""}));
  return warnings;
}

// What webui's Processed.js says of a run, as far as there is such a thing here.
Json info_of(const WebuiRequest& request, const Json& job,
             const std::vector<std::string>& infotexts) {
  const Json& artifacts = job["artifacts"];
  const Json& inputs = job["request"]["inputs"];
  const std::string prompt = text_at(request.parameters, "prompt");
  const std::string negative = text_at(inputs, "negative_prompt");
  Json seeds = Json::array();
  for (const Json& each : artifacts) seeds.push_back(each["seed"]);
  const size_t count = artifacts.size();
  return {{"prompt", prompt},
          {"all_prompts", repeated(prompt, count)},
          {"negative_prompt", negative},
          {"all_negative_prompts", repeated(negative, count)},
          {"seed", seeds[0]},
          {"all_seeds", seeds},
          {"subseed", seeds[0]},
          {"all_subseeds", seeds},
          {"subseed_strength", 0},
          {"width", artifacts[0]["width"]},
          {"height", artifacts[0]["height"]},
          {"sampler_name", settled_value(job, "scheduler")},
          {"cfg_scale", settled_value(job, "guidance_scale")},
          {"steps", settled_value(job, "num_inference_steps")},
          {"batch_size", request.batch_size},
          {"restore_faces", false},
          {"face_restoration_model", nullptr},
          {"sd_model_name", request.model},
          {"sd_model_hash", nullptr},
          {"sd_vae_name", nullptr},
          {"sd_vae_hash", nullptr},
          {"seed_resize_from_w", -1},
          {"seed_resize_from_h", -1},
          {"denoising_strength", strength_of(job)},
          {"extra_generation_params", Json::object()},
          {"index_of_first_image", 0},
          {"infotexts", infotexts},
          {"styles", Json::array()},
          {"job_timestamp", std::to_string(job["created_ms"].get<int64_t>())},
          {"clip_skip", clip_skip_of(job)},
          {"is_using_inpainting_conditioning", false},
          {"version", "OmniRT"},
          {"warnings", warnings_of(request, job)},
          {"job", job["id"]}};
}

}  // namespace

Json webui_result(const WebuiRequest& request, const Json& job,
                  const std::vector<std::string>& infotexts) {
  Json images = Json::array();
  for (const Json& artifact : job["artifacts"]) {
    if (!request.send_images) break;
    if (!artifact.contains("data"))
      throw HttpRefusal(500, "TooLarge",
                        "the images are too large for one answer; ask for fewer, or GET "
                        "/v1/jobs/" +
                            job["id"].get<std::string>());
    images.push_back(artifact["data"]);
  }
  return {{"images", images},
          {"parameters", request.parameters},
          {"info", text_of(info_of(request, job, infotexts))}};
}

Json webui_progress(const JobView* view, size_t jobs, const std::string& preview) {
  const int64_t step = view ? view->progress.step : 0, steps = view ? view->progress.steps : 0;
  const bool runs = view && view->job.state == JobState::running;
  double share = 0;
  if (runs) share = steps > 0 ? static_cast<double>(step) / static_cast<double>(steps) : 0;
  const Json state = {{"skipped", false},
                      {"interrupted", view && view->job.cancelling},
                      {"stopping_generation", false},
                      {"job", view ? view->job.id : ""},
                      {"job_count", jobs},
                      {"job_timestamp", view ? std::to_string(view->job.created_ms) : "0"},
                      {"job_no", 0},
                      {"sampling_step", step},
                      {"sampling_steps", steps}};
  return {{"progress", std::min(share, 1.0)},
          {"eta_relative", view ? static_cast<double>(view->remaining_ms) / 1000 : 0.0},
          {"state", state},
          {"current_image", preview.empty() ? Json() : Json(preview)},
          {"textinfo", runs ? Json(view->progress.stage) : Json()}};
}

}  // namespace omnirt::serve
