#pragma once
#include "blocks/slots.hpp"
#include "nn/upscaler.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::keys {

inline constexpr Key<double> upscale{
    "upscale",
    std::monostate{},
    {0.125, 16},
    "upscale",
    "how much larger the upscaler's images become, resized by Lanczos' filter where that is not "
    "the network's own factor; default: the network's"};
inline constexpr Key<int64_t> upscale_tile{
    "upscale_tile",
    int64_t{256},
    {64, 8192},
    "upscale-tile",
    "side in pixels of the tiles that an upscaler is given; smaller ones take less memory"};
inline constexpr Key<int64_t> upscale_overlap{
    "upscale_overlap",
    int64_t{16},
    {0, 256},
    "upscale-overlap",
    "how many pixels an upscaler's tiles overlap, where they fade into each other"};

}  // namespace omnirt::keys

namespace omnirt::blocks {

struct TileSize {
  int64_t tile = 0, overlap = 0;  // pixels of the image
};

struct ImageSize {
  int64_t width = 0, height = 0;
  bool operator==(const ImageSize&) const = default;
};

// How an image of `from` becomes `factor` times as large by a network that makes images `scale`
// times as large: what is upscaled, as often as it takes (three times at most, as in A1111),
// and what the result is then resized to. Throws InvalidRequest under config.upscale where an image
// on the way would be larger than images may be.
struct UpscalePlan {
  int passes = 1;
  ImageSize result;
};
UpscalePlan plan_upscale(const ImageSize& from, int64_t scale, std::optional<double> factor);

// The same to a size of its own.
UpscalePlan plan_upscale_to(const ImageSize& from, int64_t scale, const ImageSize& wanted);

// One pass of the network over an image (alpha is dropped), tile by tile, 8 bits in and out.
// Memory: a tile's calls, and 12 bytes for each pixel of the result.
io::Image upscaled_once(Frame& frame, const Component<nn::Upscaler>& upscaler,
                        const io::Image& image, const TileSize& tiles);
// The whole of a plan.
io::Image upscaled(Frame& frame, const Component<nn::Upscaler>& upscaler, const io::Image& image,
                   const UpscalePlan& plan, const TileSize& tiles);
// A finding where tiles overlap by half or more.
void check_tiles(Checks& checks, const Config<int64_t>& tile, const Config<int64_t>& overlap);

// The images made larger by a network.
class UpscaleImages : public Block {
 public:
  Component<nn::Upscaler> upscaler{this, "upscaler"};
  Config<double> upscale{this, keys::upscale};
  Config<int64_t> tile{this, keys::upscale_tile};
  Config<int64_t> overlap{this, keys::upscale_overlap};
  InOut<std::vector<io::Image>> images{this, slots::images};

  void check(Checks& checks) const override;
  void run(Frame& frame) const override;

 protected:
  explicit UpscaleImages(Trigger trigger)
      : Block("upscale_images", Stage::decode, Guidance::shared, std::move(trigger)) {}
  // What is known of the images before there are any.
  virtual std::optional<ImageSize> size_before(const Checks& checks) const = 0;
};

// Those that a run made, where the request names an upscaler.
class UpscaleMade final : public UpscaleImages {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};

  explicit UpscaleMade(Trigger trigger = has_component("upscaler"))
      : UpscaleImages(std::move(trigger)) {}

 protected:
  std::optional<ImageSize> size_before(const Checks& checks) const override;
};

}  // namespace omnirt::blocks
