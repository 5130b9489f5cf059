#pragma once
#include "nn/original_layout.hpp"

namespace omnirt {

// The layouts in which checkpoints hold CLIP's text encoder. `body` is the path of the module that
// has the embeddings and the encoder ("" or "text_model"); a projection, where the network has one,
// is its parameter text_projection.weight.

// transformers' own names, as published: below "cond_stage_model.transformer." (Stable Diffusion
// 1.x) or "conditioner.embedders.0.transformer." (XL).
nn::OriginalLayout clip_layout(const std::string& body);

// OpenCLIP's (mlfoundations open_clip, model.py): query, key and value stacked, the projection
// transposed; below "cond_stage_model.model." (2.x) or "conditioner.embedders.<n>.model." (XL).
nn::OriginalLayout open_clip_layout(const std::string& body);

// OpenCLIP's encoders as stable-diffusion.cpp writes them (name_conversion.cpp:
// convert_open_clip_to_hf_clip_name): transformers' names, query, key and value stacked, the
// projection as in OpenCLIP; below "cond_stage_model.transformer." (2.x) or
// "cond_stage_model.1.transformer." (XL).
nn::OriginalLayout stacked_clip_layout(const std::string& body);

}  // namespace omnirt
