#pragma once
#include "blocks/slots.hpp"
#include "io/video.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::keys {

inline constexpr Key<io::VideoFormat> video_format{
    "output_format", std::monostate{}, "output-format",
    "video format; default: from the output's extension, else mp4"};
inline constexpr Key<double> output_fps{"output_fps",
                                        std::monostate{},
                                        {0.1, 240},
                                        "output-fps",
                                        "frames per second that the file is played at; unset: fps"};

}  // namespace omnirt::keys

namespace omnirt::blocks {

// Videos -> files, each with the request that makes it again in its metadata. Either all files of a
// run are there at its end, or none.
class ExportVideo final : public Block {
 public:
  Input<std::vector<io::Image>> frames{this, "frames", "of each video, one video after the other"};
  Input<std::vector<uint64_t>> seeds{this, "seeds", "one per video"};
  Config<std::string> output{this, keys::output};
  Config<std::string> output_dir{this, keys::output_dir};
  Config<io::VideoFormat> output_format{this, keys::video_format};
  Config<double> output_fps{this, keys::output_fps};
  Output<std::vector<ArtifactReport>> artifacts{this, slots::artifacts};

  ExportVideo() : Block("export_video", Stage::export_artifacts) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

}  // namespace omnirt::blocks
