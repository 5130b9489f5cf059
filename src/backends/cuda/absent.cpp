// Compiled in place of this folder's other files where libtorch has no CUDA (cuda.cmake).
#include "backends/cuda/cuda_backend.hpp"

namespace omnirt {

BackendInfo cuda_backend_info() {
  return {"cuda",
          {},
          {false, "built with a CPU-only libtorch",
           "build with a libtorch that has CUDA (OMNIRT_TORCH=<its prefix>)"}};
}

}  // namespace omnirt
