#include "blocks/video_frames.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {
namespace {

// Of each video all frames in `a`, then those in `b`; both have all videos after each other.
std::vector<io::Image> joined_frames(const std::vector<io::Image>& a,
                                     const std::vector<io::Image>& b, size_t videos) {
  std::vector<io::Image> all;
  for (size_t video = 0; video < videos; ++video) {
    for (const auto* part : {&a, &b}) {
      auto count = static_cast<std::ptrdiff_t>(part->size() / videos);
      auto first = part->begin() + static_cast<std::ptrdiff_t>(video) * count;
      all.insert(all.end(), first, first + count);
    }
  }
  return all;
}

}  // namespace

void DecodeFrames::run(Frame& frame) const {
  const nn::Autoencoder& autoencoder = frame[vae];
  Tensor scaled = frame[latents] / autoencoder.scaling_factor() + autoencoder.shift_factor();
  int64_t videos = scaled.size(0), count = scaled.size(1), at_once = frame[decode_chunk_size];
  std::vector<Tensor> decoded;
  for (int64_t video = 0; video < videos; ++video) {
    std::vector<Tensor> parts;
    for (int64_t from = 0; from < count; from += at_once) {
      if (frame.cancel()) frame.cancel()->check();
      Tensor part = scaled[video].narrow(0, from, std::min(at_once, count - from));
      Tensor made = host(frame.call(
          vae, {{"latents", {part}}},
          [](const nn::Autoencoder& network, Context& cx, const Values& in) {
            return network.decode(cx, one(in, "latents").to(cx.dtype()));
          },
          "decode"));
      parts.push_back(made.to(at::kFloat));
    }
    decoded.push_back(at::cat(parts));
  }
  Tensor all = at::stack(decoded);
  frame[decoded_images] = all;
  std::vector<io::Image> made;
  Tensor flat = all.flatten(0, 1);
  for (int64_t i = 0; i < flat.size(0); ++i) made.push_back(tensor_to_image(flat, i));
  frame[frames] = std::move(made);
}

void JoinChunks::run(Frame& frame, const ChunkAt& at) const {
  auto videos = static_cast<size_t>(frame[decoded_images].size(0));
  if (at.k > 0) {
    frame[decoded_images] = at::cat({frame[earlier_images], frame[decoded_images]}, 1);
    frame[frames] = joined_frames(frame[earlier_frames], frame[frames], videos);
  }
  const bool last = at.k + 1 == at.chunks;
  frame[earlier_images] = last ? Tensor() : frame[decoded_images];
  frame[earlier_frames] = last ? std::vector<io::Image>() : frame[frames];
}

void ContinueFromLastFrame::run(Frame& frame, const ChunkAt& at) const {
  if (at.k + 1 == at.chunks) return;
  const std::vector<io::Image>& made = frame[frames];
  auto& first = frame[first_images];
  size_t frames_so_far = made.size() / first.size();
  for (size_t i = 0; i < first.size(); ++i) first[i] = made[(i + 1) * frames_so_far - 1];
}

}  // namespace omnirt::blocks
