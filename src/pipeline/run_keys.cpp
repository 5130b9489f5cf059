#include "pipeline/run_keys.hpp"

#include "pipeline/keys.hpp"
#include "pipeline/memory_keys.hpp"

namespace omnirt::keys {
namespace {

using List = std::vector<const KeyInfo*>;

List joined(List list, const List& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

}  // namespace

List of_runs() {
  return {&stop_after,   &state,           &resume,   &preview_every, &preview_dir,
          &preview_name, &preview_decoder, &metadata, &allow_nan};
}

List paths() {
  return {&output, &output_dir, &model_path,  &single_file_config,
          &state,  &resume,     &preview_dir, &preview_decoder};
}

List about_files() {
  return joined({&output, &output_dir, &model_path, &single_file_config}, of_runs());
}

List about_the_run() {
  // A preset's values are in the config themselves.
  return joined({&preset, &output_format, &level, &require_level, &pack, &profile,
                 &release_components, &memory_budget, &device_memory_budget, &device_map, &offload,
                 &blocks_per_group, &prefetch_groups},
                about_files());
}

}  // namespace omnirt::keys
