#include "capi/result.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "capi/guarded.hpp"

namespace omnirt::capi {

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

namespace {

const omnirt::io::Image& frame_of(const omnirt_result& result, size_t index, size_t frame) {
  if (index >= result.frames.size())
    throw InvalidRequest({"index", fmt::format("{}", index),
                          fmt::format("the result holds {}", result.frames.size()), ""});
  const std::vector<io::Image>& frames = result.frames[index];
  if (frame >= frames.size())
    throw InvalidRequest(
        {"frame", fmt::format("{}", frame), fmt::format("there are {} frames", frames.size()), ""});
  return frames[frame];
}

}  // namespace
}  // namespace omnirt::capi

void omnirt_result::take(const omnirt::Artifact& artifact) {
  std::vector<omnirt::io::Image>& copies = frames.emplace_back();
  for (const omnirt::io::Image& image : artifact.images)
    copies.push_back(image.channels == 3 ? image : omnirt::io::to_rgb(image));
}

void omnirt_result::take(const omnirt::RunReport& run) {
  report = omnirt::capi::text_of(run.to_json());
}

using namespace omnirt::capi;

const char* omnirt_result_report(const omnirt_result* result) {
  return result ? result->report.c_str() : nullptr;
}

size_t omnirt_result_count(const omnirt_result* result) {
  return result ? result->frames.size() : 0;
}

size_t omnirt_result_frames(const omnirt_result* result, size_t index) {
  return result && index < result->frames.size() ? result->frames[index].size() : 0;
}

omnirt_status omnirt_result_image(const omnirt_result* result, size_t index, size_t frame,
                                  omnirt_image* image) {
  return guarded([&] {
    require(image, "image");
    *image = {};
    require(result, "result");
    const omnirt::io::Image& found = frame_of(*result, index, frame);
    *image = {static_cast<uint32_t>(found.width), static_cast<uint32_t>(found.height),
              static_cast<uint32_t>(found.channels), found.pixels.data()};
  });
}

void omnirt_result_destroy(omnirt_result* result) {
  delete result;
}
