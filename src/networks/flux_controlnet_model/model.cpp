#include "networks/flux_controlnet_model/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"
#include "nn/patches.hpp"

namespace omnirt {
namespace {

constexpr const char* flux_samples = "controlnet_block_samples";
constexpr const char* flux_single_samples = "controlnet_single_block_samples";

// In the reference's code, not in the config.
nn::ControlEmbeddingOptions hint_options(int64_t out) {
  return {.in = 3, .channels = {16, 16, 16, 16}, .out = out};
}

}  // namespace

FluxControlNetModel::FluxControlNetModel(const FluxControlNetConfig& config, Json json)
    : ControlNetwork(std::move(json)),
      time_text_embed(this, "time_text_embed",
                      {.pooled = config.transformer.pooled_projection_dim,
                       .out = config.transformer.inner_dim(),
                       .guidance = config.transformer.guidance_embeds}),
      context_embedder(this, "context_embedder", config.transformer.joint_attention_dim,
                       config.transformer.inner_dim()),
      x_embedder(this, "x_embedder", config.transformer.in_channels,
                 config.transformer.inner_dim()),
      transformer_blocks(this, "transformer_blocks"),
      single_transformer_blocks(this, "single_transformer_blocks"),
      controlnet_blocks(this, "controlnet_blocks"),
      controlnet_single_blocks(this, "controlnet_single_blocks"),
      controlnet_x_embedder(this, "controlnet_x_embedder", config.transformer.in_channels,
                            config.transformer.inner_dim()),
      config_(config) {
  const FluxTransformer2DConfig& blocks = config.transformer;
  const int64_t dim = blocks.inner_dim();
  for (int64_t i = 0; i < blocks.num_layers; ++i) {
    transformer_blocks.add(blocks);
    controlnet_blocks.add(dim, dim);
  }
  for (int64_t i = 0; i < blocks.num_single_layers; ++i) {
    single_transformer_blocks.add(blocks);
    controlnet_single_blocks.add(dim, dim);
  }
  if (config.num_mode)
    controlnet_mode_embedder.emplace(this, "controlnet_mode_embedder", *config.num_mode, dim);
  if (config.conditioning_embedding_channels)
    input_hint_block.emplace(this, "input_hint_block",
                             hint_options(*config.conditioning_embedding_channels));
}

nn::Metadata FluxControlNetModel::metadata() const {
  return nn::feature_metadata(
      *this, {.no_split_modules = {"FluxTransformerBlock", "FluxSingleTransformerBlock"},
              .skip_layerwise_casting_patterns = {"norm"},
              .repeated_blocks = {"FluxTransformerBlock", "FluxSingleTransformerBlock"}});
}

// The control image as wide as the blocks are, {B or 1, L, D}: once per run.
Tensor FluxControlNetModel::condition(Context& cx, const Tensor& image) const {
  return cx.once(controlnet_x_embedder.path(), image, [&] {
    Tensor x = nn::in_form(cx, image);
    if (input_hint_block) x = input_hint_block->forward(cx, x);
    const int64_t side = input_hint_block ? config_.transformer.patch_size : nn::patch_side;
    return controlnet_x_embedder.forward(cx, nn::tokens_of(nn::packed_patches(x, side)));
  });
}

// A union's text begins with the kind of its control image.
Tensor FluxControlNetModel::text(Context& cx, const FluxControlInput& input) const {
  const Tensor& text = input.encoder_hidden_states;
  Tensor embedded = context_embedder.forward_once(cx, text);
  if (!controlnet_mode_embedder) return embedded;
  ensure(input.control_mode.has_value(), "a union ControlNet wants a mode");
  Tensor mode = controlnet_mode_embedder->forward(cx, *input.control_mode);
  Tensor of_each = mode.unsqueeze(0).expand({embedded.size(0), 1, embedded.size(2)});
  return cx.ops().concat(cx, {of_each, embedded});
}

Values FluxControlNetModel::through_blocks(Context& cx, nn::TokenStream streams,
                                           const nn::FluxContext& context) const {
  Values made;
  streams = nn::run_blocks(
      cx, transformer_blocks, {0, transformer_blocks.size()}, std::move(streams),
      [&](size_t i, const nn::TokenStream& x) {
        return transformer_blocks[i].forward(cx, x, context);
      },
      [&](size_t i, const nn::TokenStream& x) {
        made[flux_samples].emplace_back(controlnet_blocks[i].forward(cx, x.image));
      });
  if (single_transformer_blocks.empty()) return made;
  Tensor h = cx.ops().concat(cx, {streams.text, streams.image});
  const int64_t texts = streams.text.size(1), images = streams.image.size(1);
  streams = {};
  nn::run_blocks(
      cx, single_transformer_blocks, {0, single_transformer_blocks.size()}, std::move(h),
      [&](size_t i, const Tensor& x) {
        return single_transformer_blocks[i].forward(cx, x, context);
      },
      [&](size_t i, const Tensor& x) {
        Tensor image = x.narrow(1, texts, images);
        made[flux_single_samples].emplace_back(controlnet_single_blocks[i].forward(cx, image));
      });
  return made;
}

Values FluxControlNetModel::control(Context& cx, const Values& inputs) const {
  auto input = nn::fill_inputs<FluxControlInput>(cx, inputs);
  const int64_t rows = input.sample.size(0);
  Tensor latents = nn::packed_patches(input.sample);
  const int64_t height = latents.size(2), width = latents.size(3);
  Tensor x = x_embedder.forward(cx, nn::tokens_of(nn::in_form(cx, latents)));
  Tensor control = condition(cx, input.controlnet_cond);
  nn::TokenStream streams{.text = text(cx, input), .image = cx.ops().add(cx, {x, control})};
  Tensor timestep = input.timestep.to(at::kFloat).expand({rows});
  Tensor temb = time_text_embed.forward(cx, timestep, input.guidance ? &*input.guidance : nullptr,
                                        input.pooled_projections);
  nn::FluxContext context{.activated = cx.ops().activate(cx, {temb, ops::Activation::silu}),
                          .rotary = nn::flux_rotary(cx, config_.transformer.axes_dims_rope,
                                                    {.text = input.encoder_hidden_states,
                                                     .texts = streams.text.size(1),
                                                     .height = height,
                                                     .width = width})};
  return through_blocks(cx, std::move(streams), context);
}

std::vector<nn::NetworkInput> FluxControlNetModel::inputs() const {
  return nn::only_where(
      takes_guidance_scale(), {"guidance"},
      nn::only_where(modes().has_value(), {"control_mode"}, nn::input_names<FluxControlInput>()));
}

std::vector<nn::ControlNetwork::Residuals> FluxControlNetModel::residuals() const {
  const auto order = input_hint_block ? nn::ResidualOrder::repeated : nn::ResidualOrder::intervals;
  std::vector<Residuals> all;
  if (!controlnet_blocks.empty()) all.push_back({flux_samples, controlnet_blocks.size(), order});
  if (!controlnet_single_blocks.empty())
    all.push_back({flux_single_samples, controlnet_single_blocks.size()});
  return all;
}

int64_t FluxControlNetModel::pixels_per_token() const {
  return input_hint_block ? input_hint_block->scale() * config_.transformer.patch_size : 0;
}

const nn::NetworkInfo& flux_controlnet_model_info() {
  static const nn::NetworkInfo info{
      .class_name = "FluxControlNetModel",
      .make = nn::network_of<FluxControlNetModel, read_flux_controlnet_config>,
      .summary = "a control image's way into FLUX.1's transformer",
      .weights_base = "diffusion_pytorch_model",
      .role = "controlnet",
  };
  return info;
}

}  // namespace omnirt
