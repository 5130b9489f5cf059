#include "families/svd/blocks.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "blocks/latents.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::families {
namespace {

// An image as the image encoder takes it: resized with its values about zero, as the authors do,
// and normalised by the feature extractor.
Tensor pixel_values(const io::Image& given, const blocks::CLIPImageProcessor& processor,
                    int64_t side) {
  Tensor image = image_to_tensor(io::to_rgb(given)) * 2.0 - 1.0;
  image = (resize_with_antialiasing(image, side) + 1.0) / 2.0;
  auto row = [](const std::vector<double>& values) {
    return at::tensor(values, at::TensorOptions().dtype(at::kDouble))
        .to(at::kFloat)
        .view({1, -1, 1, 1});
  };
  return (image - row(processor.image_mean)) / row(processor.image_std);
}

}  // namespace

void EncodeFirstImages::run(Frame& frame) const {
  const CLIPVisionModel& encoder = frame[image_encoder];
  const auto& firsts = frame[first_images];
  auto count = static_cast<int64_t>(firsts.size());
  if (frame.unconditional()) {
    frame[prompt_embeds] = at::zeros({count, 1, encoder.projection_dim()}, at::kFloat);
    return;
  }
  const blocks::CLIPImageProcessor& processor = frame[feature_extractor];
  std::vector<Tensor> rows;
  for (size_t i = 0; i < firsts.size(); ++i) {
    bool again = i > 0 && firsts[i] == firsts[i - 1];
    rows.push_back(again ? rows.back() : pixel_values(firsts[i], processor, encoder.image_size()));
  }
  Tensor embeds =
      host(frame.call(image_encoder, {{"pixel_values", {at::cat(rows)}}},
                      [](const CLIPVisionModel& network, Context& cx, const Values& in) {
                        Tensor pixels = one(in, "pixel_values").to(cx.dtype());
                        return network.forward(cx, pixels).image_embeds;
                      }));
  frame[prompt_embeds] = embeds.to(at::kFloat).unsqueeze(1);
}

void EncodeFirstLatents::run(Frame& frame) const {
  std::vector<Tensor> pixels;
  for (const io::Image& first : frame[first_images])
    pixels.push_back(blocks::image_tensor(first, frame[width], frame[height]));
  Tensor image = at::cat(pixels);
  image = image + frame[noise_aug_strength] * frame[noise_source]->randn(image.sizes());
  const auto grid = frame[vae].grid(frame[width], frame[height]);
  std::vector<Tensor> latents;
  for (int64_t i = 0; i < image.size(0); ++i) {
    // Noise of zeros: the mode is taken, not a sample.
    Tensor none = at::zeros(grid.images(), at::kFloat);
    Tensor encoded = host(frame.call(
        vae, {{"pixels", {image.narrow(0, i, 1)}}, {"noise", {none}}},
        [](const nn::Autoencoder& network, Context& cx, const Values& in) {
          return network.encode(cx, one(in, "pixels").to(cx.dtype()),
                                [&](at::IntArrayRef) { return one(in, "noise"); });
        },
        "encode"));
    latents.push_back(encoded.to(at::kFloat));
  }
  frame[first_latents] = at::cat(latents);
}

void PrepareVideoConditions::run(Frame& frame) const {
  const Tensor& first = frame[first_latents];
  Tensor own = frame.unconditional() ? at::zeros_like(first) : first;
  std::vector<int64_t> shape = first.sizes().vec();
  shape.insert(shape.begin() + 1, frame[num_frames]);
  frame[frame_latents] = own.unsqueeze(1).expand(shape).contiguous();
  // The network was trained on fps - 1.
  frame[added_time_ids] =
      at::tensor({static_cast<float>(frame[fps] - 1), static_cast<float>(frame[motion_bucket_id]),
                  static_cast<float>(frame[noise_aug_strength])})
          .unsqueeze(0);
}

}  // namespace omnirt::families
