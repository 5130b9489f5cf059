#pragma once
#include <array>
#include <optional>

#include "nn/blocks/ada_layer_norm.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/layers.hpp"

// What PixArt's transformer and those after it make of latents, time, size and captions before
// their blocks.
namespace omnirt::nn {

struct PatchEmbedOptions {
  int64_t in_channels = 4;
  int64_t dim = 0;
  int64_t patch_size = 2;
  // Tokens a side that positions were trained on, and how much further apart they are than counted
  // ones; without the latter tokens have none.
  int64_t base_size = 0;
  std::optional<double> position_scale;
};

// Latents -> tokens, a patch each, with their positions (diffusers embeddings.py PatchEmbed).
class PatchEmbed final : public Module {
 public:
  PatchEmbed(Module* parent, const std::string& name, const PatchEmbedOptions& options);
  const char* class_name() const override { return "PatchEmbed"; }
  // {B, C, H, W} -> {B, H/patch * W/patch, D}.
  Tensor forward(Context& cx, const Tensor& latents) const;

  Conv2d proj;

 private:
  PatchEmbedOptions options_;
};

// Sines and cosines of numbers {B}, as embedded: {B, wave_width}.
inline constexpr int64_t wave_width = 256;
Tensor waves(Context& cx, const Tensor& numbers);

// The timestep, and the height, width and aspect ratio of the image.
struct ImageConditions {
  Tensor timestep;                     // {B}
  std::optional<Tensor> resolution;    // {B, 2}, pixels: height, width
  std::optional<Tensor> aspect_ratio;  // {B, 1}: height / width
};

// diffusers embeddings.py PixArtAlphaCombinedTimestepSizeEmbeddings.
class CombinedTimestepSizeEmbeddings final : public Module {
 public:
  CombinedTimestepSizeEmbeddings(Module* parent, const std::string& name, int64_t dim,
                                 bool takes_size);
  const char* class_name() const override { return "PixArtAlphaCombinedTimestepSizeEmbeddings"; }
  // {B, D}.
  Tensor forward(Context& cx, const ImageConditions& conditions) const;

  TimestepEmbedding timestep_embedder;
  std::optional<TimestepEmbedding> resolution_embedder, aspect_ratio_embedder;

 private:
  Tensor size_embedded(Context& cx, const ImageConditions& conditions) const;
};

// One adaptive layer norm for all blocks (Chen et al. 2023, arXiv 2310.00426, 2.3; diffusers
// normalization.py AdaLayerNormSingle).
class AdaLayerNormSingle final : public Module {
 public:
  AdaLayerNormSingle(Module* parent, const std::string& name, int64_t dim, bool takes_size);
  const char* class_name() const override { return "AdaLayerNormSingle"; }

  struct Result {
    Tensor modulation;  // {B, 6, D}: what the blocks add their tables to
    Tensor embedded;    // {B, 1, D}
  };
  Result forward(Context& cx, const ImageConditions& conditions) const;

  CombinedTimestepSizeEmbeddings emb;
  Linear linear;
};

// diffusers embeddings.py PixArtAlphaTextProjection.
class PixArtAlphaTextProjection final : public Module {
 public:
  PixArtAlphaTextProjection(Module* parent, const std::string& name, int64_t in, int64_t out);
  const char* class_name() const override { return "PixArtAlphaTextProjection"; }
  // {B, S, in} -> {B, S, out}.
  Tensor forward(Context& cx, const Tensor& caption) const;

  Linear linear_1, linear_2;
};

// By what the two modulated parts of a block are: AdaLayerNormSingle's modulation {B, 6, D} with
// the block's table {6, D} added.
std::array<Modulation, 2> modulations_by_table(Context& cx, const Tensor& modulation,
                                               const Tensor& table);

// norm(x) under a table of shift and scale {2, D} that the embedded time {B, 1, D} is added to: the
// last norm of such transformers.
Tensor normed_by_table(Context& cx, const LayerNorm& norm, const Tensor& x, const Tensor& table,
                       const Tensor& embedded);

}  // namespace omnirt::nn
