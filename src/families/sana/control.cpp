#include "families/sana/control.hpp"

#include <fmt/format.h>

#include "base/path_text.hpp"
#include "blocks/control_values.hpp"
#include "blocks/encode_control_image.hpp"
#include "blocks/latents.hpp"

namespace omnirt::sana {
namespace {

constexpr const char* part = "controlnet";

}  // namespace

CheckControlNet::CheckControlNet()
    : Block("check_sana_controlnet", Stage::prepare_conditions, Guidance::shared,
            has_component(part)) {}

void CheckControlNet::check(Checks& checks) const {
  auto refuse = [&](const std::string& why) {
    checks.error({"components.controlnet", path_text(checks.folder(controlnet)->folder), why,
                  "remove it, or use Sana or Sana 1.5"});
  };
  const SanaTransformer2DModel& model = checks[transformer];
  if (model.takes_guidance_scale()) {
    refuse("Sana-Sprint takes no ControlNet: the reference has no such pipeline");
  } else if (model.timestep_scale() != 1.0) {
    refuse(
        fmt::format("the model's timestep_scale is {}, and the reference's pipeline with a "
                    "ControlNet has none",
                    model.timestep_scale()));
  }
}

EncodeControl::EncodeControl(blocks::BinnedSizes sizes)
    : Block("encode_controlnet_image", Stage::prepare_latents, Guidance::shared,
            has_component(part)),
      control(this, blocks::control_values_name(0), blocks::control_values_help,
              blocks::control_values_shape()),
      sizes_(sizes) {}

void EncodeControl::run(Frame& frame) const {
  const io::Preprocess how = blocks::preprocess_of(frame.maybe(preprocess), preprocess, 0);
  const blocks::PixelSize size =
      sizes_.made_at({frame[height], frame[width]}, frame[binning], frame[transformer]);
  const Tensor pixels = blocks::control_pixels(frame[control_image], 3, size.height, size.width,
                                               frame[image_fit], how);
  // Its autoencoder draws nothing.
  const Tensor latents = blocks::encoded_image(frame, vae, tiling, pixels * 2.0 - 1.0, Tensor());
  frame[control] = Value(latents, Life::run);
}

}  // namespace omnirt::sana
