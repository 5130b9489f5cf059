#include "serve/openai_video.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "serve/openai.hpp"
#include "serve/openai_fields.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

constexpr int64_t ms_per_second = 1000;

// {"image_url": "data:..."}, or that text by itself.
Json first_image(OpenAiFields& fields) {
  const Json value = fields.take("input_reference");
  if (value.is_object() && value.size() == 1 && value.contains("image_url"))
    return value["image_url"];
  if (value.is_null() || value.is_string()) return value;
  fields.refuse("input_reference", value,
                R"({"image_url": "data:image/png;base64,..."} is expected)");
  return {};
}

// OpenAI's clients send it as a text.
int64_t seconds_of(OpenAiFields& fields) {
  Json value = fields.take("seconds");
  if (value.is_null()) return 0;
  const std::string text = value.is_string() ? value.get<std::string>() : shown(value);
  for (int64_t each = 1; each <= max_video_seconds; ++each) {
    if (text == std::to_string(each)) return each;
  }
  fields.refuse("seconds", value, fmt::format("1 to {} is expected", max_video_seconds));
  return 0;
}

const char* status_of(JobState state) {
  switch (state) {
    case JobState::queued:
      return "queued";
    case JobState::running:
      return "in_progress";
    case JobState::done:
      return "completed";
    default:
      return "failed";
  }
}

// By the time that has passed and the time that is left, in percent.
int64_t progress_of(const JobView& view, int64_t now_ms) {
  if (has_ended(view.job.state)) return view.job.state == JobState::done ? 100 : 0;
  if (view.job.state != JobState::running) return 0;
  const int64_t passed = std::max<int64_t>(now_ms - view.job.started_ms, 0);
  const int64_t all = std::max<int64_t>(passed + view.remaining_ms, 1);
  return std::min<int64_t>(100 * passed / all, 99);
}

}  // namespace

OpenAiVideoRequest read_openai_video(std::string_view content_type, std::string_view body,
                                     const ServedModels& models) {
  std::vector<Part> parts;
  Json given = media_type(content_type) == form_media
                   ? openai_form(content_type, body, {"prompt", "model", "seconds", "size"},
                                 {"input_reference"}, parts)
                   : parse_json(body, "request", body.size());
  OpenAiFields fields(std::move(given));
  OpenAiVideoRequest made;
  Json request = {{"inputs", Json::object()}, {"config", Json::object()}, {"async", true}};
  fields.move("model", request, "model");
  // Models that make videos of images take none, and OpenAI's clients always send one.
  const Json prompt = fields.take("prompt");
  if (!prompt.is_null() && prompt != "") request["inputs"]["prompt"] = prompt;
  Json& config = request["config"];
  fields.size(config);
  fields.move("seed", config, "seed");
  fields.move("steps", config, "num_inference_steps");
  fields.move("fps", config, "fps");
  config["output_format"] = "mp4";
  made.seconds = seconds_of(fields);
  Json image = first_image(fields);
  if (!parts.empty()) image = {{"part", "input_reference"}};
  if (!image.is_null()) request["inputs"]["image"] = std::move(image);
  fields.finish();
  made.served = read_served_request(text_of(request), parts, models);
  made.served.all_take_effect = true;
  return made;
}

Json openai_video(const JobView& view, const JobWork& work, int64_t now_ms, int64_t keep_ms) {
  const Job& job = view.job;
  const int64_t fps = std::max<int64_t>(work.fps, 1);
  Json video = {{"id", job.id},
                {"object", "video"},
                {"model", job.model},
                {"status", status_of(job.state)},
                {"progress", progress_of(view, now_ms)},
                {"created_at", job.created_ms / ms_per_second},
                {"completed_at", nullptr},
                {"expires_at", nullptr},
                {"size", fmt::format("{}x{}", work.width, work.height)},
                {"seconds", fmt::format("{}", std::max<int64_t>((work.frames + fps / 2) / fps, 1))},
                {"remixed_from_video_id", nullptr},
                {"error", nullptr}};
  if (!has_ended(job.state)) return video;
  video["expires_at"] = (job.ended_ms + keep_ms) / ms_per_second;
  if (job.state == JobState::done)
    video["completed_at"] = job.ended_ms / ms_per_second;
  else
    video["error"] = {{"code", job.reason.kind}, {"message", job.reason.message}};
  return video;
}

}  // namespace omnirt::serve
