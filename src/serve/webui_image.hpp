#pragma once
#include <string>

#include "base/json.hpp"

namespace omnirt::serve {

// An image of webui's requests, base64 with or without "data:image/png;base64,", as an input of
// ours.
Json webui_image_input(const std::string& text);
// A mask, white where the image is repainted; with `invert`, black there. Throws InvalidRequest.
Json webui_mask_input(const std::string& text, bool invert);
// The bytes of such a text. Throws InvalidRequest under `field`.
std::string webui_image_bytes(const std::string& text, const std::string& field);

// {info, items, parameters}: the generation parameters that an image carries, and read as webui
// reads them: {"Prompt", "Negative prompt", "Steps", ...}, all texts. Throws InvalidRequest.
Json webui_image_info(const std::string& text);
Json read_parameters_text(const std::string& text);

}  // namespace omnirt::serve
