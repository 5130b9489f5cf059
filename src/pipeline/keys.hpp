#pragma once
#include "base/compute_options.hpp"
#include "base/compute_type.hpp"
#include "base/keys.hpp"
#include "io/image_format.hpp"
#include "runtime/level.hpp"

namespace omnirt {

// Sets of values over a model's own.
enum class Preset { fast, balanced, quality, low_vram };
template <>
struct ChoiceNames<Preset> {
  static constexpr std::array names{"fast", "balanced", "quality", "low-vram"};
};

// A Level, or the fastest that works.
enum class LevelChoice { automatic, compile, kernel_override, eager };
template <>
struct ChoiceNames<LevelChoice> {
  static constexpr std::array names{"auto", "compile", "kernel_override", "eager"};
};

enum class OutputType { image, latent };
template <>
struct ChoiceNames<OutputType> {
  static constexpr std::array names{"image", "latent"};
};

// What steps of a loop share.
enum class CacheKind { none, deep, first_block, mag, taylorseer };
template <>
struct ChoiceNames<CacheKind> {
  static constexpr std::array names{"none", "deep", "first_block", "mag", "taylorseer"};
};

// Of what steps keep for a prediction.
enum class FactorsType { bf16, fp16, fp32 };
template <>
struct ChoiceNames<FactorsType> {
  static constexpr std::array names{"bf16", "fp16", "fp32"};
};

}  // namespace omnirt

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
    "how strongly the prompt is followed; 1 or less: no guidance, one network pass per step"};
inline constexpr Key<double> guidance_rescale{"guidance_rescale",
                                              0.0,
                                              {0, 1},
                                              "guidance-rescale",
                                              "pulls the contrast of strong guidance back; 0: off"};
inline constexpr Key<int64_t> seed{"seed",
                                   std::monostate{},
                                   {0, 9007199254740991.0},
                                   "seed",
                                   "seed of the noise; default: random, and printed after the run"};
inline constexpr Key<int64_t> width{
    "width", std::monostate{}, {8, 8192}, "width", "image width in pixels"};
inline constexpr Key<int64_t> height{
    "height", std::monostate{}, {8, 8192}, "height", "image height in pixels"};
inline constexpr Key<int64_t> num_images_per_prompt{"num_images_per_prompt",
                                                    int64_t{1},
                                                    {1, 64},
                                                    "num-images",
                                                    "images per prompt; image i uses seed + i",
                                                    "n"};
inline constexpr Key<int64_t> max_sequence_length{
    "max_sequence_length",
    int64_t{512},
    {2, 4096},
    "max-sequence-length",
    "tokens that a prompt may have, with those that the model puts around it; more is cut"};
inline constexpr Key<double> strength{
    "strength",
    0.8,
    {0, 1},
    "strength",
    "how far the given image is changed: 0 keeps it, 1 only keeps its size"};
inline constexpr Key<std::string> scheduler{
    "scheduler",
    std::monostate{},
    {},
    "scheduler",
    "scheduler by class or short name; default: the model's own"};
inline constexpr Key<Json> scheduler_config{
    "scheduler_config",
    std::monostate{},
    {},
    "scheduler-config",
    "settings that override the scheduler's config, as JSON"};
inline constexpr Key<Json> timesteps{
    "timesteps",
    std::monostate{},
    {},
    "timesteps",
    "timesteps of the steps, the noisiest first, in place of the scheduler's own",
    "",
    "list"};
inline constexpr Key<Json> sigmas{
    "sigmas",
    std::monostate{},
    {},
    "sigmas",
    "noise levels of the steps, the noisiest first, in place of the scheduler's own",
    "",
    "list"};
inline constexpr Key<double> eta{
    "eta", 0.0, {0, 1}, "eta", "DDIM's and TCD's share of fresh noise per step; 0: deterministic"};
inline constexpr Key<int64_t> clip_skip{
    "clip_skip",
    int64_t{0},
    {0, 64},
    "clip-skip",
    "last layers of the text encoder to skip (0: none; A1111 counts from 1)"};
inline constexpr Key<ComputeType> dtype{"dtype", ComputeType::fp32, "dtype",
                                        "the type to compute in"};
inline constexpr Key<Preset> preset{"preset", std::monostate{}, "preset",
                                    "a set of values over the model's; your own keys win"};
inline constexpr Key<std::string> model_path{
    "model_path", std::monostate{}, {}, "model-path", "folder to read the model id's weights from"};
inline constexpr Key<std::string> single_file_config{
    "single_file_config",
    std::monostate{},
    {},
    "single-file-config",
    "for a single-file model: a pipeline folder whose configs and tokenizers are used"};
inline constexpr Key<std::string> output{
    "output", std::monostate{}, {}, "output", "file to write; n images become name_0 to name_{n-1}",
    "o"};
inline constexpr Key<std::string> output_dir{
    "output_dir",
    "out",
    {},
    "output-dir",
    "folder to write to when no output is named; made when missing"};
inline constexpr Key<io::ImageFormat> output_format{
    "output_format", std::monostate{}, "output-format",
    "image format (of videos: mp4, gif, webp, frames); default: from the output's extension"};
inline constexpr Key<OutputType> output_type{
    "output_type", OutputType::image, "output-type",
    "what is written: images, or their latents, as safetensors"};
inline constexpr Key<int64_t> max_batch_rows{"max_batch_rows",
                                             int64_t{8},
                                             {1, 256},
                                             "max-batch-rows",
                                             "rows (images x conditions) per call of the denoiser"};
inline constexpr Key<LevelChoice> level{
    "level", LevelChoice::automatic, "level",
    "run networks at this level only; auto: the fastest that works"};
inline constexpr Key<Level> require_level{
    "require_level", std::monostate{}, "require",
    "the slowest level that the run may use: falling below it is an error"};
inline constexpr Key<PackPolicy> pack{"pack", PackPolicy::automatic, "pack",
                                      "keep repacked copies of weights: auto, where it pays, "
                                      "within a memory limit; never; or always, "
                                      "wherever a kernel has such a form"};
inline constexpr Key<Quantization> quantize{
    "quantize", Quantization::automatic, "quantize",
    "int8: round the weights of linear layers and convolutions, and what they multiply: faster and "
    "smaller, but the image changes; auto: only the layers whose files hold int8; none: no layer"};
inline constexpr Key<MatmulPrecision> matmul_precision{
    "matmul_precision", MatmulPrecision::high, "matmul-precision",
    "how fp32 products are computed at the compile level: highest, in fp32; high, each number as "
    "the sum of two bf16 ones, on processors with a matrix unit (AMX); medium, linear layers and "
    "attention with numbers rounded to bf16, on processors that multiply these (AVX512-BF16, AMX)"};
inline constexpr Key<bool> profile{
    "profile",
    false,
    {},
    "profile",
    "report and print the time of each op, by kernel and shape, and of each block of the networks "
    "(the run is a little slower)"};
inline constexpr Key<CacheKind> cache{
    "cache", CacheKind::none, "cache",
    "what steps share: deep reuses a UNet's deep features from step to step (DeepCache); "
    "first_block, what a transformer's blocks after the first add, where the first one's part "
    "changes little (FirstBlockCache); mag, what all its blocks add, at steps that cache_ratios "
    "choose (MagCache); taylorseer predicts what a transformer's attentions make from the steps "
    "before (TaylorSeer)"};
inline constexpr Key<int64_t> cache_interval{
    "cache_interval",
    std::monostate{},
    {1, 1000},
    "cache-interval",
    "with cache deep or taylorseer, every N-th step is computed in full; 1: all (default: 3 with "
    "deep, 5 with taylorseer)"};
inline constexpr Key<int64_t> cache_branch{"cache_branch",
                                           int64_t{0},
                                           {0, 1000},
                                           "cache-branch",
                                           "with cache deep, the skip connection above which every "
                                           "step computes the UNet; 0: the topmost"};
inline constexpr Key<int64_t> cache_order{
    "cache_order",
    int64_t{0},
    {0, 1},
    "cache-order",
    "with cache deep, how features continue between full steps: 0, unchanged; 1, along the line "
    "through the last two full steps (TaylorSeer)"};
inline constexpr Key<double> cache_threshold{
    "cache_threshold",
    std::monostate{},
    {0, 10},
    "cache-threshold",
    "with cache first_block, the largest relative change of the first block's part at which the "
    "rest is reused (default: 0.05); with mag, the largest error that skipped steps may add up to "
    "(default: 0.06)"};
inline constexpr Key<Json> cache_ratios{
    "cache_ratios",
    std::monostate{},
    {},
    "cache-ratios",
    "with cache mag: by how much what the blocks add grows from each step to the next, as measured "
    "for the model (MagCache's mag_ratios)",
    "",
    "list"};
inline constexpr Key<int64_t> cache_max_skips{
    "cache_max_skips",
    int64_t{3},
    {1, 1000},
    "cache-max-skips",
    "with cache mag: the most steps that are skipped one after the other"};
inline constexpr Key<double> cache_retention{
    "cache_retention",
    0.2,
    {0, 1},
    "cache-retention",
    "with cache mag: the share of the first steps that are always computed"};
inline constexpr Key<int64_t> disable_cache_before_step{
    "disable_cache_before_step",
    int64_t{3},
    {1, 1000},
    "disable-cache-before-step",
    "with cache taylorseer: how many of the first steps are always computed"};
inline constexpr Key<int64_t> disable_cache_after_step{
    "disable_cache_after_step",
    std::monostate{},
    {0, 1000},
    "disable-cache-after-step",
    "with cache taylorseer: the step, counted from 0, from which on all are computed; default: "
    "none"};
inline constexpr Key<int64_t> max_order{
    "max_order",
    int64_t{1},
    {0, 8},
    "max-order",
    "with cache taylorseer: the highest order of the Taylor series; each takes as much memory as "
    "order 0, which repeats the last result"};
inline constexpr Key<FactorsType> taylor_factors_dtype{
    "taylor_factors_dtype", FactorsType::bf16, "taylor-factors-dtype",
    "with cache taylorseer: the type in which results and their differences are kept"};
inline constexpr Key<bool> use_lite_mode{
    "use_lite_mode",
    false,
    {},
    "use-lite-mode",
    "with cache taylorseer: predict the network's output alone, which takes hardly any memory or "
    "time, instead of what each attention makes"};
inline constexpr Key<int64_t> window_size{"window_size",
                                          std::monostate{},
                                          {64, 8192},
                                          "window-size",
                                          "denoise in overlapping square windows of so many "
                                          "pixels, averaged where they meet (panoramas); "
                                          "default: the whole image at once"};
inline constexpr Key<int64_t> window_stride{
    "window_stride",
    std::monostate{},
    {8, 8192},
    "window-stride",
    "pixels from one window to the next; default: an eighth of the window"};
inline constexpr Key<bool> circular_padding{
    "circular_padding",
    false,
    {},
    "circular-padding",
    "windows wrap around from the right edge to the left one: an image without a seam"};
inline constexpr Key<bool> release_components{
    "release_components",
    false,
    {},
    "release-components",
    "release a component's memory after its last use in the run"};

// Keys of the run itself; all others are declared by blocks.
std::vector<const KeyInfo*> of_every_run();

}  // namespace omnirt::keys
