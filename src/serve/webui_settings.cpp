#include "serve/webui_settings.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "serve/webui_values.hpp"

namespace omnirt::serve {
namespace {

// What such settings are about: files, previews, the page, and how other programs use memory.
constexpr auto of_no_image = std::to_array<std::string_view>({"samples_save",
                                                              "samples_filename",
                                                              "save_",
                                                              "grid_",
                                                              "outdir_",
                                                              "directories_",
                                                              "live_preview",
                                                              "show_progress",
                                                              "enable_pnginfo",
                                                              "return_",
                                                              "do_not_",
                                                              "font",
                                                              "interrogate_",
                                                              "deepbooru_",
                                                              "extra_networks_",
                                                              "training_",
                                                              "ui_",
                                                              "gallery_",
                                                              "js_",
                                                              "send_",
                                                              "keyedit_",
                                                              "hide_",
                                                              "quicksettings",
                                                              "api_",
                                                              "memmon_",
                                                              "print_",
                                                              "localization",
                                                              "gradio_",
                                                              "webui_",
                                                              "sd_checkpoint_cache",
                                                              "sd_checkpoints_",
                                                              "sd_vae_checkpoint_cache",
                                                              "sd_vae_as_default",
                                                              "sd_checkpoint_hash",
                                                              "sd_vae_overrides_per_model",
                                                              "sd_checkpoint_dropdown",
                                                              "face_restoration_model",
                                                              "code_former_weight",
                                                              "forge_inference_memory",
                                                              "forge_async",
                                                              "forge_pin",
                                                              "forge_preset",
                                                              "add_model",
                                                              "add_user",
                                                              "add_version",
                                                              "infotext_",
                                                              "jpeg_quality",
                                                              "export_for_4chan",
                                                              "img_downscale",
                                                              "target_side_length",
                                                              "temp_dir",
                                                              "clean_temp_dir",
                                                              "use_original_name",
                                                              "use_upscaler_name",
                                                              "use_save_to_dirs",
                                                              "notification_",
                                                              "dimensions_",
                                                              "textual_inversion_",
                                                              "ESRGAN_tile",
                                                              "SWIN_",
                                                              "DAT_tile",
                                                              "realesrgan_enabled",
                                                              "disabled_extensions",
                                                              "disable_all_extensions",
                                                              "restore_config",
                                                              "multiple_tqdm",
                                                              "list_hidden_files",
                                                              "postprocessing_",
                                                              "upscaling_max",
                                                              "upcast_attn",
                                                              "auto_vae_precision",
                                                              "pin_memory",
                                                              "unload_models",
                                                              "img2img_background_color",
                                                              "img2img_sketch",
                                                              "img2img_inpaint",
                                                              "images_"});

struct Neutral {
  std::string_view name;
  std::string_view values;  // a JSON array
};

constexpr auto neutral_settings = std::to_array<Neutral>({
    {"sd_vae", R"(["", "Automatic", "None"])"},
    {"sd_unet", R"(["", "Automatic", "None"])"},
    {"sd_lora", R"(["", "None"])"},
    {"sd_hypernetwork", R"(["", "None"])"},
    {"forge_additional_modules", R"([[]])"},
    {"forge_unet_storage_dtype", R"(["Automatic"])"},
    {"CLIP_stop_at_last_layers", "[1]"},
    {"samples_format", R"(["png"])"},
    {"sd_vae_encode_method", R"(["Full"])"},
    {"sd_vae_decode_method", R"(["Full"])"},
    {"sd_noise_schedule", R"(["Default"])"},
    {"emphasis", R"(["Original"])"},
    {"enable_emphasis", "[true]"},
    {"enable_batch_seeds", "[true]"},
    {"enable_quantization", "[false]"},
    {"comma_padding_backtrack", "[20]"},
    {"randn_source", R"(["GPU", "CPU"])"},
    {"tiling", "[false]"},
    {"face_restoration", "[false]"},
    {"filter_nsfw", "[false]"},
    {"img2img_fix_steps", "[false]"},
    {"img2img_color_correction", "[false]"},
    {"img2img_extra_noise", "[0]"},
    {"initial_noise_multiplier", "[1]"},
    {"inpainting_mask_weight", "[1]"},
    {"upscaler_for_img2img", R"(["", "None"])"},
    {"eta_noise_seed_delta", "[0]"},
    {"eta_ddim", "[0]"},
    {"eta_ancestral", "[1]"},
    {"ddim_discretize", R"(["uniform"])"},
    {"s_churn", "[0]"},
    {"s_tmin", "[0]"},
    {"s_tmax", "[0, 1]"},
    {"s_noise", "[1]"},
    {"s_min_uncond", "[0]"},
    {"skip_early_cond", "[0]"},
    {"token_merging_ratio", "[0]"},
    {"token_merging_ratio_img2img", "[0]"},
    {"token_merging_ratio_hr", "[0]"},
    {"k_sched_type", R"(["Automatic"])"},
    {"sigma_min", "[0]"},
    {"sigma_max", "[0]"},
    {"rho", "[0]"},
    {"sgm_noise_multiplier", "[false]"},
    {"always_discard_next_to_last_sigma", "[false]"},
    {"no_dpmpp_sde_batch_determinism", "[false]"},
    {"dont_fix_second_order_samplers_schedule", "[false]"},
    {"hires_fix_use_firstpass_conds", "[false]"},
    {"use_old_emphasis_implementation", "[false]"},
    {"use_old_karras_scheduler_sigmas", "[false]"},
    {"use_old_hires_fix_width_height", "[false]"},
    {"use_old_scheduling", "[false]"},
    {"sdxl_crop_top", "[0]"},
    {"sdxl_crop_left", "[0]"},
});

bool is_off(const Json& argument) {
  if (!argument.is_object()) return is_nothing(argument);
  for (const char* name : {"enabled", "enable", "is_enabled"}) {
    auto it = argument.find(name);
    if (it != argument.end()) return is_nothing(*it);
  }
  return argument.empty() || argument.value("ad_model", Json()) == "None";
}

}  // namespace

bool webui_setting_does_nothing(std::string_view name, const Json& value) {
  for (const Neutral& each : neutral_settings) {
    if (each.name != name) continue;
    const Json values = parse_json(each.values, std::string(name));
    return std::find(values.begin(), values.end(), value) != values.end();
  }
  return std::any_of(of_no_image.begin(), of_no_image.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

bool webui_script_does_nothing(const Json& script) {
  if (script.is_null()) return true;
  if (!script.is_object()) return false;
  auto given = script.find("args");
  if (given == script.end() || given->is_null()) return true;
  if (given->is_object()) return is_off(*given);
  if (!given->is_array()) return false;
  return given->empty() || given->front() == false ||
         std::all_of(given->begin(), given->end(), is_off);
}

}  // namespace omnirt::serve
