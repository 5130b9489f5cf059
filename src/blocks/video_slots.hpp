#pragma once
#include "blocks/slots.hpp"

// The values of videos that several blocks pass on: n videos of F frames. The axes of videos are in
// one order everywhere: {n, F, C, H, W}, and of latents {n, F, C, h, w}. A network that wants
// another order permutes its inputs itself. Noise may be drawn in another (blocks/video_noise.hpp).
namespace omnirt::video_slots {

inline constexpr Slot<std::vector<io::Image>> first_images{
    "first_images", "what each video begins with", {"n"}};
inline constexpr Slot<std::vector<io::Image>> frames{"frames",
                                                     "of each video, one video after the other"};
inline constexpr Slot<Tensor> given_noise{
    "given_noise", "initial noise that the request brings", {"n", "F", "C", "H/8", "W/8"}};
inline constexpr Slot<Tensor> latents{
    "latents", "from noise to video", {"n", "F", "C", "H/8", "W/8"}};
inline constexpr Slot<std::shared_ptr<Noise>> noise_source{
    "noise_source", "the generators, one per video", {"n"}};
inline constexpr Slot<Tensor> decoded_images{
    "decoded_images", "the frames as decoded, -1..1", {"n", "F'", "3", "H", "W"}};
inline constexpr Slot<std::vector<uint64_t>> seeds{"seeds", "one per video", {"n"}};

}  // namespace omnirt::video_slots
