#include "networks/qwen_image_transformer_2d_model/from_tensors.hpp"

#include "base/error.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {

Json qwen_image_config_from_tensors(const std::map<std::string, std::vector<int64_t>>& all,
                                    const std::string& where) {
  const TensorShapes shapes(all);
  if (!shapes.has("transformer_blocks.0.img_mod.1.weight") || !shapes.has("txt_norm.weight"))
    return {};
  constexpr int64_t head_dim = 128, patch_area = 4;  // of all that were released
  int64_t dim = shapes.size("img_in.weight", 0);
  int64_t head = shapes.size("transformer_blocks.0.attn.norm_q.weight", 0);
  if (head != head_dim || dim % head_dim != 0) {
    throw Unsupported({where, std::to_string(head), "heads of another width than 128",
                       "give a folder with the model's config.json"});
  }
  const bool layered = shapes.has("time_text_embed.addition_t_embedding.weight");
  return {{"_class_name", "QwenImageTransformer2DModel"},
          {"in_channels", shapes.size("img_in.weight", 1)},
          {"out_channels", shapes.size("proj_out.weight", 0) / patch_area},
          {"num_layers", shapes.count("transformer_blocks.")},
          {"num_attention_heads", dim / head_dim},
          {"joint_attention_dim", shapes.size("txt_in.weight", 1)},
          // An empty tensor of this name marks files of Qwen-Image-Edit-2511 (ComfyUI's).
          {"zero_cond_t", shapes.has("__index_timestep_zero__")},
          // Only Qwen-Image-Layered's have the one, and it has the other.
          {"use_additional_t_cond", layered},
          {"use_layer3d_rope", layered}};
}

}  // namespace omnirt
