#include "serve/webui_fields.hpp"

#include <array>

namespace omnirt::serve {

namespace {

using FieldUse = WebuiUse;

constexpr auto webui_field_rows = std::to_array<WebuiField>({
    {"prompt", "string", FieldUse::read, "", true, true},
    {"negative_prompt", "string", FieldUse::read, "", true, true},
    {"seed", "integer", FieldUse::config, "seed", true, true},
    {"steps", "integer", FieldUse::config, "num_inference_steps", true, true},
    {"cfg_scale", "number", FieldUse::config, "guidance_scale", true, true},
    {"width", "integer", FieldUse::config, "width", true, true},
    {"height", "integer", FieldUse::config, "height", true, true},
    {"batch_size", "integer", FieldUse::read, "", true, true},
    {"n_iter", "integer", FieldUse::read, "", true, true},
    {"sampler_name", "string", FieldUse::read, "", true, true},
    {"sampler_index", "string", FieldUse::read, "", true, true},
    {"scheduler", "string", FieldUse::read, "", true, true},
    {"eta", "number", FieldUse::read, "", true, true},
    {"override_settings", "object", FieldUse::read, "", true, true},
    {"send_images", "boolean", FieldUse::read, "", true, true},
    {"alwayson_scripts", "object", FieldUse::read, "", true, true},
    {"enable_hr", "boolean", FieldUse::read, "", true, false},
    {"hr_scale", "number", FieldUse::read, "", true, false},
    {"hr_upscaler", "string", FieldUse::read, "", true, false},
    {"hr_second_pass_steps", "integer", FieldUse::read, "", true, false},
    {"hr_resize_x", "integer", FieldUse::read, "", true, false},
    {"hr_resize_y", "integer", FieldUse::read, "", true, false},
    {"hr_sampler_name", "string", FieldUse::read, "", true, false},
    {"hr_scheduler", "string", FieldUse::read, "", true, false},
    {"hr_prompt", "string", FieldUse::read, "", true, false},
    {"hr_negative_prompt", "string", FieldUse::read, "", true, false},
    {"hr_checkpoint_name", "string", FieldUse::read, "", true, false},
    // Forge's.
    {"hr_additional_modules", "array", FieldUse::read, "", true, false},
    {"hr_cfg", "number", FieldUse::read, "", true, false},
    {"hr_distilled_cfg", "number", FieldUse::read, "", true, false},
    {"distilled_cfg_scale", "number", FieldUse::read, "", true, true},
    // SD.Next's.
    {"clip_skip", "integer", FieldUse::read, "", true, true},
    {"denoising_strength", "number", FieldUse::read, "", true, true},
    {"init_images", "array", FieldUse::read, "", false, true},
    {"include_init_images", "boolean", FieldUse::read, "", false, true},
    {"resize_mode", "integer", FieldUse::read, "", false, true},
    {"mask", "string", FieldUse::read, "", false, true},
    {"mask_blur", "integer", FieldUse::read, "", false, true},
    {"mask_blur_x", "integer", FieldUse::read, "", false, true},
    {"mask_blur_y", "integer", FieldUse::read, "", false, true},
    {"inpainting_fill", "integer", FieldUse::read, "", false, true},
    {"inpaint_full_res", "any", FieldUse::read, "", false, true},
    {"inpaint_full_res_padding", "integer", FieldUse::read, "", false, true},
    {"inpainting_mask_invert", "any", FieldUse::read, "", false, true},
    {"mask_round", "boolean", FieldUse::neutral, "[true]", false, true},
    {"latent_mask", "any", FieldUse::neutral, "[]", false, true},
    {"initial_noise_multiplier", "number", FieldUse::neutral, "[1]", false, true},
    {"styles", "array", FieldUse::neutral, "[[]]", true, true},
    {"subseed_strength", "number", FieldUse::neutral, "[0]", true, true},
    {"seed_resize_from_h", "integer", FieldUse::neutral, "[-1, 0]", true, true},
    {"seed_resize_from_w", "integer", FieldUse::neutral, "[-1, 0]", true, true},
    {"restore_faces", "boolean", FieldUse::neutral, "[false]", true, true},
    {"tiling", "boolean", FieldUse::neutral, "[false]", true, true},
    {"s_churn", "number", FieldUse::neutral, "[0]", true, true},
    {"s_noise", "number", FieldUse::neutral, "[1]", true, true},
    {"s_min_uncond", "number", FieldUse::neutral, "[0]", true, true},
    {"script_name", "string", FieldUse::neutral, "[\"\", \"None\"]", true, true},
    {"refiner_checkpoint", "string", FieldUse::neutral, "[\"\", \"None\"]", true, true},
    {"disable_extra_networks", "boolean", FieldUse::neutral, "[false]", true, true},
    {"override_settings_restore_afterwards", "boolean", FieldUse::neutral, "[true]", true, true},
    {"infotext", "string", FieldUse::neutral, "[\"\"]", true, true},
    {"firstpass_image", "string", FieldUse::neutral, "[\"\"]", true, false},
    {"firstphase_width", "integer", FieldUse::neutral, "[0]", true, false},
    {"firstphase_height", "integer", FieldUse::neutral, "[0]", true, false},
    {"forge_additional_modules", "array", FieldUse::neutral, "[[]]", true, true},
    // SD.Next's.
    {"hr_force", "boolean", FieldUse::neutral, "[false]", true, false},
    {"full_quality", "boolean", FieldUse::neutral, "[true]", true, true},
    {"detailer", "any", FieldUse::neutral, "[false]", true, true},
    {"detailer_enabled", "boolean", FieldUse::neutral, "[false]", true, true},
    {"hidiffusion", "boolean", FieldUse::neutral, "[false]", true, true},
    {"cfg_end", "number", FieldUse::neutral, "[1]", true, true},
    {"pag_scale", "number", FieldUse::neutral, "[0]", true, true},
    {"diffusers_guidance_rescale", "number", FieldUse::neutral, "[0]", true, true},
    {"refiner_steps", "integer", FieldUse::ignored, "", true, true},
    {"refiner_start", "number", FieldUse::ignored, "", true, true},
    // Without effect where the fields above have these values: with no variation, churn, refiner
    // or script.
    {"subseed", "integer", FieldUse::ignored, "", true, true},
    {"s_tmin", "number", FieldUse::ignored, "", true, true},
    {"s_tmax", "number", FieldUse::ignored, "", true, true},
    {"refiner_switch_at", "number", FieldUse::ignored, "", true, true},
    {"script_args", "array", FieldUse::ignored, "", true, true},
    // Of InstructPix2Pix alone.
    {"image_cfg_scale", "number", FieldUse::ignored, "", false, true},
    {"save_images", "boolean", FieldUse::ignored, "", true, true},
    {"do_not_save_samples", "boolean", FieldUse::ignored, "", true, true},
    {"do_not_save_grid", "boolean", FieldUse::ignored, "", true, true},
    {"force_task_id", "string", FieldUse::ignored, "", true, true},
    {"comments", "object", FieldUse::ignored, "", true, true},
});

}  // namespace

std::span<const WebuiField> webui_fields() {
  return webui_field_rows;
}

}  // namespace omnirt::serve
