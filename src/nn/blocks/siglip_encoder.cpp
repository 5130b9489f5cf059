#include "nn/blocks/siglip_encoder.hpp"

namespace omnirt::nn {

WeightMap siglip_weight_map() {
  WeightMap map{.renames = {{"vision_model.", "", /*at_start=*/true}}, .ignored = {}};
  for (const char* name :
       {"probe", "attention.in_proj_weight", "attention.in_proj_bias", "attention.out_proj.weight",
        "attention.out_proj.bias", "layernorm.weight", "layernorm.bias", "mlp.fc1.weight",
        "mlp.fc1.bias", "mlp.fc2.weight", "mlp.fc2.bias"}) {
    map.ignored.push_back(std::string("head.") + name);
    map.ignored.push_back(std::string("vision_model.head.") + name);
  }
  return map;
}

}  // namespace omnirt::nn
