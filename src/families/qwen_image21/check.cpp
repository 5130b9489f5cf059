#include "families/qwen_image21/check.hpp"

#include "blocks/alpha_format.hpp"
#include "blocks/image_size.hpp"
#include "blocks/text_width.hpp"

namespace omnirt::qwen_image21 {

void CheckParts::check(Checks& checks) const {
  const QwenImage21Transformer2DModel& network = checks[transformer];
  if (blocks::check_latent_channels(checks, checks[vae], "in_channels", network.in_channels()))
    blocks::check_latent_channels(checks, checks[vae], "out_channels", network.out_channels());
  blocks::check_text_width(checks, "text_encoder.hidden_size", checks[text_encoder].hidden_size(),
                           network.context_dim());
  blocks::check_format_has_alpha(checks, output, output_format, "this model's images");
}

}  // namespace omnirt::qwen_image21
