#pragma once
#include <optional>

#include "nn/blocks/image_prompts.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/blocks/unet_2d_blocks.hpp"
#include "nn/denoiser_network.hpp"
#include "nn/unet_2d_config.hpp"

namespace omnirt {

struct UNetInput {
  Tensor sample;                           // {B, C, H, W}
  Tensor timestep;                         // {B} or {1}; may be fractional
  nn::DistinctRows encoder_hidden_states;  // {B, T, D}
  std::optional<Tensor> timestep_cond;     // {B, time_cond_proj_dim}
  // Of addition_embed_type text_time: {B, P}, and {B, N}, where P and N addition_time_embed_dims
  // together are projection_class_embeddings_input_dim.
  std::optional<Tensor> text_embeds{};
  std::optional<Tensor> time_ids{};
  // Texts for parts of the image, {B, E, T, D}, and what each token takes of them, {B, 1 + E, N}
  // (nn::AttentionContext::entity_weights{}; the largest grid is the sample's).
  std::optional<Tensor> entity_hidden_states{};
  std::optional<Tensor> entity_weights{};
  // What ControlNets add: to each skip connection, in the order in which the down path makes them,
  // and to what leaves the mid block; of their shapes, or {B, C, 1, 1}.
  std::vector<Tensor> down_block_additional_residuals{};
  std::optional<Tensor> mid_block_additional_residual{};
  // What T2I-Adapters add at the end of each down block (and, one more, of the mid block), of the
  // shapes there.
  std::vector<Tensor> down_intrablock_additional_residuals{};
  // Image prompts: for each the keys and values {B, tokens, width} of all image_prompt_sites, and
  // masks {1, T, 1} for each level from the top; all {1, 1, 1} where the prompt holds everywhere.
  std::vector<Tensor> ip_adapter_keys{}, ip_adapter_values{}, ip_adapter_masks{};

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("timestep_cond", self.timestep_cond);
    v("text_embeds", self.text_embeds);
    v("time_ids", self.time_ids);
    v("entity_hidden_states", self.entity_hidden_states);
    v("entity_weights", self.entity_weights);
    v("down_block_additional_residuals", self.down_block_additional_residuals);
    v("mid_block_additional_residual", self.mid_block_additional_residual);
    v("down_intrablock_additional_residuals", self.down_intrablock_additional_residuals);
    v("ip_adapter_keys", self.ip_adapter_keys);
    v("ip_adapter_values", self.ip_adapter_values);
    v("ip_adapter_masks", self.ip_adapter_masks);
  }
};

// An attention layer that image prompts take part in.
struct ImagePromptSite {
  std::string path;  // "down_blocks.0.attentions.0.transformer_blocks.0.attn2"
  int64_t width = 0;
  int64_t context_dim = 0;
  size_t level = 0;  // how often the image was halved there
};

// The denoising network of Stable Diffusion (Rombach et al. 2021, arXiv 2112.10752; XL: Podell et
// al. 2023, arXiv 2307.01952; diffusers unet_2d_condition.py).
class UNet2DConditionModel final : public nn::DenoiserNetwork {
 public:
  UNet2DConditionModel(const UNet2DConditionConfig& config, Json json);
  const char* class_name() const override { return "UNet2DConditionModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;
  nn::AdapterNames adapter_names() const override;

  // {B, out_channels, H, W}. Sizes need not be multiples of the downsampling.
  Tensor forward(Context& cx, const UNetInput& input) const;
  Tensor predict(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override;

  // {C, H, W} of each residual that a ControlNet adds for latents of this size: to the skip
  // connections, and to what leaves the mid block.
  std::vector<std::array<int64_t, 3>> residual_shapes(int64_t height, int64_t width) const;
  // {C, H, W} of each feature that a T2I-Adapter may add: at the down blocks, and the mid block's.
  std::vector<std::array<int64_t, 3>> adapter_shapes(int64_t height, int64_t width) const;

  // The attentions to the text, in the order in which adapters number them: down, up, mid.
  std::vector<ImagePromptSite> image_prompt_sites() const;
  // {H, W} of the image at each level, for latents of this size.
  std::vector<std::array<int64_t, 2>> level_sizes(int64_t height, int64_t width) const;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.out_channels; }
  std::array<int64_t, 2> sample_size() const override;
  int64_t context_dim() const override;
  std::optional<int64_t> time_cond_dim() const override { return config_.time_cond_proj_dim; }
  // Of UNets with add_embedding: the width of one embedded number, and of all that it takes.
  int64_t added_number_dim() const { return config_.addition_time_embed_dim.value_or(0); }
  int64_t added_dim() const { return config_.projection_class_embeddings_input_dim.value_or(0); }
  size_t cache_branches() const override { return skip_connections(); }

  nn::Conv2d conv_in;
  nn::TimestepEmbedding time_embedding;
  std::optional<nn::TimestepEmbedding> add_embedding;
  nn::ModuleList<nn::UNetDownBlock2D> down_blocks;
  nn::ModuleList<nn::UNetUpBlock2D> up_blocks;
  std::optional<nn::UNetMidBlock2D> mid_block;
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;

 private:
  // The down path through the layers, each of which makes a skip connection, and the up path, where
  // each takes one.
  struct Walk {
    Tensor x;
    Tensor temb;
    nn::AttentionContext context;
    std::vector<Tensor> skips;
    const UNetInput& input;
  };
  // A layer of the down or up path: its block, and its index there.
  struct LayerPlace {
    size_t block, layer;
  };
  template <class Blocks>
  static std::vector<LayerPlace> places_of(const Blocks& blocks) {
    std::vector<LayerPlace> places;
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t layer = 0; layer < blocks[i].layers(); ++layer) places.push_back({i, layer});
    }
    return places;
  }
  void add_blocks();
  size_t skip_connections() const;
  // Continues the walk until there are `to` skip connections.
  void descend(Context& cx, Walk& walk, size_t to) const;
  nn::ImagePrompts image_prompts(Context& cx, const UNetInput& input) const;
  void add_skip(Context& cx, Walk& walk) const;
  Tensor middle(Context& cx, const Walk& walk) const;
  // Until `to` are left.
  void ascend(Context& cx, Walk& walk, size_t to) const;
  nn::AttentionContext attended(Context& cx, const UNetInput& input) const;
  // {B, temb}, activated: every resnet of the tree takes the same.
  Tensor time_embedded(Context& cx, const UNetInput& input) const;
  void check_added(const UNetInput& input) const;

  UNet2DConditionConfig config_;
  ops::Activation activation_;
  // Each layer down makes a skip connection, and each up takes one.
  std::vector<LayerPlace> down_layers_, up_layers_;
};

const nn::NetworkInfo& unet_2d_condition_model_info();

}  // namespace omnirt
