// Compiled in place of this folder's other files where libtorch has no CUDA (cuda.cmake).
#include "backends/cuda/cuda_backend.hpp"

namespace omnirt {

BackendInfo cuda_backend_info() {
  return {"cuda",
          {},
          {false, "built with a libtorch that has no CUDA, or not all of its headers",
           "`make cuda` builds with one that has; OMNIRT_TORCH=<prefix> names another"}};
}

}  // namespace omnirt
