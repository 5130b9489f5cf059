#pragma once
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// Images -> files, each with the request that makes it again in its metadata. Either all files of
// a run are there at its end, or none.
class ExportImages final : public Block {
 public:
  Input<std::vector<io::Image>> images{this, slots::images};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Config<std::string> output{this, keys::output};
  Config<std::string> output_dir{this, keys::output_dir};
  Config<io::ImageFormat> output_format{this, keys::output_format};
  Output<std::vector<ArtifactReport>> artifacts{this, slots::artifacts};

  explicit ExportImages(Trigger trigger = {})
      : Block("export_images", Stage::export_artifacts, Guidance::shared, std::move(trigger)) {}
  void check(Checks& checks) const override;
  void run(Frame& frame) const override;
};

}  // namespace omnirt::blocks
