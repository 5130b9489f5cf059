#include "families/qwen_image/check.hpp"

#include <fmt/format.h>

#include "blocks/image_size.hpp"
#include "blocks/text_width.hpp"

namespace omnirt::qwen_image {

void CheckParts::check(Checks& checks) const {
  int64_t in = checks[transformer].in_channels(), out = checks[transformer].out_channels();
  int64_t latents = checks[vae].latent_channels();
  if (in != latents) {
    checks.error({"transformer.in_channels", std::to_string(in),
                  fmt::format("the autoencoder's latents have {} channels", latents),
                  "use the autoencoder of the same model"});
  } else if (out != in) {
    checks.error({"transformer.out_channels", std::to_string(out),
                  fmt::format("latents of {} channels want as many", in), ""});
  }
  blocks::check_text_width(checks, "text_encoder.hidden_size", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
}

void ImageSize::check(Checks& checks) const {
  int64_t grid = checks[vae].factors().side * checks[transformer].patch_size();
  for (const Config<int64_t>* port : {&width, &height}) {
    if (auto given = checks.maybe(*port))
      blocks::check_grid(checks, *port, *given, grid);
    else
      blocks::settle_from_model(checks, *port, transformer, 0, grid);
  }
}

void ImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

}  // namespace omnirt::qwen_image
