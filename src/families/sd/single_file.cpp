#include "families/sd/single_file.hpp"

#include <fmt/format.h>

#include "networks/autoencoder_kl/ldm_config.hpp"
#include "networks/clip_text_model/original_config.hpp"
#include "networks/unet_2d_condition_model/ldm_config.hpp"
#include "weights/original_weights.hpp"

namespace omnirt::families {
namespace {

const std::string unet_prefix = "model.diffusion_model.";
const std::string vae_prefix = "first_stage_model.";
const std::string clip_prefix = "cond_stage_model.transformer.";
const std::string open_clip_prefix = "cond_stage_model.model.";
const std::string turbo_prefix = "conditioner.embedders.0.model.";  // of SD Turbo, a 2.1
// The widths of the text encoders.
constexpr int64_t first_width = 768, second_width = 1024;

// The parts that a file holds; files without some of them are common.
struct Held {
  bool unet = false, averages = false, vae = false, text = false;
  // Enough to be a model and not a component of one.
  bool is_model() const { return unet || averages || (vae && text); }
};

// What distinguishes the variants.
struct Variant {
  Held held{};
  bool second = false;  // 2.x
  bool inpaint = false;
  bool velocity = false;
  bool zero_snr = false;
  // How the text encoder is laid out: "clip", "open_clip", "stacked_clip", in which
  // stable-diffusion.cpp writes 2.x's, or the network's own names.
  std::string text_layout = "clip";
  std::string text_prefix = clip_prefix;
  bool is_turbo() const { return text_prefix == turbo_prefix; }
  // The images' sides that it was trained on.
  int64_t side() const { return second && velocity ? 768 : 512; }
};

SingleFileDecision usual_prediction(const Variant& variant) {
  if (!variant.second) return {"prediction_type", "epsilon", "1.x models predict noise"};
  if (variant.inpaint) return {"prediction_type", "epsilon", "2.x inpainting models predict noise"};
  if (variant.is_turbo()) return {"prediction_type", "epsilon", "SD Turbo predicts noise"};
  return {"prediction_type", "v_prediction",
          "the file does not say; 2.x of 768 pixels, the published default, predicts velocity. For "
          "a base model of 512 pixels set config.scheduler_config.prediction_type=epsilon",
          /*doubtful=*/true};
}

Json scheduler_config(const Variant& variant) {
  const bool ddim = variant.velocity || (variant.inpaint && !variant.second);
  const char* name = variant.is_turbo() ? "EulerDiscreteScheduler"
                     : ddim             ? "DDIMScheduler"
                                        : "PNDMScheduler";
  Json config = {{"_class_name", name},
                 {"beta_start", 0.00085},
                 {"beta_end", 0.012},
                 {"beta_schedule", "scaled_linear"},
                 {"num_train_timesteps", 1000},
                 {"set_alpha_to_one", false},
                 {"steps_offset", 1},
                 {"prediction_type", variant.velocity ? "v_prediction" : "epsilon"}};
  if (variant.is_turbo()) {
    config.erase("set_alpha_to_one");
    config["timestep_spacing"] = "trailing";
    return config;
  }
  if (ddim) config["clip_sample"] = false;
  if (!ddim) config["skip_prk_steps"] = true;
  if (variant.zero_snr) {
    config["rescale_betas_zero_snr"] = true;
    config["timestep_spacing"] = "trailing";
  }
  return config;
}

// OpenCLIP's tokenizer pads with "!" (token 0), OpenAI's with the end.
Json tokenizer_config(bool open_clip) {
  auto token = [](const char* text) {
    return Json{{"__type", "AddedToken"}, {"content", text}, {"lstrip", false},
                {"normalized", true},     {"rstrip", false}, {"single_word", false}};
  };
  return {{"add_prefix_space", false},
          {"bos_token", token("<|startoftext|>")},
          {"do_lower_case", true},
          {"eos_token", token("<|endoftext|>")},
          {"errors", "replace"},
          {"model_max_length", 77},
          {"pad_token", open_clip ? "!" : "<|endoftext|>"},
          {"tokenizer_class", "CLIPTokenizer"},
          {"unk_token", token("<|endoftext|>")}};
}

Json index_of(const Variant& variant, const Json& scheduler) {
  return {{"_class_name",
           variant.inpaint ? "StableDiffusionInpaintPipeline" : "StableDiffusionPipeline"},
          {"feature_extractor", {nullptr, nullptr}},
          {"requires_safety_checker", false},
          {"safety_checker", {nullptr, nullptr}},
          {"scheduler", {"diffusers", scheduler.value("_class_name", "PNDMScheduler")}},
          {"text_encoder", {"transformers", "CLIPTextModel"}},
          {"tokenizer", {"transformers", "CLIPTokenizer"}},
          {"unet", {"diffusers", "UNet2DConditionModel"}},
          {"vae", {"diffusers", "AutoencoderKL"}}};
}

// The second-last layer's states are what 2.x was trained on; files of 24 layers hold the last one,
// too.
bool holds_last_layer(const TensorShapes& shapes) {
  return shapes.count(open_clip_prefix + "transformer.resblocks.") == 24 ||
         shapes.count(turbo_prefix + "transformer.resblocks.") == 24 ||
         shapes.count(clip_prefix + "text_model.encoder.layers.") == 24;
}

Json text_config(const SingleFileFacts& facts, const Variant& variant) {
  if (!variant.second) return clip_text_config(facts.shapes, clip_prefix);
  auto config =
      variant.text_layout == "open_clip" ? open_clip_text_config : renamed_open_clip_text_config;
  return config(facts.shapes, variant.text_prefix, holds_last_layer(facts.shapes));
}

SingleFileModel model_of(const SingleFileFacts& facts, Variant variant) {
  const Held& held = variant.held;
  variant.inpaint = held.unet && facts.shapes.size(unet_prefix + "input_blocks.0.0.weight", 1) == 9;
  SingleFileDecision prediction = prediction_type_of(facts, usual_prediction(variant));
  variant.velocity = prediction.value == "v_prediction";
  variant.zero_snr = variant.velocity && facts.shapes.has("ztsnr");
  Json unet = facts.config("unet", [&] {
    Json config = held.unet ? ldm_unet_config(facts.shapes, unet_prefix) : Json::object();
    config["sample_size"] = variant.side() / 8;
    if (variant.second && variant.velocity) config["upcast_attention"] = true;
    return config;
  });
  Json vae = facts.config("vae", [&] {
    Json config = held.vae ? ldm_autoencoder_config(facts.shapes, vae_prefix) : Json::object();
    config["sample_size"] = variant.side();
    config["scaling_factor"] = 0.18215;
    return config;
  });
  Json scheduler = facts.config("scheduler", [&] { return scheduler_config(variant); });
  Json text = facts.config("text_encoder", [&] {
    const char* activation = variant.second ? "gelu" : "quick_gelu";
    return held.text ? text_config(facts, variant) : Json::object({{"hidden_act", activation}});
  });
  Json tokenizer = facts.config("tokenizer", [&] { return tokenizer_config(variant.second); });
  bool second = variant.second;
  // A part without a layout is missing.
  auto layout = [](bool there, const std::string& name) { return there ? name : ""; };
  return {
      fmt::format("Stable Diffusion {}.x{}", second ? 2 : 1, variant.inpaint ? " inpainting" : ""),
      index_of(variant, scheduler),
      {{"scheduler", scheduler, "", ""},
       {"text_encoder", text, variant.text_prefix, layout(held.text, variant.text_layout)},
       {"tokenizer", tokenizer, "", ""},
       {"unet", unet, unet_prefix, layout(held.unet, "ldm")},
       {"vae", vae, vae_prefix, layout(held.vae, "ldm")}},
      {prediction}};
}

// XL's, whose text encoders are below "conditioner." or, in stable-diffusion.cpp's names, two;
// those of videos and of image prompts; Playground 2.5's. Most of them embed more than the time
// step.
bool is_of_another_kind(const TensorShapes& shapes) {
  const bool turbo = shapes.any(unet_prefix) && shapes.any(turbo_prefix);
  return shapes.has(unet_prefix + "label_emb.0.0.weight") ||
         (shapes.any("conditioner.") && !turbo) ||
         shapes.any("model_ema.diffusion_modellabel_emb") ||
         shapes.has("cond_stage_model.1.transformer.text_model.final_layer_norm.weight") ||
         shapes.any(unet_prefix + "input_blocks.1.0.time_stack.") || shapes.has("edm_mean");
}

// The text encoder of the file as a variant; its layout is empty where there is none.
Variant variant_of(const TensorShapes& shapes) {
  const std::string words = "embeddings.token_embedding.weight";
  if (shapes.has(open_clip_prefix + "token_embedding.weight"))
    return {.second = true, .text_layout = "open_clip", .text_prefix = open_clip_prefix};
  if (shapes.has(turbo_prefix + "token_embedding.weight"))
    return {.second = true, .text_layout = "open_clip", .text_prefix = turbo_prefix};
  if (shapes.has(clip_prefix + words)) return {.text_layout = own_names};
  if (!shapes.has(clip_prefix + "text_model." + words)) return {.text_layout = ""};
  if (shapes.has(clip_prefix + "text_model.encoder.layers.0.self_attn.in_proj.weight"))
    return {.second = true, .text_layout = "stacked_clip"};
  return {.second = shapes.size(clip_prefix + "text_model." + words, 1) == second_width};
}

// By the width of the text; by the projections of transformers, which are matrices in 2.x and
// convolutions in 1.x, where a small model has another width.
bool is_second_unet(const TensorShapes& shapes) {
  const int64_t context = ldm_unet_context(shapes, unet_prefix);
  if (context == first_width || context == second_width) return context == second_width;
  return ldm_unet_config(shapes, unet_prefix).value("use_linear_projection", false);
}

std::optional<SingleFileModel> recognise(const SingleFileFacts& facts) {
  const TensorShapes& shapes = facts.shapes;
  if (is_of_another_kind(shapes)) return std::nullopt;
  Variant variant = variant_of(shapes);
  variant.held = {.unet = shapes.has(unet_prefix + "input_blocks.0.0.weight"),
                  .averages = shapes.any("model_ema.diffusion_modelinput_blocks"),
                  .vae = shapes.has(vae_prefix + "decoder.conv_in.weight"),
                  .text = !variant.text_layout.empty()};
  if (!variant.held.is_model()) return std::nullopt;
  if (!variant.held.text && variant.held.unet) variant.second = is_second_unet(shapes);
  return model_of(facts, variant);
}

std::vector<SingleFileModel::Part> parts_of(const PipelineFolder& folder) {
  const ComponentFolder* text = folder.find("text_encoder");
  if (!folder.class_name.starts_with("StableDiffusion") || !text || folder.find("text_encoder_2"))
    return {};
  bool second = text->config.value("hidden_act", "quick_gelu") == "gelu";
  return {
      {"text_encoder", {}, second ? open_clip_prefix : clip_prefix, second ? "open_clip" : "clip"},
      {"unet", {}, unet_prefix, "ldm"},
      {"vae", {}, vae_prefix, "ldm"}};
}

}  // namespace

SingleFileKind sd_single_file() {
  return {"Stable Diffusion 1.x and 2.x", recognise, parts_of};
}

}  // namespace omnirt::families
