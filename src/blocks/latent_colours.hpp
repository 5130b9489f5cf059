#pragma once
#include "pipeline/model_spec.hpp"

// How latents are shown that models of several families have. Least squares over decoded latents,
// as the field uses them.
namespace omnirt::blocks {

// Of the autoencoder of Stable Diffusion (ComfyUI, latent_formats.SD15).
PreviewMeans sd_latents();
// Of Stable Diffusion XL's (ComfyUI, latent_formats.SDXL).
PreviewMeans sdxl_latents();
// Of FLUX.1's, of 16 channels (ComfyUI, latent_formats.Flux).
PreviewMeans flux_latents();
// Of Wan 2.1's and Qwen-Image's, of 16 channels (ComfyUI, latent_formats.Wan21).
PreviewMeans wan_latents();

}  // namespace omnirt::blocks
