#include "families/qwen_image_edit/layered_blocks.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "blocks/alpha_format.hpp"
#include "blocks/image_size.hpp"
#include "blocks/latents.hpp"
#include "blocks/text_width.hpp"
#include "io/image_resize.hpp"
#include "nn/patches.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::qwen_image_edit {
namespace {

constexpr int64_t with_alpha = 4;
// The reference's number of the image to go by, where layers count from 0.
constexpr int64_t whole_image = -1;

// Tokens of an image of these sides in pixels: rows and columns.
std::array<int64_t, 2> token_grid(const nn::Autoencoder& vae, int64_t width, int64_t height) {
  const int64_t token = vae.factors().side * nn::patch_side;
  return {height / token, width / token};
}

}  // namespace

void CheckLayered::check_parts(Checks& checks) const {
  const int64_t in = checks[transformer].in_channels(), latents = checks[vae].latent_channels();
  if (in != latents || checks[transformer].out_channels() != in) {
    checks.error({"transformer.in_channels", std::to_string(in),
                  fmt::format("the autoencoder's latents have {} channels", latents),
                  "use the autoencoder of the same model"});
  }
  if (!checks[transformer].takes_layers()) {
    checks.error({"transformer.use_layer3d_rope", "false", "it was not trained on layers",
                  "use the transformer of a Qwen-Image-Layered"});
  }
  blocks::check_text_width(checks, "text_encoder.hidden_size", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
}

void CheckLayered::check(Checks& checks) const {
  check_parts(checks);
  blocks::check_format_has_alpha(checks, output, output_format, "layers");
  const ImageInput* given = checks.image(image);
  if (!given) return;  // it was refused
  const int64_t pixels = checks[side] * checks[side];
  const Size size = size_of_area(pixels, given->info.height, given->info.width);
  if (std::min(size.height, size.width) == 0) {
    checks.error({"inputs.image", fmt::format("{}x{}", given->info.width, given->info.height),
                  "one side is so much longer than the other that nothing is left of it",
                  "give another image"});
    return;
  }
  const int64_t grid = checks[vae].factors().side * checks[transformer].patch_size();
  for (const auto& [port, made] : {std::pair{&width, size.width}, {&height, size.height}}) {
    const int64_t wanted = made / grid * grid;
    const auto asked = checks.maybe(*port);
    if (!asked) {
      checks.settle(*port, wanted, Origin::derived);
    } else if (*asked != wanted) {
      checks.error({fmt::format("config.{}", port->name()), std::to_string(*asked),
                    fmt::format("layers have the image's proportions and the pixels that "
                                "resolution says: {}",
                                wanted),
                    "omit it, and set resolution"});
    }
  }
}

void PrepareLayers::run(Frame& frame) const {
  const int64_t images = frame[count] + 1;
  const auto shape = frame[vae].grid(frame[width], frame[height], frame[seeds].size()).images();
  // In the order in which the reference draws them.
  Tensor drawn = frame[noise_source]->randn({shape[0], images, shape[1], shape[2], shape[3]});
  Tensor below = drawn.transpose(1, 2).reshape({shape[0], shape[1], images * shape[2], shape[3]});
  frame[latents] = below * frame[schedule].scheduler->init_noise_sigma();
  const auto [rows, columns] = token_grid(frame[vae], frame[width], frame[height]);
  std::vector<Tensor> places;
  for (int64_t i = 0; i < images; ++i) places.push_back(blocks::ids_from_middle(i, rows, columns));
  frame[ids] = at::cat(places, 1);
  frame[additional] = at::zeros({1}, at::kLong);
}

void EncodeWhole::check(Checks& checks) const {
  tiling.check(checks, vae, with_alpha);
}

void EncodeWhole::run(Frame& frame) const {
  io::Image given = blocks::with_alpha(frame[image]);
  if (given.width != frame[width] || given.height != frame[height])
    given = io::resize_lanczos(given, frame[width], frame[height]);
  const Tensor pixels = image_to_tensor(given) * 2.0 - 1.0;
  // Noise of zeros: the distribution's mode, for which the reference draws nothing.
  const Tensor none = at::zeros(frame[vae].grid(frame[width], frame[height]).images(), at::kFloat);
  const Tensor packed = nn::packed_patches(blocks::encoded_image(frame, vae, tiling, pixels, none));
  const auto [rows, columns] = nn::LatentGrid::of(packed).sides();
  frame[latents] = packed.flatten(2).transpose(1, 2).contiguous();
  frame[ids] = blocks::ids_from_middle(whole_image, rows, columns);
  // Behind the last position of each axis (diffusers QwenEmbedLayer3DRope).
  const int64_t first = std::max({rows / 2, columns / 2, frame[count] + 1});
  frame[start] = at::full({1, 1}, first, at::kFloat);
}

void DecodeLayers::check(Checks& checks) const {
  tiling.check(checks, vae, with_alpha);
}

void DecodeLayers::run(Frame& frame) const {
  const Tensor& sample = frame[latents];
  const int64_t height = nn::LatentGrid::of(sample).height / (frame[count] + 1);
  std::vector<Tensor> all;
  std::vector<io::Image> made;
  for (int64_t i = 0; i < sample.size(0); ++i) {
    for (int64_t layer = 1; layer <= frame[count]; ++layer) {
      const Tensor one = sample.narrow(0, i, 1).narrow(2, layer * height, height).contiguous();
      Tensor image = blocks::decoded_image(frame, vae, tiling, one);
      frame.check_finite(image, decoded_images.name() + " of the block " + name());
      made.push_back(tensor_to_image(image, 0));
      if (frame.is_read(decoded_images)) all.push_back(std::move(image));
    }
  }
  if (frame.is_read(decoded_images)) frame[decoded_images] = at::cat(all);
  frame[images] = std::move(made);
}

}  // namespace omnirt::qwen_image_edit
