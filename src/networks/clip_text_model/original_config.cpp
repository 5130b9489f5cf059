#include "networks/clip_text_model/original_config.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace omnirt {
namespace {

constexpr int64_t head_width = 64;
constexpr int64_t width_of_v2 = 1024, width_of_xl = 1280;  // of OpenCLIP's encoders
constexpr const char* transformers_words = "text_model.embeddings.token_embedding.weight";

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
  // Files of 2022 that came from NovelAI's have no such part in their names.
  std::string body = shapes.any(prefix + "text_model.") ? prefix + "text_model." : prefix;
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

std::string clip_text_layout_of(const std::map<std::string, std::vector<int64_t>>& all) {
  if (all.contains("token_embedding.weight")) return "open_clip";
  const bool stacked = all.contains("text_model.encoder.layers.0.self_attn.in_proj.weight");
  return stacked ? "stacked_clip" : "";
}

Json clip_text_config_alone(const std::map<std::string, std::vector<int64_t>>& all,
                            const std::string&) {
  const TensorShapes shapes(all);
  const std::string layout = clip_text_layout_of(all);
  const std::string words = layout == "open_clip" ? "token_embedding.weight" : transformers_words;
  if (!shapes.has(words)) return {};
  // Stable Diffusion 2.x takes OpenCLIP's 24 layers but for the last.
  const char* layers =
      layout == "open_clip" ? "transformer.resblocks." : "text_model.encoder.layers.";
  const bool penultimate =
      !layout.empty() && shapes.size(words, 1) == width_of_v2 && shapes.count(layers) == 24;
  Json config = layout == "open_clip" ? open_clip_text_config(shapes, "", penultimate)
                : layout.empty()      ? clip_text_config(shapes, "")
                                      : renamed_open_clip_text_config(shapes, "", penultimate);
  // OpenCLIP's encoders of Stable Diffusion 2.x and XL, in transformers' names.
  const int64_t width = shapes.size(words, 1);
  if (width == width_of_v2 || width == width_of_xl) config["hidden_act"] = "gelu";
  if (shapes.has("text_projection.weight"))
    config["projection_dim"] = shapes.size("text_projection.weight", 0);
  config["_class_name"] = "CLIPTextModel";
  return config;
}

}  // namespace omnirt
