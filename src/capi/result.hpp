#pragma once
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/report.hpp"
#include "capi/omnirt.h"
#include "engine/session.hpp"
#include "io/image.hpp"

// What a run made, copied out of it.
struct omnirt_result {
  // Of each image or video its frames, RGB; of latents none.
  std::vector<std::vector<omnirt::io::Image>> frames;
  std::string report;

  void take(const omnirt::Artifact& artifact);
  void take(const omnirt::RunReport& run);
  void drop_images() { frames.clear(); }
};

namespace omnirt::capi {

// JSON as text; what is not UTF-8 in it (a file's name) is replaced.
std::string text_of(const Json& json);

}  // namespace omnirt::capi
