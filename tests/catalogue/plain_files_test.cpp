// Checkpoints of one file as other programs leave them, without this program's metadata: each runs
// as the folder of the same weights does, to the bit, or is refused in words that name what is
// missing.
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "catalogue/plain_models.hpp"
#include "catalogue/support.hpp"
#include "io/image_samples.hpp"
#include "io/temp_folder.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

using Edit = std::function<void(NamedTensors& file)>;

// One file that people have.
struct PlainFile {
  std::string name;
  std::string kind;  // of plain_model
  Edit edit;
  // Components that the request gives, by name: what is written for them.
  std::map<std::string, std::function<NamedTensors(const NamedTensors& whole)>> given{};
  std::vector<std::string> refused{};  // what the message says; empty: it runs
  Json folder_config{};  // how the folder's run gets the scheduler that the file's has
  io::FileMetadata metadata{};
};

void add(NamedTensors& file, const std::string& name, const Tensor& tensor) {
  file[name] = tensor;
}

void add_zeros(NamedTensors& file, const std::vector<std::string>& names,
               std::vector<int64_t> shape = {2}) {
  for (const std::string& name : names) file[name] = at::zeros(shape);
}

void rename(NamedTensors& file, const std::string& prefix, const std::string& instead) {
  NamedTensors moved = with_prefix(file, prefix, instead);
  file = without_prefix(std::move(file), prefix);
  file.merge(moved);
}

void cast(NamedTensors& file, const std::string& prefix, at::ScalarType type) {
  for (auto& [name, tensor] : file) {
    if (name.starts_with(prefix)) tensor = tensor.to(type);
  }
}

// LitEma's names, which have lost their points; the weights are others.
void add_averages(NamedTensors& file) {
  NamedTensors averages;
  for (const auto& [name, tensor] : with_prefix(file, "model.", "")) {
    std::string flat = name;
    std::erase(flat, '.');
    averages["model_ema." + flat] = tensor * 0.5;
  }
  averages["model_ema.decay"] = at::full({}, 0.9999);
  averages["model_ema.num_updates"] = at::zeros({}, at::kLong);
  file.merge(averages);
}

void keep_only(NamedTensors& file, const std::string& prefix, const std::string& instead) {
  file = with_prefix(file, prefix, instead);
}

Json scheduler(const char* class_name, const Json& config) {
  return {{"scheduler", class_name}, {"scheduler_config", config}};
}

Edit none() {
  return [](NamedTensors&) {};
}
Edit drop(const std::string& prefix) {
  return [prefix](NamedTensors& file) { file = without_prefix(std::move(file), prefix); };
}

auto part(const std::string& prefix, const std::string& instead = "") {
  return [=](const NamedTensors& whole) { return with_prefix(whole, prefix, instead); };
}

const std::string unet = "model.diffusion_model.", vae = "first_stage_model.";
const std::string clip = "cond_stage_model.transformer.", open_clip = "cond_stage_model.model.";
const std::string xl_clip = "conditioner.embedders.0.transformer.";
const std::string xl_open_clip = "conditioner.embedders.1.model.";
const std::string clip_l = "text_encoders.clip_l.transformer.";

// As ComfyUI's CLIP files: with the projection and the temperature.
NamedTensors clip_file(const NamedTensors& whole, const std::string& prefix) {
  NamedTensors file = with_prefix(whole, prefix, "");
  file["text_projection.weight"] = at::zeros({64, 64});
  file["logit_scale"] = at::full({}, 4.6);
  return file;
}
auto clip_of(const std::string& prefix) {
  return [prefix](const NamedTensors& whole) { return clip_file(whole, prefix); };
}

std::vector<PlainFile> sd1_whole_files() {
  return {
      {"v1_5_pruned_emaonly", "sd1", none()},
      {"v1_4_with_all_of_training", "sd1",
       [](NamedTensors& file) {
         add_averages(file);
         add_zeros(file, {"betas", "alphas_cumprod", "alphas_cumprod_prev", "sqrt_alphas_cumprod",
                          "log_one_minus_alphas_cumprod", "posterior_variance", "logvar"});
         add_zeros(file, {"global_step", "optimizer_states.0.exp_avg", "lr_schedulers.0",
                          "callbacks.x", "first_stage_model.loss.logvar",
                          "first_stage_model.loss.perceptual_loss.lin0.model.1.weight"});
       }},
      {"saved_by_comfyui", "sd1",
       [](NamedTensors& file) {
         add(file, clip + "text_projection.weight", at::zeros({64, 64}));
         add(file, "cond_stage_model.logit_scale", at::full({}, 4.6));
       }},
      {"with_positions", "sd1",
       [](NamedTensors& file) {
         add(file, clip + "text_model.embeddings.position_ids",
             at::arange(77, at::kLong).unsqueeze(0));
       }},
      {"merge_with_broken_positions", "sd1",
       [](NamedTensors& file) {
         add(file, clip + "text_model.embeddings.position_ids", at::full({1, 77}, 41.96));
       }},
      {"novelai_names_of_2022", "sd1",
       [](NamedTensors& file) { rename(file, clip + "text_model.", clip); }},
      {"half_precision", "sd1", [](NamedTensors& file) { cast(file, "", at::kHalf); }},
      {"fp8_unet_bf16_vae", "sd1",
       [](NamedTensors& file) {
         cast(file, unet, at::kFloat8_e4m3fn);
         cast(file, vae, at::kBFloat16);
       }},
  };
}

std::vector<PlainFile> sd1_marked_files() {
  return {
      {"by_kohya_with_metadata",
       "sd1",
       [](NamedTensors& file) { cast(file, "", at::kHalf); },
       {},
       {},
       {},
       {{"ss_sd_model_name", "x"}, {"modelspec.architecture", "stable-diffusion-v1"}}},
      {"with_flags_of_other_programs", "sd1",
       [](NamedTensors& file) {
         add_zeros(file, {unet + "__index_timestep_zero__", "__convert_done__", unet + "v_pred"});
         add_zeros(file, {"embedding_manager.token", "control_model.time_embed.0.weight",
                          "lora_rest.x", "model.buffer"});
       }},
      {"vae_attention_as_matrices", "sd1",
       [](NamedTensors& file) {
         for (auto& [name, tensor] : file) {
           if (name.find("mid.attn_1.") != name.npos && tensor.dim() == 4)
             tensor = tensor.flatten(1);
         }
       }},
      {"velocity_by_marker",
       "sd1",
       [](NamedTensors& file) { add(file, "v_pred", at::empty({0})); },
       {},
       {},
       scheduler("DDIMScheduler", {{"prediction_type", "v_prediction"}, {"clip_sample", false}})},
  };
}

std::vector<PlainFile> sd1_partial_files() {
  return {
      {"without_autoencoder",
       "sd1",
       drop(vae),
       {},
       {"the file holds no autoencoder", "components.vae"}},
      {"without_autoencoder_given_one", "sd1", drop(vae), {{"vae", part(vae)}}},
      {"without_autoencoder_given_another_checkpoint", "sd1", drop(vae), {{"vae", part("")}}},
      {"without_text_encoder",
       "sd1",
       drop(clip),
       {},
       {"the file holds no text encoder", "components.text_encoder"}},
      {"without_text_encoder_given_one", "sd1", drop(clip), {{"text_encoder", clip_of(clip)}}},
      {"averages_only",
       "sd1",
       [](NamedTensors& file) {
         add_averages(file);
         file = without_prefix(std::move(file), unet);
       },
       {},
       {"only training's averages of the denoiser", "components.unet"}},
      {"inpainting", "sd1_inpaint", none()},
      {"inpainting_in_half_without_autoencoder",
       "sd1_inpaint",
       [](NamedTensors& file) {
         cast(file, unet, at::kHalf);
         file = without_prefix(std::move(file), vae);
       },
       {{"vae", part(vae)}}},
      {"averages_only_given_a_unet",
       "sd1",
       [](NamedTensors& file) {
         add_averages(file);
         file = without_prefix(std::move(file), unet);
       },
       {{"unet", part(unet)}}},
  };
}

std::vector<PlainFile> lone_parts() {
  return {
      {"unet_alone",
       "sd1",
       [](NamedTensors& file) { keep_only(file, unet, unet); },
       {},
       {"the file holds no autoencoder", "the file holds no text encoder"}},
      {"unet_alone_given_the_rest",
       "sd1",
       [](NamedTensors& file) { keep_only(file, unet, unet); },
       {{"vae", part(vae, vae)}, {"text_encoder", part(clip)}}},
      {"autoencoder_alone",
       "sd1",
       [](NamedTensors& file) { keep_only(file, vae, vae); },
       {},
       {"an autoencoder alone"}},
      {"a_lora",
       "sd1",
       [](NamedTensors& file) {
         file = {{"lora_unet_x.lora_down.weight", at::zeros({4, 8})}};
       },
       {},
       {"a LoRA adapter"}},
      {"without_tensors", "sd1", [](NamedTensors& file) { file.clear(); }, {}, {"no tensors"}},
      {"a_layer_lost_in_a_merge",
       "sd1",
       [](NamedTensors& file) { file.erase(unet + "out.0.bias"); },
       {},
       {unet + "out.0.bias", "missing"}},
      {"diffusers_names_in_one_file",
       "sd1",
       [](NamedTensors& file) {
         file = {{"unet.down_blocks.0.resnets.0.conv1.weight", at::zeros({4, 4, 3, 3})}};
       },
       {},
       {"not a complete model"}},
  };
}

std::vector<PlainFile> sd2_files() {
  return {
      {"v2_1_768", "sd2", none()},
      {"v2_1_with_the_rest_of_openclip", "sd2",
       [](NamedTensors& file) {
         add_zeros(file, {open_clip + "text_projection"}, {64, 64});
         add_zeros(file, {open_clip + "attn_mask"}, {77, 77});
         add_zeros(file, {open_clip + "logit_scale"}, {});
         add_zeros(file, {open_clip + "visual.proj"});
       }},
      {"v2_base_512",
       "sd2",
       none(),
       {},
       {},
       scheduler("PNDMScheduler", {{"prediction_type", "epsilon"}, {"skip_prk_steps", true}}),
       {{"modelspec.architecture", "stable-diffusion-v2-512"}}},
      {"v2_without_autoencoder", "sd2", drop(vae), {{"vae", part(vae, "")}}},
      {"v2_text_encoder_in_a_file_of_its_own",
       "sd2",
       drop(open_clip),
       {{"text_encoder", part(open_clip)}}},
  };
}

std::vector<PlainFile> xl_files() {
  return {
      {"xl_base", "sdxl", none()},
      {"xl_saved_by_comfyui", "sdxl",
       [](NamedTensors& file) {
         add(file, xl_clip + "text_projection.weight", at::zeros({64, 64}));
         add_zeros(file, {"conditioner.embedders.0.logit_scale", xl_open_clip + "logit_scale"}, {});
       }},
      {"xl_merge_in_half_with_bf16_autoencoder", "sdxl",
       [](NamedTensors& file) {
         cast(file, "", at::kHalf);
         cast(file, vae, at::kBFloat16);
       }},
      {"xl_velocity_with_markers",
       "sdxl",
       [](NamedTensors& file) {
         add(file, "v_pred", at::empty({0}));
         add(file, "denoiser.sigmas", at::zeros({1000}));
       },
       {},
       {},
       {{"scheduler_config", {{"prediction_type", "v_prediction"}}}}},
      {"xl_without_autoencoder",
       "sdxl",
       drop(vae),
       {},
       {"the file holds no autoencoder", "components.vae"}},
      {"xl_without_autoencoder_given_one", "sdxl", drop(vae), {{"vae", part(vae)}}},
      {"xl_without_text_encoders",
       "sdxl",
       drop("conditioner."),
       {},
       {"components.text_encoder ", "components.text_encoder_2"}},
      {"xl_without_text_encoders_given_both",
       "sdxl",
       drop("conditioner."),
       {{"text_encoder", clip_of(xl_clip)}, {"text_encoder_2", part(xl_open_clip)}}},
      {"xl_without_one_text_encoder", "sdxl", drop(xl_clip), {}, {"components.text_encoder"}},
      {"xl_averages_only",
       "sdxl",
       [](NamedTensors& file) {
         add_averages(file);
         file = without_prefix(std::move(file), unet);
       },
       {},
       {"only training's averages of the denoiser"}},
      {"ssd_1b_with_uneven_depths", "ssd1b", none()},
      {"playground_2_5",
       "sdxl",
       [](NamedTensors& file) {
         add_zeros(file, {"edm_mean", "edm_std"}, {4});
       },
       {},
       {"a Playground 2.5 model"}},
      {"xl_refiner", "sdxl_refiner", none()},
  };
}

std::vector<PlainFile> transformer_files() {
  return {
      {"sd3_with_clip", "sd3", none()},
      {"sd3_without_text_encoders",
       "sd3",
       drop("text_encoders."),
       {},
       {"components.text_encoder ", "components.text_encoder_2"}},
      {"sd3_given_text_encoders",
       "sd3",
       drop("text_encoders."),
       {{"text_encoder", part(clip_l)},
        {"text_encoder_2", part("text_encoders.clip_g.transformer.")}}},
      {"sd3_in_fp8", "sd3", [](NamedTensors& file) { cast(file, unet, at::kFloat8_e4m3fn); }},
      {"flux_all_in_one", "flux",
       [](NamedTensors& file) {
         add(file, clip_l + "text_projection.weight", at::zeros({64, 64}));
         add(file, "text_encoders.clip_l.logit_scale", at::full({}, 4.6));
         add(file, "text_encoders.t5xxl.logit_scale", at::full({}, 4.6));
       }},
      {"flux_transformer_in_fp8", "flux",
       [](NamedTensors& file) { cast(file, unet, at::kFloat8_e4m3fn); }},
      {"flux_transformer_alone",
       "flux",
       [](NamedTensors& file) { keep_only(file, unet, ""); },
       {},
       {"the file holds no autoencoder", "components.text_encoder_2"}},
      {"flux_transformer_alone_given_the_rest",
       "flux",
       [](NamedTensors& file) { keep_only(file, unet, ""); },
       {{"vae", part("vae.")},
        {"text_encoder", clip_of(clip_l)},
        {"text_encoder_2", part("text_encoders.t5xxl.transformer.")}}},
  };
}

std::vector<PlainFile> all_files() {
  std::vector<PlainFile> all;
  for (auto&& some : {sd1_whole_files(), sd1_marked_files(), sd1_partial_files(), lone_parts(),
                      sd2_files(), xl_files(), transformer_files()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

GenerateRequest request_of(const std::string& kind, const TempFolder& temp) {
  GenerateRequest request;
  request.inputs["prompt"] = "a red apple";
  request.config = {{"num_inference_steps", 2}, {"seed", 1}, {"width", 64}, {"height", 64}};
  if (kind != "sdxl_refiner" && kind != "sd1_inpaint") return request;
  if (kind == "sd1_inpaint") {
    request.inputs["mask"] = (temp / "mask.png").string();
    io::write_image(temp / "mask.png", io::smooth_image(64, 64, 1));
  }
  request.config["strength"] = kind == "sd1_inpaint" ? 1.0 : 0.5;
  io::write_image(temp / "in.png", io::smooth_image(64, 64, 3));
  request.inputs["image"] = (temp / "in.png").string();
  return request;
}

class PlainFiles : public ::testing::TestWithParam<PlainFile> {};

TEST_P(PlainFiles, RunAsTheirFoldersOrSayWhatIsMissing) {
  const PlainFile& row = GetParam();
  const PlainModel& model = plain_model(row.kind);
  TempFolder temp;
  NamedTensors file = model.file;
  row.edit(file);
  save_safetensors(temp / "one.safetensors", file, row.metadata);
  GenerateRequest request = request_of(row.kind, temp);
  for (const auto& [name, made] : row.given) {
    const fs::path path = temp / (name + ".safetensors");
    save_safetensors(path, made(model.file));
    request.components[name] = path.string();
  }
  if (row.kind == "flux")
    request.components["tokenizer_2"] = (model.folder / "tokenizer_2").string();
  request.model = (temp / "one.safetensors").string();
  if (!row.refused.empty()) {
    const std::string told = message_of<InvalidRequest>([&] { run(request); });
    for (const std::string& part : row.refused) EXPECT_THAT(told + " ", HasSubstr(part));
    return;
  }
  const Outcome of_file = run(request);
  request.components = Json::object();
  request.model = model.folder.string();
  if (row.folder_config.is_object()) request.config.update(row.folder_config);
  const Outcome of_folder = run(request);
  EXPECT_TRUE(of_file.image.equal(of_folder.image)) << psnr(of_file.image, of_folder.image, 1);
  EXPECT_GT(of_file.image.std().item<double>(), 0.001) << "not an image of one colour";
}

INSTANTIATE_TEST_SUITE_P(Files, PlainFiles, ::testing::ValuesIn(all_files()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace omnirt::testing
