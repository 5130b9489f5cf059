#pragma once
#include <vector>

#include "runtime/dry_forward.hpp"
#include "runtime/residency.hpp"

namespace omnirt {

// Where the weights of a network are computed with: in the file's own pages, as far as kernels can,
// or in memory of a device.
enum class WeightPlace { host, device };

// The use of one parameter as groups are made of it; `weight` is what is stored of it.
ParamUse param_use(const DryUse& use, const Weight& weight, const ComputeForm& form,
                   WeightPlace place);
// The uses of one call.
std::vector<ParamUse> param_uses(const DryForward& call, const WeightStore& store,
                                 const ComputeForm& form, WeightPlace place);

}  // namespace omnirt
