#include "networks/ip_adapter/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double norm_eps = 1e-5;
constexpr int64_t head_dim = IPAdapterConfig::head_dim;
constexpr bool no_bias = false;

}  // namespace

FullImageProjection::Layers::Layers(Module* parent, const std::string& name,
                                    const IPAdapterConfig& config)
    : Module(parent, name),
      first(this, "0", config.image_embed_dim, config.hidden_dim),
      second(this, "2", config.hidden_dim, config.cross_attention_dim),
      norm(this, "3", config.cross_attention_dim, norm_eps) {}

FullImageProjection::FullImageProjection(Module* parent, const std::string& name,
                                         const IPAdapterConfig& config)
    : Module(parent, name), proj(this, "proj", config) {}

Tensor FullImageProjection::forward(Context& cx, const Tensor& states) const {
  Tensor h = proj.first.forward(cx, states, ops::Activation::gelu);
  return proj.norm.forward(cx, proj.second.forward(cx, h));
}

ResamplerLayer::PerceiverAttention::PerceiverAttention(Module* parent, const std::string& name,
                                                       const IPAdapterConfig& config)
    : Module(parent, name),
      norm1(this, "norm1", config.hidden_dim, norm_eps),
      norm2(this, "norm2", config.hidden_dim, norm_eps),
      to_q(this, "to_q", config.hidden_dim, config.inner_dim, no_bias),
      to_kv(this, "to_kv", config.hidden_dim, 2 * config.inner_dim, no_bias),
      to_out(this, "to_out", config.inner_dim, config.hidden_dim, no_bias) {}

Tensor ResamplerLayer::PerceiverAttention::forward(Context& cx, const Tensor& x,
                                                   const Tensor& latents) const {
  Tensor normed = norm2.forward(cx, latents);
  Tensor query = to_q.forward(cx, normed);
  Tensor both = to_kv.forward(cx, cx.ops().concat(cx, {norm1.forward(cx, x), normed}));
  auto halves = both.chunk(2, 2);
  Tensor key = halves[0].contiguous(), value = halves[1].contiguous();
  constexpr double scale = 0.125;  // 1 / sqrt(head_dim)
  Tensor y = cx.ops().attention(cx, {query, key, value, query.size(2) / head_dim, scale});
  return to_out.forward(cx, y, ops::Activation::none, &latents);
}

ResamplerLayer::Perceptron::Perceptron(Module* parent, const std::string& name,
                                       const IPAdapterConfig& config)
    : Module(parent, name),
      norm(this, "0", config.hidden_dim, norm_eps),
      first(this, "1", config.hidden_dim, config.feed_forward_dim, no_bias),
      second(this, "3", config.feed_forward_dim, config.hidden_dim, no_bias) {}

Tensor ResamplerLayer::Perceptron::forward(Context& cx, const Tensor& x) const {
  Tensor h = first.forward(cx, norm.forward(cx, x), ops::Activation::gelu);
  return second.forward(cx, h, ops::Activation::none, &x);
}

ResamplerLayer::ResamplerLayer(Module* parent, const std::string& name,
                               const IPAdapterConfig& config)
    : Module(parent, name), attention(this, "0", config), feed_forward(this, "1", config) {}

Tensor ResamplerLayer::forward(Context& cx, const Tensor& x, const Tensor& latents) const {
  return feed_forward.forward(cx, attention.forward(cx, x, latents));
}

Resampler::Resampler(Module* parent, const std::string& name, const IPAdapterConfig& config)
    : Module(parent, name),
      latents(param("latents", {1, config.num_tokens, config.hidden_dim})),
      proj_in(this, "proj_in", config.image_embed_dim, config.hidden_dim),
      layers(this, "layers"),
      proj_out(this, "proj_out", config.hidden_dim, config.cross_attention_dim),
      norm_out(this, "norm_out", config.cross_attention_dim, norm_eps) {
  own(latents);
  for (int64_t i = 0; i < config.depth; ++i) layers.add(config);
}

Tensor Resampler::forward(Context& cx, const Tensor& states) const {
  Tensor x = proj_in.forward(cx, states);
  // A parameter may be here in the file's type.
  Tensor h = cx[latents].to(cx.dtype()).expand({x.size(0), latents.shape[1], latents.shape[2]});
  h = h.contiguous();
  for (size_t i = 0; i < layers.size(); ++i) h = layers[i].forward(cx, x, h);
  return norm_out.forward(cx, proj_out.forward(cx, h));
}

ImagePromptLayer::ImagePromptLayer(Module* parent, const std::string& name, int64_t in, int64_t out)
    : Module(parent, name),
      to_k_ip(this, "to_k_ip", in, out, no_bias),
      to_v_ip(this, "to_v_ip", in, out, no_bias) {}

IPAdapter::IPAdapter(const IPAdapterConfig& config, Json json)
    : Network(std::move(json)), ip_adapter(this, "ip_adapter"), config_(config) {
  if (config.projection == "base")
    base.emplace(this, "image_proj",
                 nn::ImageProjection::Sizes{config.image_embed_dim, config.num_tokens,
                                            config.cross_attention_dim});
  else if (config.projection == "full")
    full.emplace(this, "image_proj", config);
  else
    plus.emplace(this, "image_proj", config);
  // Numbered as the UNet's attentions: those to the image itself are in between.
  for (size_t i = 0; i < config.layers.size(); ++i)
    ip_adapter.add_at(2 * i + 1, config.cross_attention_dim, config.layers[i]);
}

nn::Metadata IPAdapter::metadata() const {
  return nn::feature_metadata(*this, {.no_split_modules = {"IPAdapterPlusImageProjectionBlock"},
                                      .repeated_blocks = {"IPAdapterPlusImageProjectionBlock"}});
}

std::vector<nn::OriginalLayout> IPAdapter::original_layouts() const {
  // Published files are named as the network's parameters.
  return {{.name = "ip-adapter", .rules = {{.network = "", .original = ""}}}};
}

Tensor IPAdapter::tokens(Context& cx, const Tensor& image) const {
  Tensor x = nn::in_form(cx, image);
  if (base) return base->forward(cx, x);
  return full ? full->forward(cx, x) : plus->forward(cx, x);
}

IPAdapter::Output IPAdapter::forward(Context& cx, const Tensor& image) const {
  Tensor made = tokens(cx, image);
  Output output;
  for (size_t i = 0; i < ip_adapter.size(); ++i) {
    output.keys.push_back(ip_adapter[i].to_k_ip.forward(cx, made));
    output.values.push_back(ip_adapter[i].to_v_ip.forward(cx, made));
  }
  return output;
}

const nn::NetworkInfo& ip_adapter_info() {
  static const nn::NetworkInfo info{
      .class_name = "IPAdapter",
      .make = nn::network_of<IPAdapter, read_ip_adapter_config>,
      .summary = "an image's way into Stable Diffusion's attention, as a prompt",
      .weights_base = "ip_adapter",
      .role = "ip_adapter",
      .from_tensors = {"an IP-Adapter (whose tensors are named image_proj.* and ip_adapter.*)",
                       ip_adapter_config},
  };
  return info;
}

}  // namespace omnirt
