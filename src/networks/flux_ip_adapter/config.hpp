#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// What an IP-Adapter of FLUX.1 is made of. Published files bring no config: it is inferred from the
// names and shapes of their tensors.
struct FluxIPAdapterConfig {
  int64_t image_embed_dim = 768;       // of what the image encoder returns
  int64_t cross_attention_dim = 4096;  // of the tokens
  int64_t num_tokens = 4;              // of an image
  int64_t num_layers = 19;             // of the transformer's blocks that keep text and image apart
  int64_t inner_dim = 3072;            // of their tokens

  static void visit(auto& self, auto& v) {
    v("image_embed_dim", self.image_embed_dim);
    v("cross_attention_dim", self.cross_attention_dim);
    v("num_tokens", self.num_tokens);
    v("num_layers", self.num_layers);
    v("inner_dim", self.inner_dim);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
FluxIPAdapterConfig read_flux_ip_adapter_config(const Json& json, const std::string& where);

// The config of a file of these tensors in XLabs' names, with its class's name; null for others.
Json flux_ip_adapter_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                            const std::string& where);

}  // namespace omnirt
