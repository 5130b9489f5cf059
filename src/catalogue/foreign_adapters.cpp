#include "catalogue/foreign_adapters.hpp"

namespace omnirt {

std::vector<AdapterFamily> foreign_adapters() {
  return {{.name = "FLUX",
           .ids = {},
           .marks = {{"denoiser:double_blocks_"},
                     {"denoiser:single_blocks_"},
                     {"denoiser:single_transformer_blocks_"}},
           .metadata = {"flux", "Flux"},
           .embedding_widths = {}},
          {.name = "Qwen-Image",
           .ids = {},
           .marks = {{"_img_mod_1"}, {"_txt_mod_1"}},
           .metadata = {"qwen"},
           .embedding_widths = {}},
          {.name = "Wan",
           .ids = {},
           .marks = {{"_cross_attn_k"}, {"_cross_attn_v"}},
           .metadata = {"wan"},
           .embedding_widths = {}},
          {.name = "AnimateDiff",
           .ids = {},
           .marks = {{"motion_modules_"}},
           .metadata = {},
           .embedding_widths = {}}};
}

}  // namespace omnirt
