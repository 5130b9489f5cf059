#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>

namespace omnirt::serve {

// An id as servers draw them, for the job that a test calls by this name.
inline std::string job_id(std::string_view name) {
  std::string id;
  for (const char each : name) id += fmt::format("{:02x}", static_cast<unsigned char>(each));
  id.resize(32, '0');
  return id;
}

// What a store holds of a job that made one image.
inline const std::string one_image_result =
    R"({"artifacts": [{"name": "0.png", "mime": "image/png", "kind": "image", "width": 8, )"
    R"("height": 8, "seed": 1, "bytes": 5}], "report": {"config_resolved": {}}, )"
    R"("request": {"inputs": {}}})";

}  // namespace omnirt::serve
