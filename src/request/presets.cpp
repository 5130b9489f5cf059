#include "request/presets.hpp"

#include <vector>

namespace omnirt {
namespace {

struct PresetRow {
  const char* preset;
  const char* task;  // "": all
  const char* values;
};

// Later rows win, and a model's own values over all. `balanced` is what the model's own defaults
// are; it is there to be named.
constexpr PresetRow rows[] = {
    {"fast", "", R"({"num_inference_steps": 12, "scheduler": "DPMSolverMultistepScheduler"})"},
    {"fast", "image2image", R"({"num_inference_steps": 20})"},
    {"balanced", "", R"({})"},
    {"quality", "", R"({"num_inference_steps": 60})"},
    {"low-vram", "", R"({"release_components": true, "max_batch_rows": 1})"},
};

}  // namespace

Json preset_values(const std::string& preset, const std::string& task, const ModelSpec& model) {
  Json values = Json::object();
  for (const PresetRow& row : rows) {
    if (preset != row.preset || (*row.task != '\0' && task != row.task)) continue;
    values.update(parse_json(row.values, preset));
  }
  auto own = model.presets.find(preset);
  if (own != model.presets.end()) values.update(own->second);
  return values;
}

}  // namespace omnirt
