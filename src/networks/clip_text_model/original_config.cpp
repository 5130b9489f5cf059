#include "networks/clip_text_model/original_config.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

constexpr int64_t head_width = 64;

Json text_config(int64_t hidden, int64_t intermediate, int64_t layers, int64_t vocabulary,
                 int64_t positions, const std::string& where) {
  if (hidden % head_width != 0 || layers < 1) {
    throw Unsupported({where + "*", std::to_string(hidden),
                       "how many heads this width has does not follow from names and shapes",
                       "give config.single_file_config a folder with the model's config files"});
  }
  return {{"architectures", {"CLIPTextModel"}},
          {"attention_dropout", 0.0},
          {"bos_token_id", 0},
          {"eos_token_id", 2},
          {"hidden_act", "quick_gelu"},
          {"hidden_size", hidden},
          {"initializer_factor", 1.0},
          {"initializer_range", 0.02},
          {"intermediate_size", intermediate},
          {"layer_norm_eps", 1e-05},
          {"max_position_embeddings", positions},
          {"model_type", "clip_text_model"},
          {"num_attention_heads", hidden / head_width},
          {"num_hidden_layers", layers},
          {"pad_token_id", 1},
          {"projection_dim", hidden},
          {"vocab_size", vocabulary}};
}

}  // namespace

Json clip_text_config(const TensorShapes& shapes, const std::string& prefix) {
  std::string body = prefix + "text_model.";
  std::string words = body + "embeddings.token_embedding.weight";
  return text_config(shapes.size(words, 1),
                     shapes.size(body + "encoder.layers.0.mlp.fc1.weight", 0),
                     shapes.count(body + "encoder.layers."), shapes.size(words, 0),
                     shapes.size(body + "embeddings.position_embedding.weight", 0), prefix);
}

Json open_clip_text_config(const TensorShapes& shapes, const std::string& prefix,
                           bool penultimate) {
  std::string words = prefix + "token_embedding.weight";
  std::string layers = prefix + "transformer.resblocks.";
  int64_t count = shapes.count(layers) - (penultimate ? 1 : 0);
  Json config =
      text_config(shapes.size(words, 1), shapes.size(layers + "0.mlp.c_fc.weight", 0), count,
                  shapes.size(words, 0), shapes.size(prefix + "positional_embedding", 0), prefix);
  config["hidden_act"] = "gelu";
  if (shapes.has(prefix + "text_projection"))
    config["projection_dim"] = shapes.size(prefix + "text_projection", 1);
  return config;
}

Json renamed_open_clip_text_config(const TensorShapes& shapes, const std::string& prefix,
                                   bool penultimate) {
  Json config = clip_text_config(shapes, prefix);
  config["hidden_act"] = "gelu";
  if (penultimate) config["num_hidden_layers"] = config["num_hidden_layers"].get<int64_t>() - 1;
  const std::string projection = prefix + "text_model.text_projection";
  if (shapes.has(projection)) config["projection_dim"] = shapes.size(projection, 1);
  return config;
}

}  // namespace omnirt
