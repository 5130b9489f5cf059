#include "families/qwen_image21/check.hpp"

#include <fmt/format.h>

#include "blocks/alpha_format.hpp"
#include "blocks/image_size.hpp"

namespace omnirt::qwen_image21 {

void CheckParts::check(Checks& checks) const {
  const QwenImage21Transformer2DModel& network = checks[transformer];
  if (blocks::check_latent_channels(checks, checks[vae], "in_channels", network.in_channels()))
    blocks::check_latent_channels(checks, checks[vae], "out_channels", network.out_channels());
  const int64_t made = checks[text_encoder].hidden_size(), read = network.context_dim();
  if (made != read) {
    checks.error({"text_encoder.hidden_size", std::to_string(made),
                  fmt::format("the transformer reads states of {} values", read),
                  "use the text encoder of the same model"});
  }
  blocks::check_format_has_alpha(checks, output, output_format, "this model's images");
}

}  // namespace omnirt::qwen_image21
