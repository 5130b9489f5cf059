#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "nn/flux_transformer_2d_config.hpp"

namespace omnirt {

// config.json of FluxControlNetModel; defaults are those of diffusers' class. What it shares with
// the transformer whose blocks it copies is read into that one's config.
struct FluxControlNetConfig {
  FluxTransformer2DConfig transformer;
  std::optional<int64_t> num_mode;                         // of a union
  std::optional<int64_t> conditioning_embedding_channels;  // of one that reads pixels (XLabs')

  static void visit(auto& self, auto& v) {
    FluxTransformer2DConfig::visit(self.transformer, v);
    v("num_mode", self.num_mode);
    v("conditioning_embedding_channels", self.conditioning_embedding_channels);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
FluxControlNetConfig read_flux_controlnet_config(const Json& json, const std::string& where);

}  // namespace omnirt
