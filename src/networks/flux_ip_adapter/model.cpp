#include "networks/flux_ip_adapter/model.hpp"

#include "nn/feature_metadata.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr const char* xlabs = "xlabs";

nn::LayoutRule xlabs_layers() {
  std::vector<nn::LayoutRule> within{
      {"to_k_ip", "processor.ip_adapter_double_stream_k_proj"},
      {"to_v_ip", "processor.ip_adapter_double_stream_v_proj"},
  };
  return {"ip_adapter",
          "double_blocks",
          nn::Form::same,
          0,
          1,
          {{"*", "*", nn::Form::same, 0, 1, std::move(within)}}};
}

}  // namespace

FluxImagePromptLayer::FluxImagePromptLayer(Module* parent, const std::string& name, int64_t in,
                                           int64_t out)
    : Module(parent, name), to_k_ip(this, "to_k_ip", in, out), to_v_ip(this, "to_v_ip", in, out) {}

FluxIPAdapter::FluxIPAdapter(const FluxIPAdapterConfig& config, Json json)
    : Network(std::move(json)),
      image_proj(this, "image_proj",
                 {config.image_embed_dim, config.num_tokens, config.cross_attention_dim}),
      ip_adapter(this, "ip_adapter"),
      config_(config) {
  for (int64_t i = 0; i < config.num_layers; ++i)
    ip_adapter.add(config.cross_attention_dim, config.inner_dim);
}

nn::Metadata FluxIPAdapter::metadata() const {
  return nn::feature_metadata(*this, {});
}

std::vector<nn::OriginalLayout> FluxIPAdapter::original_layouts() const {
  return {{xlabs, {{"image_proj", "ip_adapter_proj_model"}, xlabs_layers()}}};
}

FluxIPAdapter::Output FluxIPAdapter::forward(Context& cx, const Tensor& image_embeds) const {
  Tensor tokens = image_proj.forward(cx, nn::in_form(cx, image_embeds));
  Output output;
  for (size_t i = 0; i < ip_adapter.size(); ++i) {
    output.keys.push_back(ip_adapter[i].to_k_ip.forward(cx, tokens));
    output.values.push_back(ip_adapter[i].to_v_ip.forward(cx, tokens));
  }
  return output;
}

const nn::NetworkInfo& flux_ip_adapter_info() {
  static const nn::NetworkInfo info{
      .class_name = "FluxIPAdapter",
      .make = nn::network_of<FluxIPAdapter, read_flux_ip_adapter_config>,
      .summary = "an image's way into FLUX.1's attention, as a prompt",
      .weights_base = "ip_adapter",
      .role = "ip_adapter",
      .from_tensors = {.signs = "XLabs' IP-Adapter for FLUX.1 (ip_adapter_proj_model.*)",
                       .config = flux_ip_adapter_config,
                       .layout = [](const auto&) { return std::string(xlabs); }},
  };
  return info;
}

}  // namespace omnirt
