#include "pipeline/keys.hpp"

#include "pipeline/memory_keys.hpp"
#include "pipeline/run_keys.hpp"

namespace omnirt::keys {

std::vector<const KeyInfo*> of_every_run() {
  std::vector<const KeyInfo*> keys{&preset,           &scheduler,
                                   &scheduler_config, &guidance_scale,
                                   &guidance_rescale, &dtype,
                                   &max_batch_rows,   &release_components,
                                   &model_path,       &level,
                                   &require_level,    &pack,
                                   &quantize,         &matmul_precision,
                                   &profile,          &single_file_config,
                                   &timesteps,        &sigmas,
                                   &memory_budget,    &offload,
                                   &blocks_per_group, &storage_dtype,
                                   &prefetch_groups,  &device_memory_budget,
                                   &device_map};
  for (const KeyInfo* key : of_runs()) keys.push_back(key);
  return keys;
}

}  // namespace omnirt::keys
