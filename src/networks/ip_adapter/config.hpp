#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// What an IP-Adapter is made of. Published files bring no config: it is inferred from the names and
// shapes of their tensors.
struct IPAdapterConfig {
  static constexpr int64_t head_dim = 64;  // of the resampler, in all that were published
  // base: tokens of the image's embedding; plus: a resampler over its patches (Alayrac et al.
  // 2022, arXiv 2204.14198); full: a perceptron for each patch.
  std::string projection = "base";
  int64_t image_embed_dim = 1024;     // of what the image encoder returns
  int64_t cross_attention_dim = 768;  // of the tokens
  int64_t num_tokens = 4;             // of an image; 0 for full: as many as it is given
  // Widths of the keys and values of each attention layer, in the order of the UNet's tree: down,
  // up, mid. The default is Stable Diffusion 1.x's.
  std::vector<int64_t> layers{320,  320, 640, 640, 1280, 1280, 1280, 1280,
                              1280, 640, 640, 640, 320,  320,  320,  1280};
  // plus
  int64_t hidden_dim = 768;
  int64_t inner_dim = 768;  // of the resampler's attention, 64 per head
  int64_t feed_forward_dim = 3072;
  int64_t depth = 4;

  static void visit(auto& self, auto& v) {
    v("projection", self.projection);
    v("image_embed_dim", self.image_embed_dim);
    v("cross_attention_dim", self.cross_attention_dim);
    v("num_tokens", self.num_tokens);
    v("layers", self.layers);
    v("hidden_dim", self.hidden_dim);
    v("inner_dim", self.inner_dim);
    v("feed_forward_dim", self.feed_forward_dim);
    v("depth", self.depth);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
IPAdapterConfig read_ip_adapter_config(const Json& json, const std::string& where);

// The config of a file that holds tensors of these shapes, with its class's name; null where they
// are none of an IP-Adapter. Throws Unsupported for kinds that are not implemented (FaceID), by
// name, and for files in which parts are missing.
Json ip_adapter_config(const std::map<std::string, std::vector<int64_t>>& shapes,
                       const std::string& where);

}  // namespace omnirt
