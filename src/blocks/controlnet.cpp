#include "blocks/controlnet.hpp"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "blocks/control_values.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "request/latent_grid.hpp"
#include "request/numbered.hpp"

namespace omnirt::blocks {
namespace {

constexpr const char* down_residuals = "down_block_additional_residuals";
constexpr const char* mid_residual = "mid_block_additional_residual";

// Guess mode: 0.1 at the finest residual to 1 at the mid block's, evenly in the exponent.
double guess_scale(size_t place, size_t count) {
  return std::pow(10.0, -1.0 + static_cast<double>(place) / static_cast<double>(count - 1));
}

Tensor pooled(const Tensor& x) {
  return x.mean(at::IntArrayRef{2, 3}, /*keepdim=*/true);
}

ControlNetInput input_of(const NamedTensors& in) {
  auto maybe = [&](const char* name) -> std::optional<Tensor> {
    auto it = in.find(name);
    return it == in.end() ? std::nullopt : std::optional(it->second);
  };
  return {in.at("sample"),          in.at("timestep"),    in.at("encoder_hidden_states"),
          in.at("controlnet_cond"), maybe("text_embeds"), maybe("time_ids")};
}

// x's rows at `rows` of `count`, zero in between.
Tensor spread(const Tensor& x, const std::vector<int64_t>& rows, int64_t count) {
  if (static_cast<int64_t>(rows.size()) == count) return x;
  std::vector<int64_t> shape = x.sizes().vec();
  shape[0] = count;
  return at::zeros(shape, x.options()).index_copy_(0, at::tensor(rows), x);
}

}  // namespace

ControlNet::ControlNet(size_t place)
    : StepBlock(numbered("controlnet", place), Stage::denoise_loop, Guidance::shared,
                has_component(numbered("controlnet", place))),
      controlnet(this, numbered("controlnet", place)),
      control_image(this, numbered("control_image", place),
                    "the image that components." + numbered("controlnet", place) + " reads"),
      pixels(this, numbered("control_pixels", place), "the control image", {"1", "K", "H", "W"}),
      place_(place) {}

void ControlNet::run(Frame& frame) const {
  frame[pixels] = control_pixels(frame[control_image], frame[controlnet].conditioning_channels(),
                                 frame[height], frame[width]);
}

double ControlNet::scale_at(Frame& frame, const LoopProgress& at) const {
  auto step = static_cast<double>(at.step), steps = static_cast<double>(at.steps);
  bool before = step / steps < part_of(frame[start], place_);
  bool after = (step + 1) / steps > part_of(frame[end], place_);
  return before || after ? 0.0 : part_of(frame[scale], place_);
}

// {rows, N}: the residuals as the network packs them.
Tensor ControlNet::predicted(Frame& frame, const LoopProgress& at, const RowBatch& batch,
                             const std::vector<int64_t>& rows) const {
  RowNames names;
  for (int64_t row : rows) names.push_back(batch.rows[static_cast<size_t>(row)]);
  auto chosen = [&](const char* name) {
    const Tensor& all = batch.inputs.at(name);
    bool some = rows.size() < batch.rows.size() && all.size(0) > 1;
    return some ? all.index_select(0, at::tensor(rows)) : all;
  };
  // Where the UNet takes more channels than the latents, those of inpainting follow them.
  NamedTensors inputs{{"sample", chosen("sample").narrow(1, 0, frame[controlnet].in_channels())},
                      {"timestep", chosen("timestep")},
                      {"encoder_hidden_states", chosen("encoder_hidden_states")},
                      {"controlnet_cond", frame[pixels]}};
  for (const char* name : {"text_embeds", "time_ids"}) {
    if (frame[controlnet].reads_text_time()) inputs[name] = chosen(name);
  }
  SharedStep step{.index = at.step};
  return frame.call(controlnet, std::move(inputs),
                    [&](const ControlNetModel& network, Context& cx, const NamedTensors& in) {
                      cx.enter_batch(names, step);
                      for (const char* constant : {"encoder_hidden_states", "controlnet_cond"})
                        cx.mark_constant(in.at(constant));
                      return network.packed(cx, input_of(in));
                    });
}

void ControlNet::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  double strength = scale_at(frame, at);
  if (strength == 0.0) return;
  const ControlNetModel& network = frame[controlnet];
  bool guess = frame[guess_mode] || network.global_pool_conditions();
  std::vector<int64_t> rows;
  for (size_t row = 0; row < batch.rows.size(); ++row) {
    // In guess mode the prediction without the prompt stays as it is.
    if (!guess || !is_condition(batch.rows[row], "uncond"))
      rows.push_back(static_cast<int64_t>(row));
  }
  if (rows.empty()) return;
  const Tensor& sample = batch.inputs.at("sample");
  auto shapes = network.residual_shapes(sample.size(2), sample.size(3));
  std::vector<Tensor> parts = unpacked(predicted(frame, at, batch, rows), shapes);
  auto count = static_cast<int64_t>(batch.rows.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    bool fading = guess && !network.global_pool_conditions();
    Tensor part = parts[i] * (fading ? guess_scale(i, parts.size()) * strength : strength);
    if (network.global_pool_conditions()) part = pooled(part);
    bool mid = i + 1 == parts.size();
    add_to_input(batch, mid ? mid_residual : nn::list_input(down_residuals, i),
                 spread(part, rows, count));
  }
}

void ControlNet::check(Proposal& proposal) const {
  if (!is_of_class(proposal, controlnet.name(), "ControlNetModel")) return;
  const auto& network = proposal.network<ControlNetModel>(controlnet.name());
  std::string field = "components." + controlnet.name();
  std::string folder = proposal.folder.find(controlnet.name())->folder.string();
  int64_t width_of_text = network.context_dim();
  int64_t wanted = proposal.network<UNet2DConditionModel>("unet").context_dim();
  if (width_of_text != wanted) {
    proposal.error({field, folder,
                    fmt::format("this is {} ControlNet (cross_attention_dim {}), and the model's "
                                "UNet has cross_attention_dim {}",
                                family_of_width(width_of_text), width_of_text, wanted),
                    "give one that was made for this model"});
  }
  int64_t channels = network.conditioning_channels();
  if (channels != 3 && channels != 1) {
    proposal.error(
        {field, folder,
         fmt::format("it takes control images of {} channels (conditioning_channels)", channels),
         "give one that takes images, of 3 channels or 1"});
  }
  size_t parts = count_components(proposal, "controlnet");
  if (place_ + 1 < parts) return;  // The last one looks at what all share.
  check_parts(proposal, keys::controlnet_conditioning_scale.name, parts, -100, 100);
  check_parts(proposal, keys::control_guidance_start.name, parts, 0, 1);
  check_parts(proposal, keys::control_guidance_end.name, parts, 0, 1);
}

void ControlNet::check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const {
  const auto& network = pipeline.get<ControlNetModel>(controlnet.name());
  const auto& unet = pipeline.get<UNet2DConditionModel>("unet");
  int64_t grid = pixels_per_latent(proposal);
  int64_t rows = proposal.config.get(keys::height) / grid;
  int64_t columns = proposal.config.get(keys::width) / grid;
  std::string field = "components." + controlnet.name();
  std::string folder = proposal.folder.find(controlnet.name())->folder.string();
  bool told = unet.add_embedding.has_value();
  if (network.reads_text_time() != told) {
    proposal.error({field, folder,
                    told ? "it was made for a model without SDXL's sizes and pooled embeddings"
                         : "this is an SDXL ControlNet (addition_embed_type text_time)",
                    "give one that was made for this model"});
  } else if (network.scale_factor() != grid) {
    proposal.error({field, folder,
                    fmt::format("it makes {} pixels one of its own, and the autoencoder {}",
                                network.scale_factor(), grid),
                    "give one that was made for this model"});
  } else if (network.in_channels() > unet.in_channels() ||
             network.residual_shapes(rows, columns) != unet.residual_shapes(rows, columns)) {
    proposal.error({field, folder,
                    "its layers are not those of the model's UNet: it was made for another model",
                    "give one that was made for this model"});
  }
}

}  // namespace omnirt::blocks
