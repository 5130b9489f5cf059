#pragma once
#include "runtime/resolve.hpp"

namespace omnirt {

// Listed as cuda. Where the libtorch of this build has no CUDA, it is listed as not built in, with
// the way to build it.
BackendInfo cuda_backend_info();

}  // namespace omnirt
