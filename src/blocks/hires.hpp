#pragma once
#include "blocks/denoise.hpp"
#include "blocks/latents.hpp"
#include "blocks/upscale_images.hpp"

namespace omnirt {

// How the first pass's result takes the second's size: its latents, resampled by torch's
// `interpolate` under A1111's names (Latent, Latent (antialiased), ...), or its image by Pillow's.
enum class HiresUpscaler {
  latent,
  latent_antialiased,
  latent_bicubic,
  latent_bicubic_antialiased,
  latent_nearest,
  latent_nearest_exact,
  lanczos,
  nearest
};
template <>
struct ChoiceNames<HiresUpscaler> {
  static constexpr std::array names{
      "latent",         "latent-antialiased",   "latent-bicubic", "latent-bicubic-antialiased",
      "latent-nearest", "latent-nearest-exact", "lanczos",        "nearest"};
};

}  // namespace omnirt

namespace omnirt::keys {

inline constexpr Key<double> hires_scale{
    "hires_scale",
    std::monostate{},
    {1, 8},
    "hires-scale",
    "a second pass at so many times width and height, from the first one's result"};
inline constexpr Key<int64_t> hires_width{
    "hires_width", std::monostate{}, {8, 8192}, "hires-width", "the second pass's width in pixels"};
inline constexpr Key<int64_t> hires_height{"hires_height",
                                           std::monostate{},
                                           {8, 8192},
                                           "hires-height",
                                           "the second pass's height in pixels"};
inline constexpr Key<int64_t> hires_steps{
    "hires_steps",
    std::monostate{},
    {1, 1000},
    "hires-steps",
    "steps of the second pass's schedule, of which hires_strength is the share that is denoised; "
    "default: the first pass's"};
inline constexpr Key<double> hires_strength{
    "hires_strength",
    0.7,
    {0, 1},
    "hires-strength",
    "how far the second pass changes the first one's result"};
inline constexpr Key<HiresUpscaler> hires_upscaler{
    "hires_upscaler", HiresUpscaler::latent, "hires-upscaler",
    "how the first pass's result takes the second's size; an upscaler's file or name, too"};

}  // namespace omnirt::keys

namespace omnirt::slots {

inline constexpr Slot<Tensor> hires_start{
    "hires_start", "the first pass's result at the second's size", {"B", "C", "H2/8", "W2/8"}};
inline constexpr Slot<Tensor> hires_latents{
    "hires_latents", "from noise to image, in the second pass", {"B", "C", "H2/8", "W2/8"}};
inline constexpr Slot<Tensor> hires_decoded_images{
    slots::decoded_images.name, slots::decoded_images.help, {"B", "3", "H2", "W2"}};

}  // namespace omnirt::slots

namespace omnirt::blocks {

// A request that asks for a second pass.
Trigger asks_for_hires();

// Settles the second pass's size, and refuses what has no second pass.
class HiresSize : public Block {
 public:
  Config<double> scale{this, keys::hires_scale};
  Config<int64_t> hires_width{this, keys::hires_width};
  Config<int64_t> hires_height{this, keys::hires_height};
  Config<HiresUpscaler> upscaler{this, keys::hires_upscaler};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<nn::Autoencoder> vae{this, "vae"};

  // `patch`: latents of a token, in height and in width, of which sides are made.
  explicit HiresSize(Trigger trigger, int64_t patch = 1)
      : Block("size_of_hires", Stage::prepare_conditions, Guidance::shared, std::move(trigger)),
        patch_(patch) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 protected:
  // The pixels that sides are multiples of: a latent's, or a token's.
  virtual int64_t grid(const Checks& checks) const;

 private:
  void settle_side(Checks& checks, const Config<int64_t>& side, const Config<int64_t>& first) const;

  int64_t patch_;
};

// The first pass's latents resampled to the second's size (reference: A1111's latent upscale modes,
// torch's interpolate). From here on noise is drawn again, from the same seeds.
class HiresLatents final : public Block {
 public:
  Config<HiresUpscaler> upscaler{this, keys::hires_upscaler};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> hires_width{this, keys::hires_width};
  Config<int64_t> hires_height{this, keys::hires_height};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<Tensor> latents{this, slots::latents};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> hires_start{this, slots::hires_start};

  explicit HiresLatents(Trigger trigger)
      : Block("hires_latents", Stage::denoise_loop, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// The first pass's images at the second's size, encoded again.
class HiresImages : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  TilingPorts tiling{this};
  Config<HiresUpscaler> upscaler{this, keys::hires_upscaler};
  Config<int64_t> hires_width{this, keys::hires_width};
  Config<int64_t> hires_height{this, keys::hires_height};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<Tensor> latents{this, slots::latents};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> hires_start{this, slots::hires_start};

  explicit HiresImages(Trigger trigger, std::string name = "hires_images")
      : Block(std::move(name), Stage::denoise_loop, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;

 protected:
  virtual io::Image enlarged(Frame& frame, const io::Image& image) const;
};

// The same by a network, and what is left by Lanczos' filter.
class HiresNetwork final : public HiresImages {
 public:
  Component<nn::Upscaler> network{this, "hires_upscaler"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> tile{this, keys::upscale_tile};
  Config<int64_t> overlap{this, keys::upscale_overlap};

  explicit HiresNetwork(Trigger trigger) : HiresImages(std::move(trigger), "hires_network") {}
  void check(Checks& checks) const override;

 protected:
  io::Image enlarged(Frame& frame, const io::Image& image) const override;
};

// The second pass: from that start under as much noise as hires_strength says, as image2image does
// it.
class DenoiseHires : public DenoiseLoop {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<int64_t> hires_steps{this, keys::hires_steps};
  Config<double> hires_strength{this, keys::hires_strength};
  Config<double> eta{this, keys::eta};
  Input<Tensor> hires_start{this, slots::hires_start};
  Output<Tensor> hires_latents{this, slots::hires_latents};

  // `first`: as the family's image2image begins.
  explicit DenoiseHires(const DenoiseOptions& options, FirstStep first = in_whole_steps())
      : DenoiseLoop(options), first_(first) {}
  Walk begin(Frame& frame) const override;
  void finish(Frame& frame, Walk& walk) const override;
  void check(Checks& checks) const override;

 protected:
  // The whole schedule of this many steps, for latents {B, C, H, W} of these sizes.
  virtual std::shared_ptr<Scheduler> whole_schedule(const SchedulerChoice& choice, int64_t steps,
                                                    double eta_of_steps,
                                                    at::IntArrayRef latents) const;
  std::shared_ptr<const Block> with_options(const DenoiseOptions& options) const override;

 private:
  FirstStep first_;
};

// Where there is no second pass: refuses requests that ask for one.
class RefuseHires final : public Block {
 public:
  Config<double> scale{this, keys::hires_scale};
  Config<int64_t> hires_width{this, keys::hires_width};
  Config<int64_t> hires_height{this, keys::hires_height};

  // `where`: the workflows that have none.
  explicit RefuseHires(const Trigger& where)
      : Block("refuse_hires", Stage::prepare_conditions, Guidance::shared,
              where && asks_for_hires()) {}
  RefuseHires()
      : Block("refuse_hires", Stage::prepare_conditions, Guidance::shared, asks_for_hires()) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

// What enlarges the first pass's result, by its latents or its images; to come after the first
// pass's loop.
void add_hires_start(BlockList& list, const Trigger& hires);
// The second pass's latents as images.
std::shared_ptr<const Block> decode_hires(const Trigger& hires);
// The blocks after the first pass's loop, up to the images; `loop` is the second pass's.
void add_hires(BlockList& list, std::shared_ptr<const DenoiseHires> loop, const Trigger& hires);
// The options of the second pass's loop: the first one's under another name.
DenoiseOptions hires_options(DenoiseOptions options, const Trigger& hires,
                             const std::string& name = "denoise_hires");

}  // namespace omnirt::blocks
