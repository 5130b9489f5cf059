#include "request/other_words.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace omnirt {
namespace {

using enum OtherWord::Meaning;

constexpr OtherWord words[] = {
    {"cfg", "config.guidance_scale"},
    {"cfg_scale", "config.guidance_scale"},
    {"scale", "config.guidance_scale", near},
    {"guidance", "config.guidance_scale", near},
    {"cfg_rescale", "config.guidance_rescale"},
    {"steps", "config.num_inference_steps"},
    {"num_steps", "config.num_inference_steps"},
    {"ddim_steps", "config.num_inference_steps"},
    {"sampling_steps", "config.num_inference_steps"},
    {"inference_steps", "config.num_inference_steps"},
    {"sampler", "config.scheduler"},
    {"sampler_name", "config.scheduler"},
    {"sampling_method", "config.scheduler"},
    {"sample_method", "config.scheduler"},
    {"denoise", "config.strength"},
    {"denoising_strength", "config.strength"},
    {"W", "config.width"},
    {"H", "config.height"},
    {"size", "config.width", near, "--width 512 --height 768"},
    {"resolution", "config.width", near, "--width 512 --height 768"},
    {"batch_count", "config.num_images_per_prompt"},
    {"n_iter", "config.num_images_per_prompt"},
    {"num_images", "config.num_images_per_prompt"},
    {"n_samples", "config.num_images_per_prompt"},
    {"b", "config.num_images_per_prompt", near},
    {"batch", "config.num_images_per_prompt", near},
    {"batch_size", "config.num_images_per_prompt", near,
     "how many are computed at once is --max-batch-rows"},
    {"s", "config.seed", near, "steps are --steps"},
    {"noise_seed", "config.seed"},
    {"clipskip", "config.clip_skip", near, "A1111's 2 is 1 here"},
    {"type", "config.quantize", near, "to compute in another type: --dtype"},
    {"precision", "config.dtype", near},
    {"fp16", "config.dtype", near, "folders of fp16 weights run as they are, without it"},
    {"half", "config.dtype", near, "folders of fp16 weights run as they are, without it"},
    {"no_half", "config.dtype", near, "fp32 is the default"},
    {"medvram", "config.preset", near, "--preset low-vram"},
    {"lowvram", "config.preset", near, "--preset low-vram"},
    {"offload_to_cpu", "config.preset", near, "--preset low-vram"},
    {"quality", "config.preset", near, "--preset quality"},
    {"out", "config.output"},
    {"outfile", "config.output"},
    {"outdir", "config.output_dir"},
    {"outpath", "config.output_dir", near},
    {"filename_prefix", "config.output", near, "-o 'name_{index}.png'"},
    {"frames", "config.num_frames", near},
    {"video_frames", "config.num_frames"},
    {"motion_bucket", "config.motion_bucket_id"},
    {"augmentation_level", "config.noise_aug_strength"},
    {"neg", "inputs.negative_prompt"},
    {"negative", "inputs.negative_prompt"},
    {"neg_prompt", "inputs.negative_prompt"},
    {"uc", "inputs.negative_prompt", near},
    {"init_img", "inputs.image"},
    {"init_image", "inputs.image"},
    {"input_image", "inputs.image"},
    {"img", "inputs.image", near},
    {"mask_image", "inputs.mask"},
    {"ref_image", "inputs.image_reference", near},
    {"r", "inputs.image_reference", near},
    {"control_image", "inputs.control_image"},
    {"device", "backend"},
    {"ckpt", "model"},
    {"checkpoint", "model"},
    {"ckpt_name", "model"},
    {"ckpt_path", "model"},
    {"pretrained_model_name_or_path", "model"},
    {"diffusion_model", "components.transformer", near,
     "--component transformer=FILE (unet=FILE), over a model's folder"},
    {"unet", "components.unet", near, "--component unet=FILE"},
    {"vae_path", "components.vae"},
    {"control_net", "components.controlnet"},
    {"preprocessor", "config.control_preprocess"},
    {"control_module", "config.control_preprocess"},
    {"canny", "config.control_preprocess", near, "--control-preprocess canny"},
    {"clip_l", "components.text_encoder", near, "--component text_encoder=FOLDER"},
    {"clip_g", "components.text_encoder_2", near, "--component text_encoder_2=FOLDER"},
    {"t5xxl", "components.text_encoder", near, "--component text_encoder=FOLDER"},
    {"taesd", "config.preview_decoder", near, "--preview-decoder tiny"},
    {"mode", "task", near, "if omitted, it is inferred from the inputs"},
    {"M", "task", near, "if omitted, it is inferred from the inputs"},
    {"loras", "adapters", near},
    {"lora_path", "adapters"},
    {"lora_model_dir", "adapters", near, "the variable OMNIRT_MODELS names folders of models"},
    {"embd_dir", "adapters", near, "--lora takes textual inversions, too"},
    {"embeddings", "adapters", near, "--lora takes textual inversions, too"},
    {"t", "threads"},
    {"config", "file", near},
    {"request", "file", near},
    {"verbose", "", none, "--json prints the whole report, --dry-run what would run"},
    {"v", "", none, "--json prints the whole report, --dry-run what would run"},
    {"karras", "config.scheduler_config", near,
     "--scheduler-config '{\"use_karras_sigmas\": true}'"},
    {"upscale_model", "components.upscaler"},
    {"upscaler_name", "components.upscaler"},
    {"upscaling_resize", "config.upscale"},
    {"upscale_by", "config.upscale"},
    {"upscale_factor", "config.upscale"},
    {"upscale_tile_size", "config.upscale_tile"},
    {"tile_size", "config.upscale_tile", near},
    {"upscale_repeats", "config.upscale", near, "the end size says how often, --upscale 16"},
    {"hires", "config.hires_scale", near, "--hires-scale 2"},
    {"hires_fix", "config.hires_scale", near, "--hires-scale 2"},
    {"highres_fix", "config.hires_scale", near, "--hires-scale 2"},
    {"enable_hr", "config.hires_scale", near, "--hires-scale 2"},
    {"hr_scale", "config.hires_scale"},
    {"hires_upscale", "config.hires_scale"},
    {"hr_upscaler", "config.hires_upscaler"},
    {"hr_second_pass_steps", "config.hires_steps"},
    {"hr_resize_x", "config.hires_width"},
    {"hr_resize_y", "config.hires_height"},
    {"hires_denoising_strength", "config.hires_strength"},
    {"hires_denoise", "config.hires_strength"},
    {"hires_upscale_tile_size", "config.upscale_tile"},
    {"vae_tiling", "", none, "there is no tiled decoding here"},
    {"xformers", "", none, "there is no choice of attention here"},
    {"diffusion_fa", "", none, "there is no choice of attention here"},
    {"rng", "", none, "noise is drawn as diffusers draws it on the CPU"},
    {"gpu", "backend", near, "--backend cuda"},
    {"cuda", "backend", near, "--backend cuda"},
    {"cpu", "backend", near, "--backend cpu"},
    {"port", "", none, "there is no server; embed the library, or run a command for each request"},
    {"listen", "", none,
     "there is no server; embed the library, or run a command for each request"},
};

// Fields by their own names, for words that stand one level too high or too low.
constexpr std::string_view fields[] = {
    "task",
    "model",
    "backend",
    "inputs.prompt",
    "inputs.prompt_2",
    "inputs.negative_prompt",
    "inputs.negative_prompt_2",
    "inputs.image",
    "inputs.mask",
    "inputs.latents",
    "inputs.control_image",
    "inputs.ip_adapter_image",
    "inputs.image_reference",
    "config.num_inference_steps",
    "config.guidance_scale",
    "config.guidance_rescale",
    "config.scheduler",
    "config.scheduler_config",
    "config.seed",
    "config.width",
    "config.height",
    "config.strength",
    "config.num_images_per_prompt",
    "config.clip_skip",
    "config.eta",
    "config.dtype",
    "config.preset",
    "config.output",
    "config.output_dir",
    "config.output_format",
    "components.vae",
    "components.controlnet",
};

std::string spelled(std::string_view word) {
  std::string out(word);
  std::ranges::replace(out, '-', '_');
  if (out.size() == 1) return out;
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

std::span<const OtherWord> other_words() {
  return words;
}

const OtherWord* find_other_word(std::string_view word) {
  const auto* found = std::ranges::find(words, spelled(word), &OtherWord::word);
  return found == std::end(words) ? nullptr : found;
}

std::string field_meant(std::string_view place, std::string_view word) {
  std::string given = spelled(word);
  std::string here = place.empty() ? given : std::string(place) + "." + given;
  for (std::string_view field : fields) {
    if (field != here && (field == given || field.ends_with("." + given)))
      return std::string(field);
  }
  const OtherWord* other = given.size() > 1 ? find_other_word(given) : nullptr;
  bool of_request = other && !other->field.empty() && other->field != "threads" &&
                    other->field != "file" && other->field != here;
  return of_request ? std::string(other->field) : "";
}

}  // namespace omnirt
