#include "blocks/export_latents.hpp"

#include <fmt/format.h>

#include "blocks/export_files.hpp"
#include "pipeline/latents_file.hpp"

namespace omnirt::blocks {
namespace fs = std::filesystem;

Trigger writes_latents() {
  return chosen(keys::output_type.name, name_of(OutputType::latent));
}

void ExportLatents::check(Checks& checks) const {
  check_record_size(checks, checks.record());
  if (checks.holds(has_component("upscaler")))
    checks.error({"components.upscaler", "", "it takes images, and this run ends with latents",
                  "remove it, or config.output_type"});
}

void ExportLatents::run(Frame& frame) const {
  fs::path file = target_of(frame.maybe(output), frame[output_dir], ".safetensors", frame)
                      .file(0, 1, frame[seeds].empty() ? 0 : frame[seeds].front());
  make_folder(file.parent_path());
  if (frame.cancel()) frame.cancel()->check();
  const Tensor& sample = frame[latents];
  ensure(!frame[seeds].empty() && !frame[prompt].empty() && sample.dim() == 4,
         "latents of {} dimensions, {} seeds and {} prompts", sample.dim(), frame[seeds].size(),
         frame[prompt].size());
  write_latents(file, sample,
                frame.record().is_null() ? Json::object() : Json{{"request", frame.record()}});
  frame[artifacts] = {{file.string(), "latents", "application/x-safetensors", sample.size(3),
                       sample.size(2), frame[seeds].front(), frame[prompt].front()}};
  frame.deliver({frame[artifacts].front(), {}});
}

}  // namespace omnirt::blocks
