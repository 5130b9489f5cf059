#include "catalogue/catalogue.hpp"

#include "backends/ascend/ascend_backend.hpp"
#include "backends/cpu/cpu_backend.hpp"
#include "backends/cuda/cuda_backend.hpp"
#include "backends/stub/stub_backend.hpp"
#include "families/sd/sd.hpp"
#include "networks/autoencoder_kl/model.hpp"
#include "networks/autoencoder_tiny/model.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"

namespace omnirt {
namespace {

template <class T>
BackendInfo backend(const char* name) {
  return {name, [] { return std::make_unique<T>(); }, {}};
}

}  // namespace

Catalogue builtin_catalogue() {
  return {.families = {families::sd()},
          .networks = {clip_text_model_info(), unet_2d_condition_model_info(),
                       autoencoder_kl_info(), autoencoder_tiny_info()},
          // The order in which `auto` looks.
          .backends = {cuda_backend_info(), ascend_backend_info(), backend<CpuBackend>("cpu"),
                       stub_backend_info()},
          .default_model = "emoji"};
}

}  // namespace omnirt
