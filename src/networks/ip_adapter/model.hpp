#pragma once
#include <optional>

#include "networks/ip_adapter/config.hpp"
#include "nn/blocks/image_projection.hpp"
#include "nn/layers.hpp"
#include "nn/network.hpp"

namespace omnirt {

// Members of a Sequential without a class of its own are numbered; activations between them are
// not members here.

// Of the kind full: a perceptron over each token (diffusers embeddings.py
// IPAdapterFullImageProjection).
class FullImageProjection final : public nn::Module {
 public:
  FullImageProjection(Module* parent, const std::string& name, const IPAdapterConfig& config);
  const char* class_name() const override { return "IPAdapterFullImageProjection"; }
  // {B, T, image_embed_dim} -> {B, T, cross_attention_dim}.
  Tensor forward(Context& cx, const Tensor& states) const;

  struct Layers final : nn::Module {
    Layers(Module* parent, const std::string& name, const IPAdapterConfig& config);
    nn::Linear first, second;
    nn::LayerNorm norm;
  } proj;
};

// One layer of the resampler: latents attend to the image's tokens and to themselves, and go
// through a perceptron (diffusers embeddings.py IPAdapterPlusImageProjectionBlock).
class ResamplerLayer final : public nn::Module {
 public:
  ResamplerLayer(Module* parent, const std::string& name, const IPAdapterConfig& config);
  const char* class_name() const override { return "IPAdapterPlusImageProjectionBlock"; }
  // x {B, T, hidden_dim}, latents {B, num_tokens, hidden_dim}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& latents) const;

  struct PerceiverAttention final : nn::Module {
    PerceiverAttention(Module* parent, const std::string& name, const IPAdapterConfig& config);
    // attention + residual.
    Tensor forward(Context& cx, const Tensor& x, const Tensor& latents) const;
    nn::LayerNorm norm1, norm2;
    nn::Linear to_q, to_kv, to_out;
  } attention;
  struct Perceptron final : nn::Module {
    Perceptron(Module* parent, const std::string& name, const IPAdapterConfig& config);
    Tensor forward(Context& cx, const Tensor& x) const;
    nn::LayerNorm norm;
    nn::Linear first, second;
  } feed_forward;
};

// Of the kind plus (diffusers embeddings.py IPAdapterPlusImageProjection).
class Resampler final : public nn::Module {
 public:
  Resampler(Module* parent, const std::string& name, const IPAdapterConfig& config);
  const char* class_name() const override { return "IPAdapterPlusImageProjection"; }
  // {B, T, image_embed_dim} -> {B, num_tokens, cross_attention_dim}.
  Tensor forward(Context& cx, const Tensor& states) const;

  Param latents;  // {1, num_tokens, hidden_dim}
  nn::Linear proj_in;
  nn::ModuleList<ResamplerLayer> layers;
  nn::Linear proj_out;
  nn::LayerNorm norm_out;
};

// An image's keys and values for one of the UNet's attention layers.
class ImagePromptLayer final : public nn::Module {
 public:
  ImagePromptLayer(Module* parent, const std::string& name, int64_t in, int64_t out);

  nn::Linear to_k_ip, to_v_ip;
};

// An image as a prompt: makes tokens of an image encoder's output for it, and of these the keys and
// values that the UNet's attention layers attend to in addition to the text's (Ye et al. 2023,
// arXiv 2308.06721; diffusers loaders/ip_adapter.py).
//
// The reference puts these weights into the UNet's attention processors. Here they are a component
// of their own, which makes all keys and values once per run: they depend on nothing that a step
// changes. So the UNet's topology stays const and shared by all requests, whether they bring an
// image prompt or not, and the weights are leased, levelled and released as any network's.
class IPAdapter final : public nn::Network {
 public:
  IPAdapter(const IPAdapterConfig& config, Json json);
  const char* class_name() const override { return "IPAdapter"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // Whether it reads the image encoder's image_embeds {B, D}; else its penultimate states {B, T,
  // D}.
  bool reads_embeds() const { return base.has_value(); }
  int64_t image_embed_dim() const { return config_.image_embed_dim; }
  int64_t cross_attention_dim() const { return config_.cross_attention_dim; }
  const std::vector<int64_t>& layers() const { return config_.layers; }

  // {B, tokens, cross_attention_dim}.
  Tensor tokens(Context& cx, const Tensor& image) const;
  // Keys and values for each layer of the UNet, {B, tokens, width}.
  struct Output {
    std::vector<Tensor> keys, values;
  };
  Output forward(Context& cx, const Tensor& image) const;

  std::optional<nn::ImageProjection> base;
  std::optional<FullImageProjection> full;
  std::optional<Resampler> plus;
  nn::ModuleList<ImagePromptLayer> ip_adapter;

 private:
  IPAdapterConfig config_;
};

const nn::NetworkInfo& ip_adapter_info();

}  // namespace omnirt
