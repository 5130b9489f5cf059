#pragma once
#include <optional>
#include <string>
#include <vector>

#include "nn/z_image_transformer_2d_config.hpp"

namespace omnirt {

// Which of a ControlNet's blocks look at the image before the noise refiner, and hint to that.
enum class ZImageControlRefiner {
  none,            // none: the control image has a refiner of its own (Union 1.0)
  control_layers,  // those that hint to the transformer's blocks (Union 2.0)
  its_own          // blocks of its own (Union 2.1)
};

// config.json of ZImageControlNetModel; defaults are those of diffusers' class.
struct ZImageControlNetConfig {
  ZImageTransformer2DConfig blocks;  // what all blocks are made by
  std::vector<int64_t> control_layers_places;
  std::optional<std::vector<int64_t>> control_refiner_layers_places;
  int64_t control_in_dim = 0;
  std::optional<std::string> add_control_noise_refiner;

  static void visit(auto& self, auto& v) {
    v("control_layers_places", self.control_layers_places);
    v("control_refiner_layers_places", self.control_refiner_layers_places);
    v("control_in_dim", self.control_in_dim);
    v("add_control_noise_refiner", self.add_control_noise_refiner);
    v("dim", self.blocks.dim);
    v("n_refiner_layers", self.blocks.n_refiner_layers);
    v("n_heads", self.blocks.n_heads);
    v("norm_eps", self.blocks.norm_eps);
    v("qk_norm", self.blocks.qk_norm);
    v.only("all_patch_size", std::vector<Json>{Json::array({self.blocks.patch_size})});
    v.only("all_f_patch_size", std::vector<Json>{Json::array({1})});
    v.only("quantization_config", {});
    v.ignore({"n_kv_heads"});  // as the transformer does
  }

  ZImageControlRefiner refiner() const;
  // Where hints of the noise refiner go; none where it gets none.
  std::vector<int64_t> refiner_places() const;
  int64_t patch_channels() const { return blocks.patch_size * blocks.patch_size * control_in_dim; }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
ZImageControlNetConfig read_z_image_controlnet_config(const Json& json, const std::string& where);

}  // namespace omnirt
