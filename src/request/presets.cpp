#include "request/presets.hpp"

#include <vector>

namespace omnirt {
namespace {

struct PresetRow {
  const char* preset;
  const char* task;   // "": all
  const char* model;  // "": all
  const char* values;
};

// Later rows win. `balanced` is what the model's own defaults are; it is there to be named.
constexpr PresetRow rows[] = {
    {"fast", "", "", R"({"num_inference_steps": 12, "scheduler": "DPMSolverMultistepScheduler"})"},
    {"fast", "image2image", "", R"({"num_inference_steps": 20})"},
    {"fast", "", "emoji", R"({"num_inference_steps": 8})"},
    {"balanced", "", "", R"({})"},
    {"quality", "", "", R"({"num_inference_steps": 60})"},
    {"quality", "", "emoji", R"({"num_inference_steps": 40})"},
    {"low-vram", "", "", R"({"release_components": true, "max_batch_rows": 1})"},
};

bool matches(const char* rule, const std::string& name) {
  return *rule == '\0' || name == rule;
}

}  // namespace

Json preset_values(const std::string& preset, const std::string& task, const std::string& model) {
  Json values = Json::object();
  for (const PresetRow& row : rows) {
    if (preset != row.preset || !matches(row.task, task) || !matches(row.model, model)) continue;
    values.update(parse_json(row.values, preset));
  }
  return values;
}

}  // namespace omnirt
