#include "blocks/hires.hpp"

#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/_upsample_bilinear2d_aa.h>
#include <ATen/ops/_upsample_nearest_exact2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <fmt/format.h>

#include <array>

#include "blocks/image_size.hpp"
#include "blocks/start_noise.hpp"
#include "io/image_resize.hpp"
#include "pipeline/symbol_sizes.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {
namespace {

Tensor resampled(const Tensor& x, int64_t height, int64_t width, HiresUpscaler by) {
  const std::array<int64_t, 2> size{height, width};
  constexpr bool align_corners = false;
  switch (by) {
    case HiresUpscaler::latent:
      return at::upsample_bilinear2d(x, size, align_corners);
    case HiresUpscaler::latent_antialiased:
      return at::_upsample_bilinear2d_aa(x, size, align_corners);
    case HiresUpscaler::latent_bicubic:
      return at::upsample_bicubic2d(x, size, align_corners);
    case HiresUpscaler::latent_bicubic_antialiased:
      return at::_upsample_bicubic2d_aa(x, size, align_corners);
    case HiresUpscaler::latent_nearest:
      return at::upsample_nearest2d(x, size);
    case HiresUpscaler::latent_nearest_exact:
      return at::_upsample_nearest_exact2d(x, size);
    case HiresUpscaler::lanczos:
    case HiresUpscaler::nearest:
      break;
  }
  throw InternalError("latents are not resampled by an image's filter");
}

// Levels other than those of a distilled model's own folder (its sample_sigmas), which are as many
// in both passes.
Trigger asks_for_sigmas() {
  const Trigger any = has_config("sigmas");
  return any && Trigger{[](const Facts& facts) {
                          return facts.config.value("sigmas", Json()) !=
                                 facts.index.value("sample_sigmas", Json());
                        },
                        "config.sigmas is not model_index.sample_sigmas",
                        {}};
}

// What a request may hold that the first pass takes and a second would have to be made for.
struct Refused {
  Trigger when;
  const char* field;
};

const std::vector<Refused>& refused() {
  static const std::vector<Refused> all{{has("ip_adapter_masks"), "inputs.ip_adapter_masks"},
                                        {has("entity_prompts"), "inputs.entity_prompts"},
                                        {has_config("window_size"), "config.window_size"},
                                        {has_config("denoising_end"), "config.denoising_end"},
                                        {has_config("timesteps"), "config.timesteps"},
                                        {asks_for_sigmas(), "config.sigmas"},
                                        {chosen("output_type", "latent"), "config.output_type"}};
  return all;
}

Trigger by_image() {
  return chosen(keys::hires_upscaler.name, name_of(HiresUpscaler::lanczos)) ||
         chosen(keys::hires_upscaler.name, name_of(HiresUpscaler::nearest));
}

}  // namespace

Trigger asks_for_hires() {
  return has_config(keys::hires_scale.name) || has_config(keys::hires_width.name) ||
         has_config(keys::hires_height.name);
}

int64_t HiresSize::grid(const Checks& checks) const {
  return checks[vae].factors().side * patch_;
}

void HiresSize::settle_side(Checks& checks, const Config<int64_t>& side,
                            const Config<int64_t>& first) const {
  const int64_t whole = grid(checks);
  if (auto given = checks.maybe(side)) return check_grid(checks, side, *given, whole);
  auto times = checks.maybe(scale);
  if (!times) {
    checks.error({"config." + side.name(), "", "the second pass needs both sides",
                  "give it, or hires_scale alone"});
    return;
  }
  auto pixels = static_cast<int64_t>(static_cast<double>(checks[first]) * *times);
  pixels = pixels / whole * whole;
  if (pixels > static_cast<int64_t>(side.key.max)) {
    checks.error({"config.hires_scale", fmt::format("{}", *times),
                  fmt::format("the second pass would be {} pixels on a side; at most {} are made",
                              pixels, side.key.max),
                  "give a smaller one"});
    return;
  }
  checks.settle(side, pixels, Origin::derived);
}

void HiresSize::check(Checks& checks) const {
  refuse_generators(checks, "a second pass");
  settle_side(checks, hires_width, width);
  settle_side(checks, hires_height, height);
  for (const Refused& each : refused()) {
    if (!checks.holds(each.when)) continue;
    checks.error({each.field, "", "has no second pass",
                  "remove it, or hires_scale; make the larger image by image2image"});
  }
  if (checks.holds(has_component("hires_upscaler")))
    checks.unused(upscaler, "has no effect with components.hires_upscaler", "give one of them");
}

void HiresSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  const auto latents_of = checks[vae].grid(checks[hires_width], checks[hires_height]);
  sizes.set("H2", checks[hires_height]);
  sizes.set("W2", checks[hires_width]);
  sizes.set("H2/8", latents_of.height);
  sizes.set("W2/8", latents_of.width);
}

void HiresLatents::run(Frame& frame) const {
  const Tensor& made = frame[latents];
  int64_t grid = frame[height] / nn::LatentGrid::of(made).height;
  frame[hires_start] =
      resampled(made, frame[hires_height] / grid, frame[hires_width] / grid, frame[upscaler]);
  frame[noise_source] = std::make_shared<Noise>(frame[seeds]);
}

io::Image HiresImages::enlarged(Frame& frame, const io::Image& image) const {
  int64_t wide = frame[hires_width], high = frame[hires_height];
  return frame[upscaler] == HiresUpscaler::nearest ? io::resize_nearest(image, wide, high)
                                                   : io::resize_lanczos(image, wide, high);
}

void HiresImages::run(Frame& frame) const {
  const Tensor& made = frame[latents];
  const nn::Autoencoder& autoencoder = frame[vae];
  auto noises = std::make_shared<Noise>(frame[seeds]);
  int64_t wide = frame[hires_width], high = frame[hires_height];
  Tensor noise;
  if (autoencoder.samples())
    noise = noises->randn(autoencoder.grid(wide, high, frame[seeds].size()).images());
  std::vector<Tensor> starts;
  for (int64_t i = 0; i < made.size(0); ++i) {
    io::Image image = tensor_to_image(decoded_image(frame, vae, tiling, made.narrow(0, i, 1)), 0);
    Tensor pixels = image_tensor(enlarged(frame, image), wide, high);
    Tensor own = noise.defined() ? noise.narrow(0, i, 1) : noise;
    starts.push_back(encoded_image(frame, vae, tiling, pixels, own));
  }
  frame[hires_start] = at::cat(starts);
  frame[noise_source] = std::move(noises);
}

void HiresNetwork::check(Checks& checks) const {
  check_tiles(checks, tile, overlap);
  auto wide = checks.maybe(hires_width), high = checks.maybe(hires_height);
  if (!wide || !high) return;
  plan_upscale_to({checks[width], checks[height]}, checks[network].scale(), {*wide, *high});
}

io::Image HiresNetwork::enlarged(Frame& frame, const io::Image& image) const {
  UpscalePlan plan = plan_upscale_to({image.width, image.height}, frame[network].scale(),
                                     {frame[hires_width], frame[hires_height]});
  return upscaled(frame, network, image, plan, {frame[tile], frame[overlap]});
}

std::shared_ptr<Scheduler> DenoiseHires::whole_schedule(const SchedulerChoice& choice,
                                                        int64_t steps, double eta_of_steps,
                                                        at::IntArrayRef /*latents*/) const {
  return planned(choice, steps, eta_of_steps);
}

std::shared_ptr<const Block> DenoiseHires::with_options(const DenoiseOptions& options) const {
  return std::make_shared<DenoiseHires>(options, first_);
}

Walk DenoiseHires::begin(Frame& frame) const {
  const Tensor& start = frame[hires_start];
  int64_t steps = frame.maybe(hires_steps).value_or(frame[num_inference_steps]);
  auto whole = whole_schedule(frame[scheduler], steps, frame[eta], start.sizes());
  Schedule part = begun_at(std::move(whole), first_.of(steps, frame[hires_strength]));
  Tensor noise = frame[noise_source]->randn(start.sizes());
  Tensor noisy = part.scheduler->add_noise(start, noise, part.begin);
  return begun(frame, std::move(part), std::move(noisy));
}

void DenoiseHires::finish(Frame& frame, Walk& walk) const {
  frame[hires_latents] = walk.latents;
}

void DenoiseHires::check(Checks& checks) const {
  DenoiseLoop::check(checks);
  int64_t steps = checks.maybe(hires_steps).value_or(checks[num_inference_steps]);
  double strength = checks[hires_strength];
  if (first_.of(steps, strength) >= steps) return first_.refuse(checks, hires_strength, steps);
  constexpr std::array<int64_t, 4> any{1, 1, 1, 1};
  // Throws where the scheduler has no such schedule.
  if (checks[scheduler].info) whole_schedule(checks[scheduler], steps, checks[eta], any);
}

namespace {

// The part of a request because of which its model has no second pass, or "".
const char* refused_part(const Checks& checks) {
  if (checks.task() != "text2image") return "";
  for (const char* part : {"controlnet", "ip_adapter"}) {
    if (checks.holds(has_component(part))) return part;
  }
  return "";
}

}  // namespace

void RefuseHires::check(Checks& checks) const {
  const char* part = refused_part(checks);
  const std::string why = fmt::format("this model does {}{}{} in one pass", checks.task(),
                                      *part ? " with components." : "", part);
  const std::string way_out =
      *part ? fmt::format("remove it, or components.{}", part) : "remove it";
  if (auto given = checks.maybe(scale))
    checks.error({"config.hires_scale", fmt::format("{}", *given), why, way_out});
  for (const auto* side : {&hires_width, &hires_height}) {
    if (auto given = checks.maybe(*side))
      checks.error({"config." + side->name(), std::to_string(*given), why, way_out});
  }
}

DenoiseOptions hires_options(DenoiseOptions options, const Trigger& hires,
                             const std::string& name) {
  options.name = name;
  options.trigger = hires;
  return options;
}

void add_hires_start(BlockList& list, const Trigger& hires) {
  const Trigger network = has_component("hires_upscaler");
  list.push_back(std::make_shared<HiresLatents>(hires && !network && !by_image()));
  list.push_back(std::make_shared<HiresImages>(hires && !network && by_image()));
  list.push_back(std::make_shared<HiresNetwork>(hires && network));
}

std::shared_ptr<const Block> decode_hires(const Trigger& hires) {
  return std::make_shared<DecodeLatents>(hires, "decode_hires", slots::hires_latents,
                                         slots::hires_decoded_images);
}

void add_hires(BlockList& list, std::shared_ptr<const DenoiseHires> loop, const Trigger& hires) {
  add_hires_start(list, hires);
  list.push_back(std::move(loop));
  list.push_back(decode_hires(hires));
}

}  // namespace omnirt::blocks
