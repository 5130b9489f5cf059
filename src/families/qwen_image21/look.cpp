#include "families/qwen_image21/look.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include "blocks/alpha_format.hpp"
#include "blocks/vision_patches.hpp"

namespace omnirt::qwen_image21 {

void LookAtImages::check_loaded(Checks& checks) const {
  const Qwen3VLVisionConfig* vision = checks[text_encoder].vision();
  if (!vision) return;  // it was refused
  const blocks::Qwen2VLImageProcessor& given = checks[processor];
  const int64_t token = given.patch_size * given.merge_size;
  if (given.patch_size != vision->patch_size || given.merge_size != vision->spatial_merge_size ||
      token != pixels_of_square) {
    checks.error({"processor.patch_size", std::to_string(given.patch_size),
                  fmt::format("the vision tower takes patches of {} pixels, {}x{} a token, and the "
                              "transformer tokens of {} pixels",
                              vision->patch_size, vision->spatial_merge_size,
                              vision->spatial_merge_size, pixels_of_square),
                  "use the processor of the same model"});
  }
  const int64_t side = checks[resolution];
  if (side * side <= given.max_pixels && side * side >= given.min_pixels) return;
  checks.error({"config.output_resolution", std::to_string(side),
                fmt::format("the model's processor takes images of {} to {} pixels",
                            given.min_pixels, given.max_pixels),
                "give a side whose square is within them"});
}

void LookAtImages::run(Frame& frame) const {
  const Qwen3VLVisionConfig& vision = *frame[text_encoder].vision();
  std::vector<Tensor> all;
  std::vector<int64_t> sides;
  for (const io::Image& given : resized_images(frame[image], frame[further], frame[resolution])) {
    const Tensor pixels = frame[processor].pixel_values(blocks::over_white(given));
    const Qwen3VLVisionInput input = blocks::qwen3_vl_vision_input(vision, pixels);
    all.push_back(host(frame.call(
        text_encoder,
        {{"patches", {input.patches}},
         {"positions", {input.positions}},
         {"grid_places", {input.grid_places}},
         {"grid_weights", {input.grid_weights}}},
        [](const Qwen3VLForConditionalGeneration& encoder, Context& cx, const Values& in) {
          const std::vector<Tensor> seen =
              encoder.image_tokens(cx, {one(in, "patches"), one(in, "positions"),
                                        one(in, "grid_places"), one(in, "grid_weights")});
          // Side by side along the values of a token.
          Tensor rows = seen.front().transpose(1, 2);
          for (size_t i = 1; i < seen.size(); ++i) {
            const Tensor next = seen[i].transpose(1, 2);
            rows = cx.ops().concat(cx, {rows, next});
          }
          return rows.transpose(1, 2);
        },
        fmt::format("look {}x{}", pixels.size(2), pixels.size(3)))));
    sides.push_back(pixels.size(2) / pixels_of_square);
    sides.push_back(pixels.size(3) / pixels_of_square);
  }
  frame[tokens] = at::cat(all, 1).contiguous();
  frame[grids] = at::tensor(sides, at::kLong).view({-1, 2});
}

}  // namespace omnirt::qwen_image21
