#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/report.hpp"
#include "io/image.hpp"
#include "pipeline/block.hpp"
#include "pipeline/schedule.hpp"
#include "tensor/generator.hpp"

// The values that blocks of several files pass on, each declared once.
namespace omnirt::slots {

inline constexpr Slot<std::vector<ArtifactReport>> artifacts{"artifacts", "the files written"};
inline constexpr Slot<Tensor> extra_channels{
    "extra_channels", "joined to the latents", {"B", "C'", "H/8", "W/8"}};
inline constexpr Slot<Tensor> given_noise{
    "given_noise", "initial noise that the request brings", {"B", "C", "H/8", "W/8"}};
inline constexpr Slot<io::Image> image{"image", "the image to start from"};
inline constexpr Slot<Tensor> image_latents{
    "image_latents", "the given image", {"B", "C", "H/8", "W/8"}};
inline constexpr Slot<std::vector<io::Image>> images{"images", "the images", {"B"}};
inline constexpr Slot<Tensor> keep_mask{
    "keep_mask", "0 where the image is put back at each step", {"1", "1", "H/8", "W/8"}};
inline constexpr Slot<Tensor> latents{"latents", "from noise to image", {"B", "C", "H/8", "W/8"}};
inline constexpr Slot<Tensor> mask_latents{
    "mask_latents", "1 where the image is repainted", {"1", "1", "H/8", "W/8"}};
inline constexpr Slot<Tensor> mask_pixels{
    "mask_pixels", "1 where the image is repainted", {"1", "1", "H", "W"}};
inline constexpr Slot<Tensor> noise{"noise", "the first draw", {"B", "C", "H/8", "W/8"}};
inline constexpr Slot<std::shared_ptr<Noise>> noise_source{
    "noise_source", "the generators, one per image", {"B"}};
inline constexpr Slot<Tensor> decoded_images{
    "decoded_images", "the images as decoded, -1..1", {"B", "3", "H", "W"}};
inline constexpr Slot<std::vector<std::string>> prompt{"prompt", "what the image shows"};
inline constexpr Slot<Tensor> prompt_embeds{
    "prompt_embeds", "what the prompt means", {"B", "T", "D"}};
inline constexpr Slot<Schedule> schedule{"schedule", "the scheduler, planned: from noise to image"};
inline constexpr Slot<std::vector<uint64_t>> seeds{"seeds", "one per image", {"B"}};

}  // namespace omnirt::slots
