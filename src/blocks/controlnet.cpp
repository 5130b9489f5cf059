#include "blocks/controlnet.hpp"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "base/path_text.hpp"
#include "blocks/control_values.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::blocks {
namespace {

constexpr const char* down_residuals = "down_block_additional_residuals";
constexpr const char* mid_residual = "mid_block_additional_residual";

constexpr const char* hires_control = "hires_control_pixels";
constexpr const char* hires_control_help = "the control image at the second pass's size";
const std::vector<std::string> hires_control_shape{"1", "K", "H2", "W2"};

// Guess mode: 0.1 at the finest residual to 1 at the mid block's, evenly in the exponent.
double guess_scale(size_t place, size_t count) {
  return std::pow(10.0, -1.0 + static_cast<double>(place) / static_cast<double>(count - 1));
}

// Summed in the order of the planes, whatever the layout.
Tensor pooled(const Tensor& x) {
  return x.contiguous().mean(at::IntArrayRef{2, 3}, /*keepdim=*/true);
}

// The rows of a batch's input at `rows` of `count`.
Value input_rows(const Value& all, const std::vector<int64_t>& rows, size_t count) {
  bool whole = rows.size() == count || (all.rows().empty() && all.tensor().size(0) == 1);
  if (whole) return all;
  if (all.life() == Life::step) return all.tensor().index_select(0, at::tensor(rows));
  std::vector<int64_t> taken;
  for (int64_t row : rows)
    taken.push_back(all.rows().empty() ? row : all.rows()[static_cast<size_t>(row)]);
  return all.with_rows(std::move(taken));
}

// x's rows at `rows` of `count`, zero in between.
Tensor spread(const Tensor& x, const std::vector<int64_t>& rows, int64_t count) {
  if (static_cast<int64_t>(rows.size()) == count) return x;
  std::vector<int64_t> shape = x.sizes().vec();
  shape[0] = count;
  return at::zeros(shape, x.options()).index_copy_(0, at::tensor(rows).to(x.device()), x);
}

}  // namespace

ControlNet::ControlNet(size_t place)
    : StepBlock(numbered("controlnet", place), Stage::denoise_loop, Guidance::shared,
                has_component(numbered("controlnet", place))),
      controlnet(this, numbered("controlnet", place)),
      control_image(this, numbered("control_image", place),
                    "the image that components." + numbered("controlnet", place) + " reads"),
      hires_pixels(this, numbered(hires_control, place), hires_control_help, hires_control_shape),
      pixels(this, numbered("control_pixels", place), "the control image", {"1", "K", "H", "W"}),
      place_(place) {}

void ControlNet::run(Frame& frame) const {
  frame[pixels] =
      Value(control_pixels(frame[control_image], frame[controlnet].conditioning_channels(),
                           frame[height], frame[width], frame[image_fit],
                           preprocess_of(frame.maybe(preprocess), preprocess, place_)),
            Life::run);
}

// Where both passes have one size, both control images are the same.
const Value& ControlNet::pixels_for(Frame& frame, const RowBatch& batch) const {
  const auto sample = nn::LatentGrid::of(batch.inputs.at("sample").front().tensor());
  const auto of_first = nn::LatentGrid::of(frame[pixels].tensor());
  const int64_t side = frame[controlnet].scale_factor();
  const Value* of_second = frame[hires_pixels];
  bool first = !of_second ||
               (sample.height == of_first.height / side && sample.width == of_first.width / side);
  return first ? frame[pixels] : *of_second;
}

// The residuals of these rows, each {rows, C, H, W}, the mid block's last.
std::vector<Tensor> ControlNet::predicted(Frame& frame, const LoopProgress& at,
                                          const RowBatch& batch,
                                          const std::vector<int64_t>& rows) const {
  ComponentCall call{.variant = "", .body = {}, .step = {.index = at.step}};
  for (int64_t row : rows) call.rows.push_back(batch.rows[static_cast<size_t>(row)]);
  Values inputs{{"controlnet_cond", {pixels_for(frame, batch)}}};
  auto take = [&](const char* name) {
    inputs[name] = {input_rows(batch.inputs.at(name).front(), rows, batch.rows.size())};
  };
  for (const char* name : {"sample", "timestep", "encoder_hidden_states"}) take(name);
  if (frame[controlnet].reads_text_time()) {
    for (const char* name : {"text_embeds", "time_ids"}) take(name);
  }
  // Where the UNet takes more channels than the latents, those of inpainting follow them.
  Value& sample = inputs.at("sample").front();
  sample = sample.tensor().narrow(1, 0, frame[controlnet].in_channels());
  Values made = frame.call(
      controlnet, inputs,
      [](const ControlNetModel& network, Context& cx, const Values& in) {
        auto output = network.forward(cx, nn::fill_inputs<ControlNetInput>(cx, in));
        output.down_block_res_samples.push_back(output.mid_block_res_sample);
        return Values{{"residuals", listed(output.down_block_res_samples)}};
      },
      std::move(call));
  std::vector<Tensor> residuals;
  for (const Value& value : made.at("residuals")) residuals.push_back(value.tensor());
  return residuals;
}

void ControlNet::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  double strength = strength_at(at, {frame[scale], frame[start], frame[end]}, place_);
  if (strength == 0.0) return;
  const ControlNetModel& network = frame[controlnet];
  bool guess = frame[guess_mode] || network.global_pool_conditions();
  std::vector<int64_t> rows;
  for (size_t row = 0; row < batch.rows.size(); ++row) {
    // In guess mode the prediction without the prompt stays as it is.
    if (!guess || !batch.rows[row].negative) rows.push_back(static_cast<int64_t>(row));
  }
  if (rows.empty()) return;
  std::vector<Tensor> parts = predicted(frame, at, batch, rows);
  auto count = static_cast<int64_t>(batch.rows.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    bool fading = guess && !network.global_pool_conditions();
    Tensor part = parts[i] * (fading ? guess_scale(i, parts.size()) * strength : strength);
    parts[i] = spread(network.global_pool_conditions() ? pooled(part) : part, rows, count);
  }
  add_to_input(batch, mid_residual, {parts.back()});
  parts.pop_back();
  add_to_input(batch, down_residuals, parts);
}

void ControlNet::refuse(Checks& checks, const std::string& why) const {
  checks.error({"components." + controlnet.name(), path_text(checks.folder(controlnet)->folder),
                why, "give one that was made for this model"});
}

void ControlNet::check(Checks& checks) const {
  if (!is_of_class(checks, controlnet, "ControlNetModel")) return;
  const ControlNetModel& network = checks[controlnet];
  int64_t width_of_text = network.context_dim(), wanted = checks[unet].context_dim();
  if (width_of_text != wanted) {
    refuse(checks, fmt::format("this is {} ControlNet (cross_attention_dim {}), and the model's "
                               "UNet has cross_attention_dim {}",
                               family_of_width(width_of_text), width_of_text, wanted));
  }
  check_channels(checks, controlnet, network.conditioning_channels(), "conditioning_channels");
  size_t parts = checks.count_alike(controlnet);
  if (place_ + 1 < parts) return;  // The last one looks at what all share.
  check_parts(checks, scale, parts, -100, 100);
  check_parts(checks, start, parts, 0, 1);
  check_parts(checks, end, parts, 0, 1);
  check_preprocess(checks, preprocess, parts);
}

void ControlNet::check_loaded(Checks& checks) const {
  const ControlNetModel& network = checks[controlnet];
  const UNet2DConditionModel& other = checks[unet];
  const int64_t side = checks[vae].factors().side;
  const auto grid = checks[vae].grid(checks[width], checks[height]);
  bool told = other.add_embedding.has_value();
  if (network.reads_text_time() != told) {
    refuse(checks, told ? "it was made for a model without SDXL's sizes and pooled embeddings"
                        : "this is an SDXL ControlNet (addition_embed_type text_time)");
  } else if (network.scale_factor() != side) {
    refuse(checks, fmt::format("it makes {} pixels one of its own, and the autoencoder {}",
                               network.scale_factor(), side));
  } else if (network.in_channels() > other.in_channels() ||
             network.residual_shapes(grid.height, grid.width) !=
                 other.residual_shapes(grid.height, grid.width)) {
    refuse(checks, "its layers are not those of the model's UNet: it was made for another model");
  }
}

HiresControl::HiresControl(size_t place, const Trigger& hires)
    : Block(numbered("hires_control", place), Stage::denoise_loop, Guidance::shared,
            hires && has_component(numbered("controlnet", place))),
      controlnet(this, numbered("controlnet", place)),
      control_image(this, numbered("control_image", place),
                    "the image that components." + numbered("controlnet", place) + " reads"),
      hires_pixels(this, numbered(hires_control, place), hires_control_help, hires_control_shape),
      place_(place) {}

void HiresControl::run(Frame& frame) const {
  frame[hires_pixels] =
      Value(control_pixels(frame[control_image], frame[controlnet].conditioning_channels(),
                           frame[hires_height], frame[hires_width], frame[image_fit],
                           preprocess_of(frame.maybe(preprocess), preprocess, place_)),
            Life::run);
}

}  // namespace omnirt::blocks
