#pragma once
#include "blocks/slots.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// The run chooses latents in place of images.
Trigger writes_latents();

// Latents -> one file for all images of the run, with the request that makes them in its metadata
// (pipeline/latents_file.hpp).
class ExportLatents final : public Block {
 public:
  Input<Tensor> latents{this, slots::latents};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Config<OutputType> output_type{this, keys::output_type};
  Config<std::string> output{this, keys::output};
  Config<std::string> output_dir{this, keys::output_dir};
  Output<std::vector<ArtifactReport>> artifacts{this, slots::artifacts};

  ExportLatents()
      : Block("export_latents", Stage::export_artifacts, Guidance::shared, writes_latents()) {}
  void check(Checks& checks) const override;
  void run(Frame& frame) const override;
};

}  // namespace omnirt::blocks
