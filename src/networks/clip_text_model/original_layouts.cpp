#include "networks/clip_text_model/original_layouts.hpp"

namespace omnirt {
namespace {

using Rules = std::vector<nn::LayoutRule>;

Rules projection_parts(const std::string& weight, const std::string& bias) {
  Rules made;
  size_t part = 0;
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    std::string from = name;
    made.push_back({from + ".weight", weight, nn::Form::rows, part, 3});
    made.push_back({from + ".bias", bias, nn::Form::rows, part++, 3});
  }
  return made;
}

// What follows a layer's number: ResidualAttentionBlock of open_clip.
Rules layer_rules() {
  return {{"layer_norm1", "ln_1"},
          {"layer_norm2", "ln_2"},
          {"mlp.fc1", "mlp.c_fc"},
          {"mlp.fc2", "mlp.c_proj"},
          {"self_attn", "attn", nn::Form::same, 0, 1,
           projection_parts("in_proj_weight", "in_proj_bias")}};
}

std::string below(const std::string& body, const std::string& name) {
  return body.empty() ? name : body + "." + name;
}

}  // namespace

nn::OriginalLayout clip_layout(const std::string& body) {
  return {"clip",
          {{"text_projection", "text_projection"},
           {below(body, "embeddings"), "text_model.embeddings"},
           {below(body, "encoder"), "text_model.encoder"},
           {below(body, "final_layer_norm"), "text_model.final_layer_norm"}},
          {"text_model.embeddings.position_ids", "logit_scale", "text_projection"}};
}

nn::OriginalLayout open_clip_layout(const std::string& body) {
  Rules layers{{"*", "*", nn::Form::same, 0, 1, layer_rules()}};
  return {"open_clip",
          {{"text_projection.weight", "text_projection", nn::Form::transposed},
           {below(body, "embeddings.position_embedding.weight"), "positional_embedding"},
           {below(body, "embeddings.token_embedding"), "token_embedding"},
           {below(body, "encoder.layers"), "transformer.resblocks", nn::Form::same, 0, 1, layers},
           {below(body, "final_layer_norm"), "ln_final"}},
          {"attn_mask", "logit_scale", "text_projection", "transformer.resblocks", "visual"}};
}

nn::OriginalLayout stacked_clip_layout(const std::string& body) {
  Rules attention{{"self_attn", "self_attn", nn::Form::same, 0, 1,
                   projection_parts("in_proj.weight", "in_proj.bias")}};
  Rules layers{{"*", "*", nn::Form::same, 0, 1, attention}};
  return {
      "stacked_clip",
      {{"text_projection.weight", "text_model.text_projection", nn::Form::transposed},
       {below(body, "embeddings"), "text_model.embeddings"},
       {below(body, "encoder.layers"), "text_model.encoder.layers", nn::Form::same, 0, 1, layers},
       {below(body, "final_layer_norm"), "text_model.final_layer_norm"}},
      {"text_model.embeddings.position_ids", "logit_scale", "text_model.text_projection",
       "text_model.encoder.layers"}};
}

}  // namespace omnirt
