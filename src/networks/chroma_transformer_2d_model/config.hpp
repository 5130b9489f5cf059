#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/flux_transformer_2d_config.hpp"

namespace omnirt {

// config.json of ChromaTransformer2DModel; defaults are those of diffusers' class.
struct ChromaTransformer2DConfig {
  int64_t patch_size = 1;
  int64_t in_channels = 64;
  std::optional<int64_t> out_channels;
  int64_t num_layers = 19;
  int64_t num_single_layers = 38;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 24;
  int64_t joint_attention_dim = 4096;
  std::vector<int64_t> axes_dims_rope{16, 56, 56};
  int64_t approximator_num_channels = 64;
  int64_t approximator_hidden_dim = 5120;
  int64_t approximator_layers = 5;

  static void visit(auto& self, auto& v) {
    v("patch_size", self.patch_size);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("num_layers", self.num_layers);
    v("num_single_layers", self.num_single_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("joint_attention_dim", self.joint_attention_dim);
    v("axes_dims_rope", self.axes_dims_rope);
    v("approximator_num_channels", self.approximator_num_channels);
    v("approximator_hidden_dim", self.approximator_hidden_dim);
    v("approximator_layers", self.approximator_layers);
    v.only("quantization_config", {});
  }

  // Shift, scale and gate for each single block; the same for attention and perceptron of each
  // stream of a first block; shift and scale of the last norm.
  static constexpr int64_t of_single = 3, of_stream = 6, of_last = 2;
  int64_t modulations() const {
    return of_single * num_single_layers + 2 * of_stream * num_layers + of_last;
  }
  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  // What the blocks have in common with FLUX.1's.
  FluxTransformer2DConfig as_flux() const;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
ChromaTransformer2DConfig read_chroma_transformer_2d_config(const Json& json,
                                                            const std::string& where);

}  // namespace omnirt
