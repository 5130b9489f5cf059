#include "pipeline/keys.hpp"

namespace omnirt::keys {

std::vector<const KeyInfo*> of_every_run() {
  return {&preset,        &scheduler,      &scheduler_config,   &guidance_scale, &guidance_rescale,
          &dtype,         &max_batch_rows, &release_components, &model_path,     &level,
          &require_level, &pack,           &quantize,           &profile};
}

}  // namespace omnirt::keys
