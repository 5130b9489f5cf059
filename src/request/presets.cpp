#include "request/presets.hpp"

#include <vector>

namespace omnirt {
namespace {

struct PresetRow {
  Preset preset;
  const char* task;  // "": all
  const char* values;
};

// Later rows win, and a model's own values over all. `balanced` is what the model's own defaults
// are; it is there to be named.
constexpr PresetRow rows[] = {
    {Preset::fast, "",
     R"({"num_inference_steps": 12, "scheduler": "DPMSolverMultistepScheduler"})"},
    {Preset::fast, "image2image", R"({"num_inference_steps": 20})"},
    {Preset::balanced, "", R"({})"},
    {Preset::quality, "", R"({"num_inference_steps": 60})"},
    {Preset::low_vram, "", R"({"release_components": true, "max_batch_rows": 1})"},
};

}  // namespace

Json preset_values(Preset preset, const std::string& task, const ModelSpec& model) {
  Json values = Json::object();
  for (const PresetRow& row : rows) {
    if (preset != row.preset || (*row.task != '\0' && task != row.task)) continue;
    values.update(parse_json(row.values, name_of(preset)));
  }
  auto own = model.presets.find(preset);
  if (own != model.presets.end()) values.update(own->second);
  return values;
}

}  // namespace omnirt
