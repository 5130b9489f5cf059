#include "networks/flux_ip_adapter/config.hpp"

#include <fmt/format.h>

#include "nn/config_check.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

constexpr const char* xlabs_projection = "ip_adapter_proj_model.proj.weight";

// As the reference tells them (_convert_ip_adapter_image_proj_to_diffusers).
int64_t tokens_of_an_image(int64_t rows) {
  constexpr int64_t rows_of_16 = 65536;
  return rows == rows_of_16 ? 16 : 4;
}

}  // namespace

FluxIPAdapterConfig read_flux_ip_adapter_config(const Json& json, const std::string& where) {
  auto config = read_config<FluxIPAdapterConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("image_embed_dim", config.image_embed_dim, 1, 1 << 16);
  check.range("cross_attention_dim", config.cross_attention_dim, 1, 1 << 17);
  check.range("num_tokens", config.num_tokens, 1, 1 << 10);
  check.range("num_layers", config.num_layers, 1, 512);
  check.range("inner_dim", config.inner_dim, 1, 1 << 17);
  check.finish();
  return config;
}

Json flux_ip_adapter_config(const std::map<std::string, std::vector<int64_t>>& all,
                            const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has(xlabs_projection)) return {};
  const std::string first = "double_blocks.0.processor.ip_adapter_double_stream_k_proj.weight";
  if (!shapes.has(first))
    throw Unsupported({where, first, "it is missing", "download the file again"});
  const int64_t rows = shapes.size(xlabs_projection, 0), tokens = tokens_of_an_image(rows);
  if (rows % tokens != 0)
    throw Unsupported({where, std::to_string(rows), fmt::format("no {} tokens", tokens), ""});
  return {{"_class_name", "FluxIPAdapter"},
          {"image_embed_dim", shapes.size(xlabs_projection, 1)},
          {"cross_attention_dim", rows / tokens},
          {"num_tokens", tokens},
          {"num_layers", shapes.count("double_blocks.")},
          {"inner_dim", shapes.size(first, 0)}};
}

}  // namespace omnirt
