#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of ZImageTransformer2DModel; defaults are those of diffusers' class.
struct ZImageTransformer2DConfig {
  // Pixels of a latent that make up a token, a side: the reference's pipelines know no other.
  static constexpr int64_t patch_size = 2;

  int64_t in_channels = 16;
  int64_t dim = 3840;
  int64_t n_layers = 30;
  int64_t n_refiner_layers = 2;
  int64_t n_heads = 30;
  double norm_eps = 1e-5;
  bool qk_norm = true;
  int64_t cap_feat_dim = 2560;
  std::optional<int64_t> siglip_feat_dim;  // of Omni's
  double rope_theta = 256.0;
  double t_scale = 1000.0;
  std::vector<int64_t> axes_dims{32, 48, 48};
  std::vector<int64_t> axes_lens{1024, 512, 512};

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("dim", self.dim);
    v("n_layers", self.n_layers);
    v("n_refiner_layers", self.n_refiner_layers);
    v("n_heads", self.n_heads);
    v("norm_eps", self.norm_eps);
    v("qk_norm", self.qk_norm);
    v("cap_feat_dim", self.cap_feat_dim);
    v("siglip_feat_dim", self.siglip_feat_dim);
    v("rope_theta", self.rope_theta);
    v("t_scale", self.t_scale);
    v("axes_dims", self.axes_dims);
    v("axes_lens", self.axes_lens);
    v.only("all_patch_size", std::vector<Json>{Json::array({patch_size})});
    v.only("all_f_patch_size", std::vector<Json>{Json::array({1})});
    v.only("quantization_config", {});
    // The reference's attention has as many heads of keys as of queries, whatever this says.
    v.ignore({"n_kv_heads"});
  }

  int64_t head_dim() const { return dim / n_heads; }
  int64_t feed_forward_dim() const {
    return static_cast<int64_t>(static_cast<double>(dim) / 3 * 8);
  }
  // Width of the embedded timestep.
  int64_t modulation_dim() const { return std::min<int64_t>(dim, 256); }
  // Values of a token.
  int64_t patch_channels() const { return patch_size * patch_size * in_channels; }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
ZImageTransformer2DConfig read_z_image_transformer_2d_config(const Json& json,
                                                             const std::string& where);

}  // namespace omnirt
