#include "catalogue/plain_models.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <fstream>
#include <memory>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "io/gguf_writer.hpp"
#include "io/temp_folder.hpp"
#include "small_models.hpp"
#include "weights/original_weights.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

// A component of a plain model: its config, and where files of one kind have it.
struct Part {
  std::string component, class_name, prefix, layout;
  Json config;
};

struct Recipe {
  Json index;
  std::vector<Part> parts;
  std::map<std::string, Json> tokenizers;  // CLIP's, by component
  Json scheduler;
};

// From -8 to 8 64ths; 1 for the scales of norms.
Tensor made_weight(const Param& param) {
  uint32_t state = 2166136261u;
  for (char c : param.name) state = (state ^ static_cast<unsigned char>(c)) * 16777619u;
  Tensor weight = at::ones(param.shape);
  const bool scale = param.shape.size() == 1 && param.name.ends_with("weight");
  if (scale) return weight;
  auto* values = weight.mutable_data_ptr<float>();
  for (int64_t i = 0; i < weight.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = static_cast<float>(static_cast<int>(state >> 24) % 17 - 8) / 64;
  }
  return weight;
}

Weight as_weight(const std::string& name, const Tensor& tensor) {
  auto kept = std::make_shared<const Tensor>(tensor);
  return {.name = name,
          .dtype = io::Dtype::f32,
          .shape = tensor.sizes().vec(),
          .data = static_cast<const std::byte*>(kept->const_data_ptr()),
          .bytes = kept->nbytes(),
          .owner = kept,
          .release = {}};
}

Tensor gathered(const io::TensorSource& source) {
  std::vector<std::byte> bytes;
  source.produce([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return at::from_blob(bytes.data(), source.shape, at::kFloat).clone();
}

void write_json(const fs::path& path, const Json& json) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << json.dump(1);
}

const Catalogue& classes() {
  static const Catalogue built = builtin_catalogue();
  return built;
}

void make_part(const Part& part, PlainModel& model) {
  const nn::NetworkInfo& info = *classes().find_network(part.class_name);
  const auto network = info.make(part.config, part.component);
  WeightStore store;
  NamedTensors own;
  for (const Param* param : network->params()) {
    Tensor weight = made_weight(*param);
    own[info.published_prefix + param->name] = weight;
    store.add(param->name, as_weight(param->name, weight));
  }
  const fs::path folder = model.folder / part.component;
  write_json(folder / "config.json", part.config);
  save_safetensors(folder / (info.weights_base + ".safetensors"), own);
  const auto layout = original_layout(*network, part.layout);
  for (const io::TensorSource& tensor : original_tensors(store, *network, layout, part.prefix))
    model.file[tensor.name] = gathered(tensor);
}

void make_tokenizer(const std::string& name, const Json& config, const fs::path& model) {
  fs::create_directories(model / name);
  for (const char* file : {"vocab.json", "merges.txt"})
    fs::copy_file(source_path("models/tokenizers/clip-l") / file, model / name / file);
  write_json(model / name / "tokenizer_config.json", config);
}

Json tokenizer(const char* pad) {
  return {{"bos_token", "<|startoftext|>"},
          {"do_lower_case", true},
          {"eos_token", "<|endoftext|>"},
          {"errors", "replace"},
          {"model_max_length", 77},
          {"pad_token", pad},
          {"tokenizer_class", "CLIPTokenizer"},
          {"unk_token", "<|endoftext|>"}};
}

Json unet(int64_t context, bool linear) {
  Json config = {{"_class_name", "UNet2DConditionModel"},
                 {"in_channels", 4},
                 {"out_channels", 4},
                 {"sample_size", 64},
                 {"block_out_channels", {linear ? 64 : 32, 64}},
                 {"down_block_types", {"CrossAttnDownBlock2D", "DownBlock2D"}},
                 {"up_block_types", {"UpBlock2D", "CrossAttnUpBlock2D"}},
                 {"layers_per_block", 1},
                 {"norm_num_groups", 32},
                 {"cross_attention_dim", context}};
  config["attention_head_dim"] = linear ? Json{1, 1} : Json(8);
  config["use_linear_projection"] = linear;
  return config;
}

Json vae(double scaling, int64_t channels = 4) {
  const Json four = {32, 32, 32, 32};
  return {{"_class_name", "AutoencoderKL"},
          {"in_channels", 3},
          {"out_channels", 3},
          {"latent_channels", channels},
          {"block_out_channels", four},
          {"down_block_types", Json(std::vector<std::string>(4, "DownEncoderBlock2D"))},
          {"up_block_types", Json(std::vector<std::string>(4, "UpDecoderBlock2D"))},
          {"layers_per_block", 1},
          {"norm_num_groups", 32},
          {"act_fn", "silu"},
          {"sample_size", 64},
          {"scaling_factor", scaling}};
}

Json clip(const char* class_name, const char* activation) {
  return {{"architectures", {class_name}},
          {"bos_token_id", 0},
          {"eos_token_id", 2},
          {"hidden_act", activation},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"max_position_embeddings", 77},
          {"num_attention_heads", 1},
          {"num_hidden_layers", 2},
          {"pad_token_id", 1},
          {"projection_dim", 64},
          {"vocab_size", 49408}};
}

Json t5() {
  return {{"architectures", {"T5EncoderModel"}},
          {"vocab_size", 400},
          {"d_model", 128},
          {"d_kv", 64},
          {"d_ff", 96},
          {"num_layers", 2},
          {"num_heads", 2},
          {"feed_forward_proj", "gated-gelu"}};
}

Json index(const char* pipeline, const std::vector<Part>& parts, const Json& scheduler,
           const std::map<std::string, Json>& tokenizers) {
  Json made = {{"_class_name", pipeline}, {"_diffusers_version", "0.42.1"}};
  for (const Part& part : parts) {
    const bool text = part.component.starts_with("text_encoder");
    made[part.component] = {text ? "transformers" : "diffusers", part.class_name};
  }
  for (const auto& [name, config] : tokenizers)
    made[name] = {"transformers", config["tokenizer_class"]};
  made["scheduler"] = {"diffusers", scheduler["_class_name"]};
  return made;
}

Json noise_schedule(const char* class_name) {
  return {{"_class_name", class_name},        {"beta_start", 0.00085},       {"beta_end", 0.012},
          {"beta_schedule", "scaled_linear"}, {"num_train_timesteps", 1000}, {"steps_offset", 1}};
}

const std::string unet_prefix = "model.diffusion_model.", vae_prefix = "first_stage_model.";

Recipe sd(bool second, int64_t channels) {
  Recipe recipe;
  Json denoiser = unet(64, second);
  denoiser["in_channels"] = channels;
  recipe.parts = {
      {"unet", "UNet2DConditionModel", unet_prefix, "ldm", denoiser},
      {"vae", "AutoencoderKL", vae_prefix, "ldm", vae(0.18215)},
      {"text_encoder", "CLIPTextModel",
       second ? "cond_stage_model.model." : "cond_stage_model.transformer.",
       second ? "open_clip" : "clip", clip("CLIPTextModel", second ? "gelu" : "quick_gelu")}};
  const bool ddim = second || channels == 9;
  recipe.scheduler = noise_schedule(ddim ? "DDIMScheduler" : "PNDMScheduler");
  recipe.scheduler["set_alpha_to_one"] = false;
  if (ddim) recipe.scheduler["clip_sample"] = false;
  if (!ddim) recipe.scheduler["skip_prk_steps"] = true;
  if (second) recipe.scheduler["prediction_type"] = "v_prediction";
  recipe.tokenizers["tokenizer"] = tokenizer(second ? "!" : "<|endoftext|>");
  recipe.index = index(channels == 9 ? "StableDiffusionInpaintPipeline" : "StableDiffusionPipeline",
                       recipe.parts, recipe.scheduler, recipe.tokenizers);
  return recipe;
}

Json xl_unet(int64_t context, int64_t added) {
  Json config = unet(context, true);
  config["down_block_types"] = {"DownBlock2D", "CrossAttnDownBlock2D"};
  config["up_block_types"] = {"CrossAttnUpBlock2D", "UpBlock2D"};
  config["transformer_layers_per_block"] = {1, 2};
  config["addition_embed_type"] = "text_time";
  config["addition_time_embed_dim"] = 256;
  config["projection_class_embeddings_input_dim"] = added;
  return config;
}

Recipe sdxl(bool refiner, bool nested) {
  Recipe recipe;
  const std::string embedders = "conditioner.embedders.";
  Json denoiser = refiner ? xl_unet(64, 64 + 5 * 256) : xl_unet(128, 64 + 6 * 256);
  if (nested) {
    denoiser["layers_per_block"] = 2;
    denoiser["mid_block_type"] = "UNetMidBlock2D";
    denoiser["transformer_layers_per_block"] = {1, {2, 1}};
    denoiser["reverse_transformer_layers_per_block"] = {{2, 1, 2}, 1};
  }
  recipe.parts = {{"unet", "UNet2DConditionModel", unet_prefix, "ldm", denoiser},
                  {"vae", "AutoencoderKL", vae_prefix, "ldm", vae(0.13025)},
                  {"text_encoder_2", "CLIPTextModelWithProjection",
                   embedders + (refiner ? "0.model." : "1.model."), "open_clip",
                   clip("CLIPTextModelWithProjection", "gelu")}};
  recipe.tokenizers["tokenizer_2"] = tokenizer("!");
  if (!refiner) {
    recipe.parts.push_back({"text_encoder", "CLIPTextModel", embedders + "0.transformer.", "clip",
                            clip("CLIPTextModel", "quick_gelu")});
    recipe.tokenizers["tokenizer"] = tokenizer("<|endoftext|>");
  }
  recipe.scheduler = noise_schedule("EulerDiscreteScheduler");
  recipe.scheduler["timestep_spacing"] = "leading";
  recipe.index = index(refiner ? "StableDiffusionXLImg2ImgPipeline" : "StableDiffusionXLPipeline",
                       recipe.parts, recipe.scheduler, recipe.tokenizers);
  recipe.index["force_zeros_for_empty_prompt"] = !refiner;
  if (refiner) {
    recipe.index["requires_aesthetics_score"] = true;
    recipe.index["text_encoder"] = recipe.index["tokenizer"] = {nullptr, nullptr};
  }
  return recipe;
}

Recipe sd3() {
  Recipe recipe;
  const std::string encoders = "text_encoders.";
  Json decoder = vae(1.5305, 16);
  decoder["shift_factor"] = 0.0609;
  decoder["use_quant_conv"] = decoder["use_post_quant_conv"] = false;
  recipe.parts = {
      {"transformer",
       "SD3Transformer2DModel",
       unet_prefix,
       "sd3",
       {{"_class_name", "SD3Transformer2DModel"},
        {"sample_size", 128},
        {"patch_size", 2},
        {"in_channels", 16},
        {"out_channels", 16},
        {"num_layers", 2},
        {"attention_head_dim", 64},
        {"num_attention_heads", 1},
        {"joint_attention_dim", 128},
        {"caption_projection_dim", 64},
        {"pooled_projection_dim", 128},
        {"pos_embed_max_size", 16}}},
      {"vae", "AutoencoderKL", vae_prefix, "ldm", decoder},
      {"text_encoder", "CLIPTextModelWithProjection", encoders + "clip_l.transformer.", "clip",
       clip("CLIPTextModelWithProjection", "quick_gelu")},
      {"text_encoder_2", "CLIPTextModelWithProjection", encoders + "clip_g.transformer.", "clip",
       clip("CLIPTextModelWithProjection", "gelu")}};
  recipe.tokenizers = {{"tokenizer", tokenizer("<|endoftext|>")}, {"tokenizer_2", tokenizer("!")}};
  recipe.scheduler = {{"_class_name", "FlowMatchEulerDiscreteScheduler"},
                      {"num_train_timesteps", 1000},
                      {"shift", 3.0}};
  recipe.index =
      index("StableDiffusion3Pipeline", recipe.parts, recipe.scheduler, recipe.tokenizers);
  recipe.index["text_encoder_3"] = recipe.index["tokenizer_3"] = {nullptr, nullptr};
  return recipe;
}

Recipe flux() {
  Recipe recipe;
  Json decoder = vae(0.3611, 16);
  decoder["shift_factor"] = 0.1159;
  decoder["use_quant_conv"] = decoder["use_post_quant_conv"] = false;
  recipe.parts = {{"transformer",
                   "FluxTransformer2DModel",
                   unet_prefix,
                   "flux",
                   {{"_class_name", "FluxTransformer2DModel"},
                    {"in_channels", 64},
                    {"num_layers", 1},
                    {"num_single_layers", 1},
                    {"attention_head_dim", 128},
                    {"num_attention_heads", 1},
                    {"joint_attention_dim", 128},
                    {"pooled_projection_dim", 64},
                    {"guidance_embeds", true}}},
                  {"vae", "AutoencoderKL", "vae.", "ldm", decoder},
                  {"text_encoder", "CLIPTextModel", "text_encoders.clip_l.transformer.", "clip",
                   clip("CLIPTextModel", "quick_gelu")},
                  {"text_encoder_2", "T5EncoderModel", "text_encoders.t5xxl.transformer.",
                   "transformers", t5()}};
  recipe.tokenizers["tokenizer"] = tokenizer("<|endoftext|>");
  recipe.scheduler = {{"_class_name", "FlowMatchEulerDiscreteScheduler"},
                      {"base_image_seq_len", 256},
                      {"base_shift", 0.5},
                      {"max_image_seq_len", 4096},
                      {"max_shift", 1.15},
                      {"num_train_timesteps", 1000},
                      {"shift", 3.0},
                      {"use_dynamic_shifting", true}};
  recipe.index = index("FluxPipeline", recipe.parts, recipe.scheduler, recipe.tokenizers);
  recipe.index["tokenizer_2"] = {"transformers", "T5TokenizerFast"};
  return recipe;
}

Recipe recipe_of(const std::string& kind) {
  if (kind == "sd1") return sd(false, 4);
  if (kind == "sd1_inpaint") return sd(false, 9);
  if (kind == "sd2") return sd(true, 4);
  if (kind == "sd3") return sd3();
  if (kind == "flux") return flux();
  return sdxl(kind == "sdxl_refiner", kind == "ssd1b");
}

PlainModel made(const std::string& kind, const fs::path& folder) {
  PlainModel model{folder, {}};
  const Recipe recipe = recipe_of(kind);
  for (const Part& part : recipe.parts) make_part(part, model);
  for (const auto& [name, config] : recipe.tokenizers) make_tokenizer(name, config, folder);
  // T5's vocabulary, of which this program has none.
  if (kind == "flux")
    fs::copy(fs::path(small_model("flux1.dev")) / "tokenizer_2", folder / "tokenizer_2");
  write_json(folder / "scheduler" / "scheduler_config.json", recipe.scheduler);
  write_json(folder / "model_index.json", recipe.index);
  return model;
}

io::Dtype dtype_of(const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kHalf:
      return io::Dtype::f16;
    case at::kBFloat16:
      return io::Dtype::bf16;
    case at::kFloat8_e4m3fn:
      return io::Dtype::f8_e4m3;
    case at::kLong:
      return io::Dtype::i64;
    default:
      return io::Dtype::f32;
  }
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace

const PlainModel& plain_model(const std::string& kind) {
  static TempFolder all;
  static std::map<std::string, PlainModel> models;
  auto found = models.find(kind);
  if (found == models.end()) found = models.emplace(kind, made(kind, all / kind)).first;
  return found->second;
}

void save_safetensors(const fs::path& path, const NamedTensors& tensors,
                      const io::FileMetadata& metadata) {
  std::vector<io::TensorSource> sources;
  for (const auto& [name, tensor] : tensors) {
    sources.push_back({name, dtype_of(tensor), tensor.sizes().vec(),
                       [whole = tensor.contiguous()](const io::TensorSource::Emit& emit) {
                         emit(bytes_of(whole));
                       }});
  }
  io::stream_safetensors(path, sources, metadata);
}

void save_gguf(const fs::path& path, const NamedTensors& tensors) {
  std::vector<io::GgufTensor> sources;
  for (const auto& [name, tensor] : tensors) {
    const char* type = tensor.scalar_type() == at::kHalf ? "f16" : "f32";
    sources.push_back({name, io::find_ggml_type(type), tensor.sizes().vec(),
                       [whole = tensor.contiguous()](const io::GgufTensor::Emit& emit) {
                         emit(bytes_of(whole));
                       }});
  }
  io::stream_gguf(path, sources, {{"general.architecture", "sd"}});
}

NamedTensors with_prefix(const NamedTensors& tensors, const std::string& prefix,
                         const std::string& instead) {
  NamedTensors found;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) found[instead + name.substr(prefix.size())] = tensor;
  }
  return found;
}

NamedTensors without_prefix(NamedTensors tensors, const std::string& prefix) {
  std::erase_if(tensors, [&](const auto& each) { return each.first.starts_with(prefix); });
  return tensors;
}

}  // namespace omnirt::testing
