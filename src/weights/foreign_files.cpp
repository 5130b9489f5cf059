#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "weights/single_file_kind.hpp"

namespace omnirt {
namespace {

using nn::FileMark;

// Models that no network of this build reads, by the names of their authors' own releases.
std::span<const FileMark> other_models() {
  static const std::vector<FileMark> marks{
      {"model.diffusion_model.head.modulation", "a Wan video transformer"},
      {"head.modulation", "a Wan video transformer"},
      {"model.diffusion_model.patchify_proj.weight", "an LTX video transformer"},
      {"patchify_proj.weight", "an LTX video transformer"},
      {"txt_in.individual_token_refiner.", "a Hunyuan video transformer"},
      {"clip_txt_mapper.weight", "a Stable Cascade model (stage C)"},
      {"down_blocks.1.0.channelwise.0.weight", "a Stable Cascade model (stage B)"},
      {"edm_mean", "a Playground 2.5 model"},
  };
  return marks;
}

// Parts of models, in the layouts that many models share. The special ones come first.
std::span<const FileMark> parts() {
  static const std::vector<FileMark> marks{
      {"text_encoders.clip_l.", "text encoders of Stable Diffusion 3"},
      {"control_model.", "a ControlNet in the original layout"},
      {"controlnet_cond_embedding.conv_in.weight", "a ControlNet"},
      {"image_proj.", "an IP-Adapter"},
      {"ip_adapter.", "an IP-Adapter"},
      {"emb_params", "a textual inversion"},
      {"string_to_param.*", "a textual inversion"},
      {"down_blocks.0.motion_modules.", "an AnimateDiff motion module"},
      {"model.diffusion_model.input_blocks.", "an original UNet of no kind that this build reads"},
      {"input_blocks.", "an original UNet alone"},
      {"down_blocks.", "a UNet alone, in diffusers' layout"},
      {"first_stage_model.", "an autoencoder alone"},
      {"encoder.down.", "an autoencoder alone, in the original layout"},
      {"encoder.down_blocks.", "an autoencoder alone, in diffusers' layout"},
      {"decoder.layers.", "a tiny autoencoder alone"},
      {"text_model.encoder.layers.", "a text encoder alone"},
      {"encoder.block.0.layer.0.SelfAttention.", "a T5 text encoder alone"},
  };
  return marks;
}

// The first of the marks that the file has; null: none.
const FileMark* find_mark(const TensorShapes& shapes, std::span<const FileMark> marks) {
  const auto found = std::ranges::find_if(marks, [&](const FileMark& mark) {
    return mark.name.ends_with('.') ? shapes.any(mark.name) : shapes.has(mark.name);
  });
  return found == marks.end() ? nullptr : &*found;
}

bool is_adapter_name(const std::string& name) {
  // cloneofsimo's number the layers: "unet:0:up".
  bool numbered = name.ends_with(":up") || name.ends_with(":down");
  return numbered || name.starts_with("lora_") || name.find(".lora_") != std::string::npos ||
         name.find("lora_down") != std::string::npos || name.find(".lora.") != std::string::npos ||
         name.find("_lora.") != std::string::npos || name.find("hada_w1") != std::string::npos ||
         name.find("lokr_w") != std::string::npos;
}

}  // namespace

std::string recognise_foreign(const TensorShapes& shapes,
                              std::span<const nn::NetworkInfo> networks) {
  bool adapter = std::ranges::any_of(shapes.all(),
                                     [](const auto& each) { return is_adapter_name(each.first); });
  if (adapter) return "a LoRA adapter (or one like it), which changes a model and is none";
  if (const FileMark* mark = find_mark(shapes, other_models())) return mark->what;
  for (const nn::NetworkInfo& network : networks) {
    if (const FileMark* mark = find_mark(shapes, network.marks)) return mark->what;
  }
  const FileMark* mark = find_mark(shapes, parts());
  return mark ? mark->what : "";
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
