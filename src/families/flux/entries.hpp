#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::flux {

std::vector<ModelSpec> entries();
// Of those for flow matching, the ones that levels of noise can be given to, as the reference does.
std::vector<std::string> schedulers_that_take_even_levels();
// How adapters for models of this family are recognised.
std::vector<AdapterFamily> adapter_families();
// The id of the entry that a folder is a variant of.
std::string variant_of(const PipelineFolder& folder);

}  // namespace omnirt::flux
