#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::sana {

std::vector<ModelSpec> entries();
// The id of the entry that a folder is a variant of.
std::string variant_of(const PipelineFolder& folder);
// What the reference's pipeline does around its scheduler.
void adopt_scheduler(const SchedulerAdoption& adoption, Json& config);
// How adapters for these models are distinguished from others'.
std::vector<AdapterFamily> adapter_families();

}  // namespace omnirt::sana
