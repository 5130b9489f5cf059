#pragma once
#include <string>
#include <string_view>

#include "serve/http.hpp"
#include "serve/served_request.hpp"

namespace omnirt::serve {

// What a request was counted as. A token of an image is a square of 16x16 pixels, of a text a word.
struct OpenAiUsage {
  int64_t text_tokens = 0;   // of the prompt
  int64_t image_tokens = 0;  // of the images that were sent
};

// A request of OpenAI's image routes, as one of ours.
struct OpenAiRequest {
  ServedRequest served;
  bool stream = false;
  int64_t partial_images = 0;  // of a stream, 0 to 3
  bool url = false;            // artifacts by their URLs, not as base64
  std::string quality;         // as it is told: low, medium or high
  OpenAiUsage usage;
};

// Reads the body of /v1/images/generations (JSON), or of /v1/images/edits (multipart/form-data, or
// JSON with its images as "data:" URLs).
// The fields of OpenAI's reference that have a meaning here, and seed, steps, guidance_scale and
// negative_prompt; others are findings. Throws InvalidRequest.
OpenAiRequest read_openai_generation(std::string_view body, const ServedModels& models);
OpenAiRequest read_openai_edit(std::string_view content_type, std::string_view body,
                               const ServedModels& models);

// A form's fields as JSON, and its files by their names: those of `texts` are texts whatever they
// look like. Throws InvalidRequest.
Json openai_form(std::string_view content_type, std::string_view body,
                 const std::set<std::string>& texts, const std::set<std::string>& files,
                 std::vector<Part>& parts);

bool is_openai(const std::string& path);
// A problem as OpenAI's clients read errors: {error: {message, type, param, code}}.
HttpResponse openai_error(HttpResponse problem);
// {created, data: [{b64_json}], size, quality, background, output_format, usage} of a job's result
// with its data; [{url}] where `asked` has it, behind `server` ("http://localhost:8000").
Json openai_result(const Json& job, const OpenAiRequest& asked, const std::string& server);
// Which of `wanted` partial images the one of this step is, from 0; -1: none. The last step's is
// none.
int64_t partial_index(int64_t step, int64_t steps, int64_t wanted);

}  // namespace omnirt::serve
