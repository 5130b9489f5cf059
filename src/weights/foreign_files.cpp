#include <algorithm>
#include <array>

#include "weights/single_file_kind.hpp"

namespace omnirt {
namespace {

// A tensor by which a kind of file is known; `any`: a name that begins so.
struct Sign {
  const char* name;
  bool any;
  const char* what;
};

// Checked in order, the more special first. Names are those of the authors' own releases.
constexpr Sign signs[] = {
    {"model.diffusion_model.double_blocks.0.img_attn.norm.key_norm.scale", false,
     "a Flux transformer"},
    {"double_blocks.0.img_attn.norm.key_norm.scale", false, "a Flux transformer"},
    {"double_stream_modulation_img.lin.weight", false, "a Flux 2 transformer"},
    {"model.diffusion_model.joint_blocks.", true, "a Stable Diffusion 3 transformer"},
    {"joint_blocks.", true, "a Stable Diffusion 3 transformer"},
    {"text_encoders.clip_l.", true, "text encoders of Stable Diffusion 3"},
    {"model.diffusion_model.head.modulation", false, "a Wan video transformer"},
    {"head.modulation", false, "a Wan video transformer"},
    {"model.diffusion_model.patchify_proj.weight", false, "an LTX video transformer"},
    {"patchify_proj.weight", false, "an LTX video transformer"},
    {"txt_in.individual_token_refiner.", true, "a Hunyuan video transformer"},
    {"model.diffusion_model.cap_embedder.", true, "a Lumina 2 or Z-Image transformer"},
    {"cap_embedder.", true, "a Lumina 2 or Z-Image transformer"},
    {"double_layers.0.attn.w1q.weight", false, "an AuraFlow transformer"},
    {"model.diffusion_model.txtfusion.", true, "a Krea 2 transformer"},
    {"txtfusion.", true, "a Krea 2 transformer"},
    {"model.diffusion_model.content_mode_blocks.", true, "a FLUX.3 transformer"},
    {"content_mode_blocks.", true, "a FLUX.3 transformer"},
    {"model.diffusion_model.txt_in.text_norm.", true, "a Qwen-Image 2.1 transformer"},
    {"txt_in.text_norm.", true, "a Qwen-Image 2.1 transformer"},
    {"model.diffusion_model.blocks.0.cross_attn.kv_linear.", true, "a Sana transformer"},
    {"blocks.0.cross_attn.kv_linear.", true, "a Sana transformer"},
    {"encoder.stages.0.op_list.", true, "an autoencoder of Sana alone"},
    {"clip_txt_mapper.weight", false, "a Stable Cascade model (stage C)"},
    {"down_blocks.1.0.channelwise.0.weight", false, "a Stable Cascade model (stage B)"},
    {"control_model.", true, "a ControlNet in the original layout"},
    {"controlnet_cond_embedding.conv_in.weight", false, "a ControlNet"},
    {"image_proj.", true, "an IP-Adapter"},
    {"ip_adapter.", true, "an IP-Adapter"},
    {"emb_params", false, "a textual inversion"},
    {"string_to_param.*", false, "a textual inversion"},
    {"edm_mean", false, "a Playground 2.5 model"},
    {"down_blocks.0.motion_modules.", true, "an AnimateDiff motion module"},
    {"model.diffusion_model.input_blocks.", true,
     "an original UNet of no kind that this build reads"},
    {"input_blocks.", true, "an original UNet alone"},
    {"down_blocks.", true, "a UNet alone, in diffusers' layout"},
    {"first_stage_model.", true, "an autoencoder alone"},
    {"encoder.down.", true, "an autoencoder alone, in the original layout"},
    {"encoder.down_blocks.", true, "an autoencoder alone, in diffusers' layout"},
    {"decoder.layers.", true, "a tiny autoencoder alone"},
    {"text_model.encoder.layers.", true, "a text encoder alone"},
    {"encoder.block.0.layer.0.SelfAttention.", true, "a T5 text encoder alone"},
    {"adaln_single.", true, "a PixArt transformer alone"},
};

bool is_adapter_name(const std::string& name) {
  // cloneofsimo's number the layers: "unet:0:up".
  bool numbered = name.ends_with(":up") || name.ends_with(":down");
  return numbered || name.starts_with("lora_") || name.find(".lora_") != std::string::npos ||
         name.find("lora_down") != std::string::npos || name.find(".lora.") != std::string::npos ||
         name.find("_lora.") != std::string::npos || name.find("hada_w1") != std::string::npos ||
         name.find("lokr_w") != std::string::npos;
}

}  // namespace

std::string recognise_foreign(const SingleFileFacts& facts) {
  bool adapter = std::ranges::any_of(facts.shapes.all(),
                                     [](const auto& each) { return is_adapter_name(each.first); });
  if (adapter) return "a LoRA adapter (or one like it), which changes a model and is none";
  for (const Sign& sign : signs) {
    if (sign.any ? facts.shapes.any(sign.name) : facts.shapes.has(sign.name)) return sign.what;
  }
  return "";
}

std::string leftover_kind(const std::string& name) {
  if (name.starts_with("model_ema.")) return "averages of training (model_ema)";
  static constexpr std::array schedule{"betas",
                                       "alphas_cumprod",
                                       "alphas_cumprod_prev",
                                       "sqrt_alphas_cumprod",
                                       "sqrt_one_minus_alphas_cumprod",
                                       "log_one_minus_alphas_cumprod",
                                       "sqrt_recip_alphas_cumprod",
                                       "sqrt_recipm1_alphas_cumprod",
                                       "posterior_variance",
                                       "posterior_log_variance_clipped",
                                       "posterior_mean_coef1",
                                       "posterior_mean_coef2",
                                       "lvlb_weights",
                                       "logvar",
                                       "denoiser.sigmas",
                                       "sigmas",
                                       "log_sigmas",
                                       "scale_factor",
                                       "noise_augmentor",
                                       "low_scale_model"};
  if (std::ranges::find(schedule, name) != schedule.end()) return "the training's noise schedule";
  if (name == "global_step" || name.starts_with("optimizer") || name.starts_with("callbacks"))
    return "the training's state";
  if (name == "v_pred" || name == "ztsnr") return "markers";
  return "";
}

}  // namespace omnirt
