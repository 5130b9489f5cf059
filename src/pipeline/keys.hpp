#pragma once
#include "base/keys.hpp"

// The config keys that pipelines share. A key that only one family has is declared in that family's
// folder.
namespace omnirt::keys {

inline constexpr Key<int64_t> num_inference_steps{
    "num_inference_steps", int64_t{50}, {1, 1000}, "steps", "denoising steps"};
inline constexpr Key<double> guidance_scale{
    "guidance_scale",
    7.5,
    {0, 100},
    "guidance-scale",
    "how strongly the prompt is followed; 1 or less: no guidance, one forward a step"};
inline constexpr Key<double> guidance_rescale{"guidance_rescale",
                                              0.0,
                                              {0, 1},
                                              "guidance-rescale",
                                              "pulls the contrast of strong guidance back; 0: off"};
inline constexpr Key<int64_t> seed{"seed",
                                   std::monostate{},
                                   {0, 9007199254740991.0},
                                   "seed",
                                   "seed of the noise; unset: drawn, and reported"};
inline constexpr Key<int64_t> width{
    "width", std::monostate{}, {8, 8192}, "width", "picture width in pixels"};
inline constexpr Key<int64_t> height{
    "height", std::monostate{}, {8, 8192}, "height", "picture height in pixels"};
inline constexpr Key<int64_t> num_images_per_prompt{"num_images_per_prompt",
                                                    int64_t{1},
                                                    {1, 64},
                                                    "num-images",
                                                    "pictures a prompt; picture i has seed + i",
                                                    "n"};
inline constexpr Key<double> strength{
    "strength",
    0.8,
    {0, 1},
    "strength",
    "how far the given picture is changed: 0 keeps it, 1 only keeps its size"};
inline constexpr Key<std::string> scheduler{
    "scheduler",
    std::monostate{},
    {},
    "scheduler",
    "scheduler by class or short name; unset: the model's own"};
inline constexpr Key<Json> scheduler_config{"scheduler_config",
                                            std::monostate{},
                                            {},
                                            "scheduler-config",
                                            "settings over the scheduler's config, as JSON"};
inline constexpr Key<double> eta{
    "eta", 0.0, {0, 1}, "eta", "DDIM's share of fresh noise a step; 0: deterministic"};
inline constexpr Key<int64_t> clip_skip{"clip_skip",
                                        int64_t{0},
                                        {0, 64},
                                        "clip-skip",
                                        "layers of the text encoder to leave out at its end"};
inline constexpr Key<std::string> dtype{
    "dtype", "fp32", {}, "dtype", "the type to compute in", "", "fp32|bf16|fp16"};
inline constexpr Key<std::string> preset{"preset",
                                         std::monostate{},
                                         {},
                                         "preset",
                                         "a set of values between the model's and yours",
                                         "",
                                         "fast|balanced|quality|low-vram"};
inline constexpr Key<std::string> model_path{
    "model_path", std::monostate{}, {}, "model-path", "folder to read the model id's weights from"};
inline constexpr Key<std::string> single_file_config{
    "single_file_config",
    std::monostate{},
    {},
    "single-file-config",
    "for a model of one file: a pipeline folder whose configs and tokenizers count"};
inline constexpr Key<std::string> output{"output",
                                         std::monostate{},
                                         {},
                                         "output",
                                         "file to write; n pictures become name_0 to name_{n-1}",
                                         "o"};
inline constexpr Key<std::string> output_dir{
    "output_dir",
    "out",
    {},
    "output-dir",
    "folder to write to when no output is named; made when missing"};
inline constexpr Key<std::string> output_format{
    "output_format",
    std::monostate{},
    {},
    "output-format",
    "picture format (of videos: mp4, gif, webp, frames); unset: told from the output's name",
    "",
    "png|jpeg|webp"};
inline constexpr Key<std::string> output_type{
    "output_type",
    "image",
    {},
    "output-type",
    "what is written: pictures, or the latents that they would be decoded from, as safetensors",
    "",
    "image|latent"};
inline constexpr Key<int64_t> max_batch_rows{
    "max_batch_rows",
    int64_t{8},
    {1, 256},
    "max-batch-rows",
    "rows (pictures x conditions) that the denoiser takes at once"};
inline constexpr Key<std::string> level{
    "level",
    "auto",
    {},
    "level",
    "run networks at this level, and no other; auto: the fastest that works",
    "",
    "auto|compile|kernel_override|eager"};
inline constexpr Key<std::string> require_level{
    "require_level",
    std::monostate{},
    {},
    "require",
    "a level, or a faster one, that the run must keep to: falling below it is an error",
    "",
    "compile|kernel_override|eager"};
inline constexpr Key<std::string> pack{
    "pack",
    "auto",
    {},
    "pack",
    "weights kept in a form of the kernels beside the stored one: where it pays, within a memory "
    "limit; never; or wherever a kernel has one",
    "",
    "auto|never|always"};
inline constexpr Key<std::string> quantize{
    "quantize",
    "none",
    {},
    "quantize",
    "round the weights of linear layers and convolutions: faster and smaller, another picture",
    "",
    "none|int8"};
inline constexpr Key<std::string> matmul_precision{
    "matmul_precision",
    "high",
    {},
    "matmul-precision",
    "how fp32 products are computed at the compile level: highest, in fp32; high, each number as "
    "the "
    "sum of two bf16 ones, on processors with a matrix unit (AMX)",
    "",
    "high|highest"};
inline constexpr Key<bool> profile{
    "profile",
    false,
    {},
    "profile",
    "tell in the report what each op took, by kernel and shape (the run is a little slower)"};
inline constexpr Key<std::string> cache{
    "cache",
    "none",
    {},
    "cache",
    "what steps share: deep takes the UNet's deep features over from step to step (DeepCache)",
    "",
    "none|deep"};
inline constexpr Key<int64_t> cache_interval{
    "cache_interval",
    int64_t{3},
    {1, 1000},
    "cache-interval",
    "with a cache, every so many steps are computed in full; 1: all"};
inline constexpr Key<int64_t> cache_branch{
    "cache_branch",
    int64_t{0},
    {0, 1000},
    "cache-branch",
    "with a cache, the skip connection above which every step computes the UNet; 0: the topmost"};
inline constexpr Key<int64_t> cache_order{
    "cache_order",
    int64_t{0},
    {0, 1},
    "cache-order",
    "with a cache, how features go on between full steps: 0, as they were; 1, along the line "
    "through the last two full steps (TaylorSeer)"};
inline constexpr Key<int64_t> window_size{"window_size",
                                          std::monostate{},
                                          {64, 8192},
                                          "window-size",
                                          "denoise in overlapping square windows of so many "
                                          "pixels, averaged where they meet (panoramas); "
                                          "unset: the whole picture at once"};
inline constexpr Key<int64_t> window_stride{
    "window_stride",
    std::monostate{},
    {8, 8192},
    "window-stride",
    "pixels from one window to the next; unset: an eighth of the window"};
inline constexpr Key<bool> circular_padding{
    "circular_padding",
    false,
    {},
    "circular-padding",
    "windows go on at the left edge where they cross the right one: a picture without a seam"};
inline constexpr Key<bool> release_components{
    "release_components",
    false,
    {},
    "release-components",
    "give a component's memory back after its last use in the run"};

// Keys of the run itself; all others are declared by blocks.
std::vector<const KeyInfo*> of_every_run();

}  // namespace omnirt::keys
