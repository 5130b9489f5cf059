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

// The frames {F, 3, H, W} of one chunk of latents {f, C, h, w}; `state` is what the chunk before it
// left, and then what this one leaves.
Tensor DecodeFrames::decoded(Frame& frame, const Tensor& latents_of_chunk, Values& state) const {
  Values inputs = state;
  inputs["latents"] = {latents_of_chunk};
  state = frame.call(
      vae, inputs,
      [](const nn::Autoencoder& network, Context& cx, const Values& in) {
        Values before = in;
        before.erase("latents");
        nn::FrameState of_video(std::move(before));
        Tensor made = network.decode_frames(cx, one(in, "latents").to(cx.dtype()), of_video);
        Values results = of_video.after();
        results["frames"] = {made};
        return results;
      },
      "decode");
  Tensor made = host(state.at("frames").front()).to(at::kFloat);
  state.erase("frames");
  return made;
}

void DecodeFrames::run(Frame& frame) const {
  const nn::Autoencoder& autoencoder = frame[vae];
  const Tensor& all = frame[latents];
  const int64_t count = nn::LatentGrid::of(all).frames;
  // A latent frame of several frames needs those before it: the first has none.
  const int64_t at_first = autoencoder.factors().frames > 1 ? 1 : frame[decode_chunk_size];
  const bool keeps = frame.is_read(decoded_images);
  std::vector<Tensor> videos;
  std::vector<io::Image> made;
  for (const Tensor& video : all.unbind(0)) {
    std::vector<Tensor> chunks;
    Values state;
    for (int64_t from = 0, size = at_first; from < count; from += size) {
      if (frame.cancel()) frame.cancel()->check();
      size = std::min(from == 0 ? at_first : frame[decode_chunk_size], count - from);
      const Tensor part =
          video.narrow(0, from, size) / autoencoder.scaling_factor() + autoencoder.shift_factor();
      const Tensor chunk = decoded(frame, part, state);
      frame.check_finite(chunk, decoded_images.name() + " of the block " + name());
      for (int64_t i = 0; i < chunk.size(0); ++i) made.push_back(tensor_to_image(chunk, i));
      if (keeps) chunks.push_back(chunk);
    }
    if (keeps) videos.push_back(at::cat(chunks));
  }
  if (keeps) frame[decoded_images] = at::stack(videos);
  frame[frames] = std::move(made);
}

void JoinChunks::run(Frame& frame, const ChunkAt& at) const {
  if (at.k > 0) {
    frame[frames] = joined_frames(frame[earlier_frames], frame[frames], frame[seeds].size());
  }
  const bool last = at.k + 1 == at.chunks;
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
