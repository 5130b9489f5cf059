#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace omnirt::io {

// An image or video, which may embed the request that made it.
struct CarriedText {
  std::string kind;                 // "png", "jpeg", "webp", "gif", "mp4", "frames"
  std::optional<std::string> text;  // under request_metadata_key, as encode_image and encode_video
                                    // put it there; nothing where the file has none
  std::optional<std::string> parameters;  // an image's under parameters_metadata_key, whichever
                                          // program wrote them
};

// Nothing where `path` is no image, no gif, no mp4 and no folder of numbered frames. Reads no
// pixels. Throws InvalidFile where the file cannot be read, or is larger than images may be.
std::optional<CarriedText> read_carried_text(const std::filesystem::path& path);

}  // namespace omnirt::io
