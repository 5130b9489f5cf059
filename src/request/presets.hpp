#pragma once
#include <string>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// The config values of a preset for a task and a model: those of all, then the task's, then the
// model's.
Json preset_values(Preset preset, const std::string& task, const ModelSpec& model);

}  // namespace omnirt
