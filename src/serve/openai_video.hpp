#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "serve/dispatcher.hpp"
#include "serve/job_work.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

// A request of OpenAI's /v1/videos, as one of ours.
struct OpenAiVideoRequest {
  ServedRequest served;
  int64_t seconds = 0;  // 0: as many frames as the model makes
};

inline constexpr int64_t max_video_seconds = 60;

// Reads a body, JSON or multipart/form-data: model, prompt, input_reference (the first image),
// size, seconds; and seed, steps, fps. Others are findings. Throws InvalidRequest.
OpenAiVideoRequest read_openai_video(std::string_view content_type, std::string_view body,
                                     const ServedModels& models);

// A job as OpenAI's clients know videos. `now_ms` is the queue's clock; `keep_ms` for how long
// ended jobs are kept.
Json openai_video(const JobView& view, const JobWork& work, int64_t now_ms, int64_t keep_ms);

}  // namespace omnirt::serve
