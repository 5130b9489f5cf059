#include "families/sd3/single_file.hpp"

#include "networks/autoencoder_kl/ldm_config.hpp"
#include "networks/clip_text_model/original_config.hpp"
#include "networks/sd3_transformer_2d_model/original.hpp"
#include "networks/t5_encoder_model/from_tensors.hpp"
#include "weights/shapes_below.hpp"

namespace omnirt::sd3 {
namespace {

const std::string transformer_prefix = "model.diffusion_model.";
const std::string vae_prefix = "first_stage_model.";
const std::string clip_l_prefix = "text_encoders.clip_l.transformer.";
const std::string clip_g_prefix = "text_encoders.clip_g.transformer.";
const std::string t5_prefix = "text_encoders.t5xxl.transformer.";
const std::string clip_words = "text_model.embeddings.token_embedding.weight";

bool has_t5(const TensorShapes& shapes) {
  return shapes.has(t5_prefix + "shared.weight");
}

bool is_projected(const TensorShapes& shapes, const std::string& prefix) {
  return shapes.has(prefix + "text_projection.weight");
}

// A projection that a file of the encoder leaves out is the identity: what is pooled is taken as it
// is.
const char* clip_class(const TensorShapes& shapes, const std::string& prefix) {
  const bool missing = !shapes.has(prefix + clip_words);
  return missing || is_projected(shapes, prefix) ? "CLIPTextModelWithProjection" : "CLIPTextModel";
}

Json clip_config(const TensorShapes& shapes, const std::string& prefix, const char* activation) {
  if (!shapes.has(prefix + clip_words)) return Json::object({{"hidden_act", activation}});
  Json config = clip_text_config(shapes, prefix);
  config["architectures"] = {clip_class(shapes, prefix)};
  config["hidden_act"] = activation;
  if (is_projected(shapes, prefix))
    config["projection_dim"] = shapes.size(prefix + "text_projection.weight", 0);
  return config;
}

Json clip_tokenizer(const char* pad) {
  return {{"add_prefix_space", false},
          {"bos_token", "<|startoftext|>"},
          {"do_lower_case", true},
          {"eos_token", "<|endoftext|>"},
          {"errors", "replace"},
          {"model_max_length", 77},
          {"pad_token", pad},
          {"tokenizer_class", "CLIPTokenizer"},
          {"unk_token", "<|endoftext|>"}};
}

Json autoencoder_config(const TensorShapes& shapes) {
  const bool there = shapes.has(vae_prefix + "decoder.conv_in.weight");
  Json config = there ? ldm_autoencoder_config(shapes, vae_prefix) : Json::object();
  config["sample_size"] = 1024;
  config["scaling_factor"] = 1.5305;
  config["shift_factor"] = 0.0609;
  if (!there) return config;
  config["use_quant_conv"] = shapes.has(vae_prefix + "quant_conv.weight");
  config["use_post_quant_conv"] = shapes.has(vae_prefix + "post_quant_conv.weight");
  return config;
}

Json index_of(const TensorShapes& shapes) {
  const Json none = {nullptr, nullptr};
  Json index = {{"_class_name", "StableDiffusion3Pipeline"},
                {"feature_extractor", none},
                {"image_encoder", none},
                {"scheduler", {"diffusers", "FlowMatchEulerDiscreteScheduler"}},
                {"text_encoder", {"transformers", clip_class(shapes, clip_l_prefix)}},
                {"text_encoder_2", {"transformers", clip_class(shapes, clip_g_prefix)}},
                {"text_encoder_3", none},
                {"tokenizer", {"transformers", "CLIPTokenizer"}},
                {"tokenizer_2", {"transformers", "CLIPTokenizer"}},
                {"tokenizer_3", none},
                {"transformer", {"diffusers", "SD3Transformer2DModel"}},
                {"vae", {"diffusers", "AutoencoderKL"}}};
  if (has_t5(shapes)) index["text_encoder_3"] = {"transformers", "T5EncoderModel"};
  return index;
}

std::optional<SingleFileModel> recognise(const SingleFileFacts& facts) {
  const TensorShapes& shapes = facts.shapes;
  if (!shapes.has(transformer_prefix + "joint_blocks.0.x_block.attn.qkv.weight"))
    return std::nullopt;
  // A part without a layout is missing: files without text encoders are published, too.
  auto layout = [&](const std::string& name, const char* there) {
    return shapes.has(name) ? there : "";
  };
  Json scheduler = {{"_class_name", "FlowMatchEulerDiscreteScheduler"},
                    {"num_train_timesteps", 1000},
                    {"shift", 3.0}};
  auto told = [&](const char* name, auto&& derive) { return facts.config(name, derive); };
  SingleFileModel model{
      "Stable Diffusion 3",
      index_of(shapes),
      {{"scheduler", told("scheduler", [&] { return scheduler; }), "", ""},
       {"transformer",
        told("transformer",
             [&] {
               auto inside = shapes_below(shapes.all(), transformer_prefix);
               return sd3_original_config(inside, "model.transformer");
             }),
        transformer_prefix, "sd3"},
       {"vae", told("vae", [&] { return autoencoder_config(shapes); }), vae_prefix,
        layout(vae_prefix + "decoder.conv_in.weight", "ldm")},
       {"text_encoder",
        told("text_encoder", [&] { return clip_config(shapes, clip_l_prefix, "quick_gelu"); }),
        clip_l_prefix, layout(clip_l_prefix + clip_words, "clip")},
       {"text_encoder_2",
        told("text_encoder_2", [&] { return clip_config(shapes, clip_g_prefix, "gelu"); }),
        clip_g_prefix, layout(clip_g_prefix + clip_words, "clip")},
       {"tokenizer", told("tokenizer", [] { return clip_tokenizer("<|endoftext|>"); }), "", ""},
       {"tokenizer_2", told("tokenizer_2", [] { return clip_tokenizer("!"); }), "", ""}},
      {}};
  if (!has_t5(shapes)) return model;
  Json t5 = told("text_encoder_3", [&] {
    return t5_config_from_tensors(shapes_below(shapes.all(), t5_prefix), "model.text_encoder_3");
  });
  model.parts.push_back({"text_encoder_3", t5, t5_prefix, "transformers"});
  return model;
}

std::vector<SingleFileModel::Part> parts_of(const PipelineFolder& folder) {
  if (!folder.class_name.starts_with("StableDiffusion3")) return {};
  std::vector<SingleFileModel::Part> parts{{"transformer", {}, transformer_prefix, "sd3"},
                                           {"vae", {}, vae_prefix, "ldm"},
                                           {"text_encoder", {}, clip_l_prefix, "clip"},
                                           {"text_encoder_2", {}, clip_g_prefix, "clip"}};
  if (folder.find("text_encoder_3"))
    parts.push_back({"text_encoder_3", {}, t5_prefix, "transformers"});
  return parts;
}

}  // namespace

SingleFileKind single_file() {
  return {"Stable Diffusion 3 and 3.5", recognise, parts_of};
}

}  // namespace omnirt::sd3
