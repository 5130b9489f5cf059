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
  if (frame.cancel()) frame.cancel()->check();
  const Tensor& sample = frame[latents];
  ensure(!frame[seeds].empty() && !frame[prompt].empty() && sample.dim() == 4,
         "latents of {} dimensions, {} seeds and {} prompts", sample.dim(), frame[seeds].size(),
         frame[prompt].size());
  const auto grid = nn::LatentGrid::of(sample);
  ArtifactReport made{.path = "",
                      .kind = "latents",
                      .mime = "",
                      .width = grid.width,
                      .height = grid.height,
                      .seed = frame[seeds].front(),
                      .prompt = frame[prompt].front()};
  if (frame.writes_files()) {
    fs::path file = target_of(frame.maybe(output), frame[output_dir], ".safetensors", frame)
                        .file(0, 1, made.seed);
    make_folder(file.parent_path());
    write_latents(file, sample,
                  frame.record().is_null() ? Json::object() : Json{{"request", frame.record()}});
    made.path = file.native();
    made.mime = "application/x-safetensors";
  }
  frame[artifacts] = {made};
  frame.deliver({frame[artifacts].front(), {}});
}

}  // namespace omnirt::blocks
