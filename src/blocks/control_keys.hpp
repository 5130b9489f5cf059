#pragma once
#include "base/keys.hpp"

// The config keys of ControlNets, T2I-Adapters and IP-Adapters. What may be given for each of
// several is a number for all or a list.
namespace omnirt::keys {

inline constexpr Key<Json> controlnet_conditioning_scale{
    "controlnet_conditioning_scale",
    1.0,
    {},
    "",
    "how strongly a ControlNet is followed: a number, or a list with one for each; models set it "
    "by task as the reference does, 0.8 for image2image and, but for SDXL, 0.5 for inpaint",
    "",
    "number|list"};
inline constexpr Key<Json> control_guidance_start{
    "control_guidance_start",
    0.0,
    {},
    "",
    "the part of the steps at which a ControlNet sets in, 0 to 1: a number, or a list",
    "",
    "number|list"};
inline constexpr Key<Json> control_guidance_end{
    "control_guidance_end",
    1.0,
    {},
    "",
    "the part of the steps at which a ControlNet ends: a number, or a list",
    "",
    "number|list"};
inline constexpr Key<Json> control_mode{
    "control_mode",
    std::monostate{},
    {},
    "",
    "what a union ControlNet's image is, by the number that its makers give the kind: a number, or "
    "a list with one for each ControlNet (null for one that is no union)",
    "",
    "number|list"};
inline constexpr Key<bool> guess_mode{
    "guess_mode",
    false,
    {},
    "",
    "ControlNets change the prompt's prediction only, and less at its finer levels"};
inline constexpr Key<Json> adapter_conditioning_scale{
    "adapter_conditioning_scale",
    1.0,
    {},
    "",
    "how strongly a T2I-Adapter is followed: a number, or a list with one for each",
    "",
    "number|list"};
inline constexpr Key<Json> control_preprocess{
    "control_preprocess",
    std::monostate{},
    {},
    "",
    "what is made of a ControlNet's image first: canny, tile, grayscale, luminance, intensity, "
    "invert or "
    "threshold, {\"type\": \"canny\", \"low\": 50, \"high\": 150} with options, or a list with one "
    "for each (none: nothing)",
    "",
    "text|object|list"};
inline constexpr Key<Json> adapter_preprocess{
    "adapter_preprocess", std::monostate{}, {}, "", "the same of a T2I-Adapter's image", "",
    "text|object|list"};
inline constexpr Key<double> adapter_conditioning_factor{
    "adapter_conditioning_factor",
    1.0,
    {0, 1},
    "",
    "the part of the steps, from the first, in which T2I-Adapters take part"};
inline constexpr Key<Json> ip_adapter_scale{
    "ip_adapter_scale",
    1.0,
    {},
    "",
    "how strongly an image prompt is followed: a number, a list with one for each adapter, or "
    "scales by block: {\"down\": {\"block_2\": [0, 1]}, \"mid\": 1, \"up\": ...}; blocks that are "
    "not named get 0",
    "",
    "number|list|object"};
inline constexpr Key<Json> image_processor{
    "image_processor",
    std::monostate{},
    {},
    "",
    "how images are prepared for the image encoder, as preprocessor_config.json says it; unset: "
    "that file of the model's feature_extractor, else the encoder's way (CLIP's, SigLIP's) at its "
    "size"};

}  // namespace omnirt::keys
