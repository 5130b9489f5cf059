#pragma once
#include "blocks/video_keys.hpp"
#include "blocks/video_slots.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop_part.hpp"

namespace omnirt::blocks {

// Latents -> frames, decode_chunk_size latent frames of a video at once.
class DecodeFrames final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> decode_chunk_size{this, keys::decode_chunk_size};
  Input<Tensor> latents{this, video_slots::latents};
  Output<std::vector<io::Image>> frames{this, video_slots::frames};
  Output<Tensor> decoded_images{this, video_slots::decoded_images};

  DecodeFrames() : Block("decode_frames", Stage::decode) {}
  void run(Frame& frame) const override;

 private:
  Tensor decoded(Frame& frame, const Tensor& latents_of_chunk, Values& state) const;
};

// Each video so far: the frames of the chunks before, and this one's. What was decoded is kept as
// 8-bit images alone.
class JoinChunks final : public ChunkPart {
 public:
  Input<std::vector<uint64_t>> seeds{this, video_slots::seeds};
  InOut<std::vector<io::Image>> frames{this, video_slots::frames};
  Output<std::vector<io::Image>> earlier_frames{this, "earlier_frames", "of the chunks before"};

  JoinChunks() : ChunkPart("join_chunks", Stage::decode) {}
  void run(Frame& frame, const ChunkAt& at) const override;
};

// The next chunk begins with the last frame of this one, as an 8-bit image.
class ContinueFromLastFrame final : public ChunkPart {
 public:
  Input<std::vector<io::Image>> frames{this, video_slots::frames};
  InOut<std::vector<io::Image>> first_images{this, video_slots::first_images};

  ContinueFromLastFrame() : ChunkPart("continue_from_last_frame", Stage::decode) {}
  void run(Frame& frame, const ChunkAt& at) const override;
};

}  // namespace omnirt::blocks
