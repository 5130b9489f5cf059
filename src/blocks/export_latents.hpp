#pragma once
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// The run chooses latents in place of pictures.
Trigger writes_latents();

// Latents -> one file for all pictures of the run, with the request that makes them in its metadata
// (pipeline/latents_file.hpp).
class ExportLatents final : public Block {
 public:
  Input<Tensor> latents{this, "latents", "from noise to image", {"B", "C", "H/8", "W/8"}};
  Input<std::vector<uint64_t>> seeds{this, "seeds", "one per image"};
  Input<std::vector<std::string>> prompt{this, "prompt", "what the image shows"};
  Config<std::string> output_type{this, keys::output_type};
  Config<std::string> output{this, keys::output};
  Config<std::string> output_dir{this, keys::output_dir};
  Output<std::vector<ArtifactReport>> artifacts{this, "artifacts", "the files written"};

  ExportLatents()
      : Block("export_latents", Stage::export_artifacts, Guidance::shared, writes_latents()) {}
  void check(Proposal& proposal) const override;
  void run(Frame& frame) const override;
};

}  // namespace omnirt::blocks
