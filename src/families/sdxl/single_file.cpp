#include "families/sdxl/single_file.hpp"

#include <fmt/format.h>

#include "networks/autoencoder_kl/ldm_config.hpp"
#include "networks/clip_text_model/original_config.hpp"
#include "networks/unet_2d_condition_model/ldm_config.hpp"

namespace omnirt::families {
namespace {

const std::string unet_prefix = "model.diffusion_model.";
const std::string vae_prefix = "first_stage_model.";
const std::string clip_prefix = "conditioner.embedders.0.transformer.";
const std::string open_clip_prefix = "conditioner.embedders.1.model.";
const std::string refiner_prefix = "conditioner.embedders.0.model.";
// As stable-diffusion.cpp writes them.
const std::string renamed_clip_prefix = "cond_stage_model.transformer.";
const std::string renamed_open_clip_prefix = "cond_stage_model.1.transformer.";

// The parts that a file holds; files without some of them are common.
struct Held {
  bool unet = false, averages = false, vae = false, first_text = false, second_text = false;
  bool any_text() const { return first_text || second_text; }
  // Enough to be a model and not a component of one.
  bool is_model() const { return unet || averages || (vae && any_text()); }
};

struct Variant {
  Held held{};
  bool refiner = false;
  bool inpaint = false;
  // Of the second text encoder, OpenCLIP's.
  std::string second_prefix = open_clip_prefix, second_layout = "open_clip";
  std::string first_prefix = clip_prefix;
};

Json scheduler_config(const SingleFileFacts& facts, const std::string& prediction_type) {
  Json config = {{"_class_name", "EulerDiscreteScheduler"},
                 {"beta_start", 0.00085},
                 {"beta_end", 0.012},
                 {"beta_schedule", "scaled_linear"},
                 {"interpolation_type", "linear"},
                 {"num_train_timesteps", 1000},
                 {"prediction_type", prediction_type},
                 {"steps_offset", 1},
                 {"timestep_spacing", "leading"},
                 {"use_karras_sigmas", false}};
  if (prediction_type == "v_prediction" && facts.shapes.has("ztsnr"))
    config["rescale_betas_zero_snr"] = true;
  return config;
}

Json tokenizer_config(const char* pad) {
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

Json index_of(const Variant& variant) {
  const Json none = {nullptr, nullptr};
  Json index = {{"_class_name", variant.refiner   ? "StableDiffusionXLImg2ImgPipeline"
                                : variant.inpaint ? "StableDiffusionXLInpaintPipeline"
                                                  : "StableDiffusionXLPipeline"},
                {"force_zeros_for_empty_prompt", !variant.refiner},
                {"scheduler", {"diffusers", "EulerDiscreteScheduler"}},
                {"text_encoder", {"transformers", "CLIPTextModel"}},
                {"text_encoder_2", {"transformers", "CLIPTextModelWithProjection"}},
                {"tokenizer", {"transformers", "CLIPTokenizer"}},
                {"tokenizer_2", {"transformers", "CLIPTokenizer"}},
                {"unet", {"diffusers", "UNet2DConditionModel"}},
                {"vae", {"diffusers", "AutoencoderKL"}}};
  if (variant.refiner) {
    index["requires_aesthetics_score"] = true;
    index["text_encoder"] = index["tokenizer"] = none;
  }
  return index;
}

Json second_text_config(const SingleFileFacts& facts, const Variant& variant) {
  auto config_of =
      variant.second_layout == "open_clip" ? open_clip_text_config : renamed_open_clip_text_config;
  Json config = config_of(facts.shapes, variant.second_prefix, /*penultimate=*/false);
  config["architectures"] = {"CLIPTextModelWithProjection"};
  return config;
}

SingleFileModel model_of(const SingleFileFacts& facts, Variant variant) {
  const Held& held = variant.held;
  variant.inpaint = held.unet && facts.shapes.size(unet_prefix + "input_blocks.0.0.weight", 1) == 9;
  SingleFileDecision prediction = prediction_type_of(
      facts, {"prediction_type", "epsilon", "the file does not say; XL models predict noise"});
  Json unet = facts.config("unet", [&] {
    Json config = held.unet ? ldm_unet_config(facts.shapes, unet_prefix) : Json::object();
    config["sample_size"] = 128;
    return config;
  });
  Json vae = facts.config("vae", [&] {
    Json config = held.vae ? ldm_autoencoder_config(facts.shapes, vae_prefix) : Json::object();
    config["sample_size"] = 1024;
    config["scaling_factor"] = 0.13025;
    config["force_upcast"] = true;
    return config;
  });
  Json scheduler =
      facts.config("scheduler", [&] { return scheduler_config(facts, prediction.value); });
  Json second_text = facts.config("text_encoder_2", [&] {
    return held.second_text ? second_text_config(facts, variant)
                            : Json::object({{"hidden_act", "gelu"}});
  });
  Json second_tokenizer = facts.config("tokenizer_2", [] { return tokenizer_config("!"); });
  // A part without a layout is missing.
  auto layout = [](bool there, const std::string& name) { return there ? name : ""; };
  SingleFileModel model{fmt::format("Stable Diffusion XL{}{}", variant.refiner ? " refiner" : "",
                                    variant.inpaint ? " inpainting" : ""),
                        index_of(variant),
                        {{"scheduler", scheduler, "", ""},
                         {"text_encoder_2", second_text, variant.second_prefix,
                          layout(held.second_text, variant.second_layout)},
                         {"tokenizer_2", second_tokenizer, "", ""},
                         {"unet", unet, unet_prefix, layout(held.unet, "ldm")},
                         {"vae", vae, vae_prefix, layout(held.vae, "ldm")}},
                        {prediction}};
  if (variant.refiner) return model;
  const std::string& first = variant.first_prefix;
  Json text = facts.config("text_encoder", [&] {
    return held.first_text ? clip_text_config(facts.shapes, first) : Json::object();
  });
  Json tokenizer = facts.config("tokenizer", [] { return tokenizer_config("<|endoftext|>"); });
  model.parts.push_back({"text_encoder", text, first, layout(held.first_text, "clip")});
  model.parts.push_back({"tokenizer", tokenizer, "", ""});
  return model;
}

// A base model whose text encoders have the names of stable-diffusion.cpp. Its projection is taken
// in OpenCLIP's layout, which is what conversions of the published files hold.
std::optional<Variant> renamed_variant(const TensorShapes& shapes) {
  const std::string words = "text_model.embeddings.token_embedding.weight";
  const std::string stacked = "text_model.encoder.layers.0.self_attn.in_proj.weight";
  if (!shapes.has(renamed_clip_prefix + words) || !shapes.has(renamed_open_clip_prefix + stacked))
    return std::nullopt;
  return Variant{.second_prefix = renamed_open_clip_prefix,
                 .second_layout = "stacked_clip",
                 .first_prefix = renamed_clip_prefix};
}

constexpr int64_t width_of_refiner = 1280;  // of the text that its UNet reads; the base's is 2048

// Those of videos; Playground 2.5, which has XL's tensors and another noise schedule; those that
// are given embeddings of images, with 2.x's text encoder.
bool is_of_another_kind(const TensorShapes& shapes) {
  const bool embeds_no_sizes = shapes.has(unet_prefix + "input_blocks.0.0.weight") &&
                               !shapes.has(unet_prefix + "label_emb.0.0.weight");
  return shapes.any(unet_prefix + "input_blocks.1.0.time_stack.") || shapes.has("edm_mean") ||
         shapes.any("cond_stage_model.model.") || embeds_no_sizes;
}

bool is_xl(const TensorShapes& shapes) {
  return shapes.has(unet_prefix + "label_emb.0.0.weight") || shapes.any("conditioner.embedders.") ||
         shapes.any("model_ema.diffusion_modellabel_emb") ||
         shapes.has("cond_stage_model.1.transformer.text_model.final_layer_norm.weight");
}

std::optional<SingleFileModel> recognise(const SingleFileFacts& facts) {
  const TensorShapes& shapes = facts.shapes;
  if (!is_xl(shapes) || is_of_another_kind(shapes)) return std::nullopt;
  Variant variant = renamed_variant(shapes).value_or(Variant{});
  const bool refiner_text = shapes.has(refiner_prefix + "token_embedding.weight");
  Held held{.unet = shapes.has(unet_prefix + "input_blocks.0.0.weight"),
            .averages = shapes.any("model_ema.diffusion_modelinput_blocks"),
            .vae = shapes.has(vae_prefix + "decoder.conv_in.weight"),
            .first_text =
                shapes.has(variant.first_prefix + "text_model.embeddings.token_embedding.weight"),
            .second_text = variant.second_layout != "open_clip" ||
                           shapes.has(open_clip_prefix + "token_embedding.weight")};
  if (refiner_text && held.any_text()) return std::nullopt;
  variant.refiner = refiner_text || (held.unet && !held.any_text() &&
                                     ldm_unet_context(shapes, unet_prefix) == width_of_refiner);
  if (variant.refiner) {
    variant.second_prefix = refiner_prefix;
    held.second_text = refiner_text;
  }
  variant.held = held;
  return held.is_model() ? std::optional(model_of(facts, variant)) : std::nullopt;
}

std::vector<SingleFileModel::Part> parts_of(const PipelineFolder& folder) {
  if (!folder.class_name.starts_with("StableDiffusionXL") || !folder.find("text_encoder_2"))
    return {};
  bool base = folder.find("text_encoder") != nullptr;
  std::vector<SingleFileModel::Part> parts{
      {"text_encoder_2", {}, base ? open_clip_prefix : refiner_prefix, "open_clip"},
      {"unet", {}, unet_prefix, "ldm"},
      {"vae", {}, vae_prefix, "ldm"}};
  if (base) parts.push_back({"text_encoder", {}, clip_prefix, "clip"});
  return parts;
}

}  // namespace

SingleFileKind sdxl_single_file() {
  return {"Stable Diffusion XL base, refiner and inpainting", recognise, parts_of};
}

}  // namespace omnirt::families
