#pragma once
#include <span>
#include <string_view>

namespace omnirt::serve {

enum class WebuiRoute { text2image, image2image };

// What becomes of a field of stable-diffusion-webui's requests (its modules/processing.py).
enum class WebuiUse {
  config,   // is config.`to` here
  read,     // is read by code of its own
  neutral,  // changes the image, which cannot be here: taken with one of `values` alone
  ignored,  // changes no image
};

struct WebuiField {
  std::string_view name;
  std::string_view
      type;  // of JSON: "string", "integer", "number", "boolean", "array", "object", "any"
  WebuiUse use;
  std::string_view to;  // config key; of neutral ones the values, as a JSON array
  bool text2image, image2image;
};

std::span<const WebuiField> webui_fields();

}  // namespace omnirt::serve
