#include "families/flux/single_file.hpp"

#include "networks/autoencoder_kl/ldm_config.hpp"
#include "networks/clip_text_model/original_config.hpp"
#include "networks/flux_transformer_2d_model/original.hpp"
#include "networks/t5_encoder_model/from_tensors.hpp"
#include "weights/shapes_below.hpp"

namespace omnirt::flux {
namespace {

const std::string vae_prefix = "vae.";
const std::string clip_prefix = "text_encoders.clip_l.transformer.";
const std::string t5_prefix = "text_encoders.t5xxl.transformer.";
const std::string transformer_mark = "double_blocks.0.img_mod.lin.weight";

std::optional<std::string> transformer_prefix(const TensorShapes& shapes) {
  for (const std::string prefix : {"model.diffusion_model.", ""}) {
    if (shapes.has(prefix + transformer_mark) && shapes.has(prefix + "vector_in.in_layer.weight"))
      return prefix;
  }
  return std::nullopt;
}

// Of files of all parts in the original's names; else the part is missing.
std::string layout_if(bool there, const char* name) {
  return there ? name : "";
}

Json scheduler_config(bool guided) {
  return {{"_class_name", "FlowMatchEulerDiscreteScheduler"},
          {"base_image_seq_len", 256},
          {"base_shift", 0.5},
          {"max_image_seq_len", 4096},
          {"max_shift", 1.15},
          {"num_train_timesteps", 1000},
          {"shift", guided ? 3.0 : 1.0},
          {"use_dynamic_shifting", guided}};
}

Json tokenizer_config() {
  return {{"add_prefix_space", false},    {"bos_token", "<|startoftext|>"},
          {"do_lower_case", true},        {"eos_token", "<|endoftext|>"},
          {"errors", "replace"},          {"model_max_length", 77},
          {"pad_token", "<|endoftext|>"}, {"tokenizer_class", "CLIPTokenizer"},
          {"unk_token", "<|endoftext|>"}};
}

Json autoencoder_config(const TensorShapes& shapes, bool there) {
  Json config = there ? ldm_autoencoder_config(shapes, vae_prefix) : Json::object();
  config["sample_size"] = 1024;
  config["scaling_factor"] = 0.3611;
  config["shift_factor"] = 0.1159;
  if (!there) return config;
  config["use_quant_conv"] = shapes.has(vae_prefix + "quant_conv.weight");
  config["use_post_quant_conv"] = shapes.has(vae_prefix + "post_quant_conv.weight");
  return config;
}

// By how many channels the transformer reads: latents alone, with a control image, or with a masked
// image and its mask.
const char* pipeline_class(int64_t channels) {
  constexpr int64_t with_control = 128, with_mask = 384;
  if (channels == with_mask) return "FluxFillPipeline";
  return channels == with_control ? "FluxControlPipeline" : "FluxPipeline";
}

// A tokenizer for T5 does not come with this program.
Json index_of(const Json& transformer) {
  const Json channels = transformer.value("in_channels", Json(0));
  return {{"_class_name", pipeline_class(channels.is_number() ? channels.get<int64_t>() : 0)},
          {"scheduler", {"diffusers", "FlowMatchEulerDiscreteScheduler"}},
          {"text_encoder", {"transformers", "CLIPTextModel"}},
          {"text_encoder_2", {"transformers", "T5EncoderModel"}},
          {"tokenizer", {"transformers", "CLIPTokenizer"}},
          {"tokenizer_2", {"transformers", "T5TokenizerFast"}},
          {"transformer", {"diffusers", "FluxTransformer2DModel"}},
          {"vae", {"diffusers", "AutoencoderKL"}}};
}

std::optional<SingleFileModel> recognise(const SingleFileFacts& facts) {
  const TensorShapes& shapes = facts.shapes;
  const auto prefix = transformer_prefix(shapes);
  if (!prefix) return std::nullopt;
  const bool vae = shapes.has(vae_prefix + "decoder.conv_in.weight");
  const bool clip = shapes.has(clip_prefix + "text_model.embeddings.token_embedding.weight");
  const bool t5 = shapes.has(t5_prefix + "shared.weight");
  auto told = [&](const char* name, auto&& derive) { return facts.config(name, derive); };
  const Json transformer = told("transformer", [&] {
    return flux_original_config(shapes_below(shapes.all(), *prefix), "model.transformer");
  });
  const bool guided = shapes.any(*prefix + "guidance_in.");
  const Json text = told("text_encoder", [&] {
    return clip ? clip_text_config(shapes, clip_prefix) : Json::object();
  });
  const Json second_text = told("text_encoder_2", [&] {
    return t5 ? t5_config_from_tensors(shapes_below(shapes.all(), t5_prefix),
                                       "model.text_encoder_2")
              : Json::object();
  });
  return SingleFileModel{
      "FLUX.1",
      index_of(transformer),
      {{"scheduler", told("scheduler", [&] { return scheduler_config(guided); }), "", ""},
       {"text_encoder", text, clip_prefix, layout_if(clip, "clip")},
       {"text_encoder_2", second_text, t5_prefix, layout_if(t5, "transformers")},
       {"tokenizer", told("tokenizer", tokenizer_config), "", ""},
       {"transformer", transformer, *prefix, "flux"},
       {"vae", told("vae", [&] { return autoencoder_config(shapes, vae); }), vae_prefix,
        layout_if(vae, "ldm")}},
      {}};
}

std::vector<SingleFileModel::Part> parts_of(const PipelineFolder& folder) {
  const ComponentFolder* transformer = folder.find("transformer");
  if (!transformer || transformer->class_name != "FluxTransformer2DModel") return {};
  return {{"transformer", {}, "model.diffusion_model.", "flux"},
          {"vae", {}, vae_prefix, "ldm"},
          {"text_encoder", {}, clip_prefix, "clip"},
          {"text_encoder_2", {}, t5_prefix, "transformers"}};
}

}  // namespace

SingleFileKind single_file() {
  return {"FLUX.1", recognise, parts_of};
}

}  // namespace omnirt::flux
