#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::flux3 {

std::vector<ModelSpec> entries();
std::string variant_of(const PipelineFolder& folder);
// Of folders that have none: the pipeline's own (reference: Flux3SetTimestepsStep).
Json usual_scheduler();

}  // namespace omnirt::flux3
