#include "families/z_image/control.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/path_text.hpp"
#include "blocks/control_values.hpp"
#include "blocks/encode_control_image.hpp"
#include "blocks/latents.hpp"

namespace omnirt::z_image {
namespace {

constexpr const char* part = "controlnet";
constexpr const char* samples = "controlnet_block_samples";

// With a mask's channel, and the latents of the image under it.
int64_t channels_with_mask(int64_t latents) {
  return 2 * latents + 1;
}

std::vector<Value> scaled(std::vector<Value> list, double strength) {
  if (strength == 1.0) return list;
  for (Value& each : list) each = each.tensor() * strength;
  return list;
}

}  // namespace

Trigger control_reads_mask() {
  return {[](const Facts& facts) {
            const auto* network = facts.network<ZImageControlNetModel>(part);
            const auto* vae = facts.network<nn::Autoencoder>("vae");
            return network && vae &&
                   network->control_channels() == channels_with_mask(vae->latent_channels());
          },
          "controlnet.control_in_dim has a mask's",
          {}};
}

EncodeControl::EncodeControl(const Trigger& trigger, std::string name)
    : Block(std::move(name), Stage::prepare_latents, Guidance::shared, trigger),
      control(this, blocks::control_values_name(0), blocks::control_values_help,
              blocks::control_values_shape()) {}

void EncodeControl::check(Checks& checks) const {
  tiling.check(checks, vae);
}

Tensor EncodeControl::mode(Frame& frame, const Tensor& pixels) const {
  // Noise of zeros: the reference draws nothing.
  const Tensor none = at::zeros(frame[vae].grid(frame[width], frame[height]).images(), at::kFloat);
  return blocks::encoded_image(frame, vae, tiling, pixels, none);
}

Tensor EncodeControl::rest(Frame& frame, const Tensor& latents) const {
  auto grid = nn::LatentGrid::of(latents);
  grid.batch = 1;
  grid.channels = frame[controlnet].control_channels() - grid.channels;
  return at::zeros(grid.images(), at::kFloat);
}

void EncodeControl::run(Frame& frame) const {
  const io::Preprocess how = blocks::preprocess_of(frame.maybe(preprocess), preprocess, 0);
  const Tensor pixels = blocks::control_pixels(frame[control_image], 3, frame[height], frame[width],
                                               frame[image_fit], how);
  const Tensor latents = mode(frame, pixels * 2.0 - 1.0);
  frame[control] = Value(at::cat({latents, rest(frame, latents)}, 1), Life::run);
}

Tensor EncodeMaskedControl::rest(Frame& frame, const Tensor& /*latents*/) const {
  const Tensor pixels = blocks::image_tensor(frame[image], frame[width], frame[height]);
  const Tensor kept = (frame[mask_pixels] < 0.5).to(at::kFloat);
  return at::cat({1 - frame[mask_latents], mode(frame, pixels * kept)}, 1);
}

Control::Control()
    : StepBlock(part, Stage::denoise_loop, Guidance::shared, has_component(part)),
      control(this, blocks::control_values_name(0), blocks::control_values_help,
              blocks::control_values_shape()) {}

Values Control::hints(Frame& frame, size_t step, const RowBatch& batch, double strength) const {
  auto call = [&](const char* variant) {
    return ComponentCall{
        .variant = variant, .body = {}, .rows = batch.rows, .step = {.index = step}};
  };
  Values inputs;
  for (const char* name : {"sample", "timestep", "encoder_hidden_states"})
    inputs[name] = batch.inputs.at(name);
  Values lent = frame.call(
      transformer, inputs,
      [](const ZImageTransformer2DModel& network, Context& cx, const Values& in) {
        return network.lent(cx, in);
      },
      call("lent"));
  lent["controlnet_cond"] = {frame[control]};
  Values looked = frame.call(
      controlnet, lent,
      [](const ZImageControlNetModel& network, Context& cx, const Values& in) {
        return network.refine(cx, in);
      },
      call("refine"));
  lent.erase("controlnet_cond");
  lent["context"] = looked.at("context");
  Values refined{{"image", lent.at("image")},
                 {"embedded", lent.at("embedded")},
                 {"image_rotary", lent.at("image_rotary")}};
  if (looked.contains("hints")) refined["hints"] = scaled(looked.at("hints"), strength);
  lent["image"] = {one(frame.call(
      transformer, refined,
      [](const ZImageTransformer2DModel& network, Context& cx, const Values& in) {
        return network.refined(cx, in);
      },
      call("refined")))};
  return frame.call(
      controlnet, lent,
      [](const ZImageControlNetModel& network, Context& cx, const Values& in) {
        return network.control(cx, in);
      },
      call(""));
}

void Control::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  const double strength =
      blocks::strength_at(at, {frame[scale], frame[start], frame[end]}, /*place=*/0);
  if (strength == 0.0) return;
  batch.inputs[samples] = scaled(hints(frame, at.step, batch, strength).at(samples), strength);
}

void Control::check_fits(Checks& checks) const {
  const ZImageControlNetModel& network = checks[controlnet];
  const ZImageTransformer2DModel& model = checks[transformer];
  const std::string folder = path_text(checks.folder(controlnet)->folder);
  auto refuse = [&](const std::string& why) {
    checks.error({"components.controlnet", folder, why, "give one that was made for this model"});
  };
  const int64_t latents = checks[vae].latent_channels(), reads = network.control_channels();
  if (reads != latents && reads != channels_with_mask(latents))
    refuse(fmt::format("it reads {} channels, and a control image has {}, {} with a mask", reads,
                       latents, channels_with_mask(latents)));
  if (network.token_dim() != model.token_dim())
    refuse(fmt::format("its width of tokens is {}, and that of the model's transformer {}",
                       network.token_dim(), model.token_dim()));
  const auto blocks = static_cast<int64_t>(model.layers.size());
  const auto refiners = static_cast<int64_t>(model.noise_refiner.size());
  if (network.least_layers() > blocks || network.least_refiner_layers() > refiners)
    refuse(
        fmt::format("it hints to {} blocks and {} of the noise refiner, and the model's "
                    "transformer has {} and {}",
                    network.least_layers(), network.least_refiner_layers(), blocks, refiners));
}

void Control::check(Checks& checks) const {
  check_fits(checks);
  const size_t parts = checks.count_alike(controlnet);
  if (parts > 1) {
    checks.error({"components.controlnet_1", fmt::format("{} ControlNets", parts),
                  "Z-Image takes one, as in the reference", "leave one"});
    return;
  }
  blocks::check_parts(checks, scale, parts, -100, 100);
  blocks::check_parts(checks, start, parts, 0, 1);
  blocks::check_parts(checks, end, parts, 0, 1);
  blocks::check_preprocess(checks, preprocess, parts);
}

}  // namespace omnirt::z_image
