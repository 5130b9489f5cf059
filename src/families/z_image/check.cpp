#include "families/z_image/check.hpp"

#include "blocks/image_size.hpp"

namespace omnirt::z_image {

void CheckParts::check(Checks& checks) const {
  blocks::check_latent_channels(checks, checks[vae], "in_channels",
                                checks[transformer].in_channels());
  const int64_t width = checks[transformer].siglip_dim();
  if ((width > 0) == omni_) return;
  checks.error({"transformer.siglip_feat_dim", width > 0 ? std::to_string(width) : "null",
                omni_ ? "Z-Image Omni's transformer reads what SigLIP2 sees of images"
                      : "this transformer is Z-Image Omni's",
                omni_ ? "use the transformer of the same model, or name ZImagePipeline in "
                        "model_index.json"
                      : "name ZImageOmniPipeline in model_index.json, with siglip and "
                        "siglip_processor"});
}

}  // namespace omnirt::z_image
