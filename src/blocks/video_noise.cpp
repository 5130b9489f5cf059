#include "blocks/video_noise.hpp"

#include <fmt/format.h>

#include "blocks/latents.hpp"
#include "blocks/start_noise.hpp"
#include "pipeline/symbol_sizes.hpp"

namespace omnirt::blocks {

void StartVideos::run(Frame& frame) const {
  std::vector<uint64_t> all = seeds_from(frame[seed], static_cast<uint64_t>(frame[num_videos]));
  frame[noise_source] = frame.noise_of(all);
  frame[seeds] = std::move(all);
}

void StartVideos::check(Checks& checks) const {
  check_generators(checks, checks[num_videos]);
}

void StartVideos::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  sizes.set("n", checks[num_videos]);
}

void TakeVideoNoise::run(Frame& frame) const {
  frame[given_noise] = latents_per_image(frame[given], static_cast<int64_t>(frame[seeds].size()));
}

void TakeVideoNoise::check(Checks& checks) const {
  TakeNoise::check(checks);
  if (!checks.holds(has_config(keys::num_chunks.name))) return;
  const LatentsInput* file = checks.latents(given);
  checks.error({"inputs.latents", file ? file->path : "",
                "these are the noise of one chunk, and each chunk begins with its own",
                "remove config.num_chunks, or the latents"});
}

std::vector<int64_t> TakeVideoNoise::wanted(const Checks& checks) const {
  return checks[vae]
      .grid(checks[width], checks[height], static_cast<size_t>(checks[num_videos]),
            checks[num_frames])
      .videos();
}

Tensor video_noise(Noise& source, const std::vector<int64_t>& shape, DrawOrder order) {
  if (order == DrawOrder::frames_first) return source.randn(shape);
  return source.randn({shape[0], shape[2], shape[1], shape[3], shape[4]})
      .transpose(1, 2)
      .contiguous();
}

void PrepareVideoLatents::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  sizes.set("F", checks[num_frames]);
}

void PrepareVideoLatents::run(Frame& frame) const {
  const auto shape =
      frame[vae].grid(frame[width], frame[height], frame[seeds].size(), frame[num_frames]).videos();
  const Tensor* given = frame[given_noise];
  Tensor noise = given ? initial_noise(given, *frame[noise_source], shape)
                       : video_noise(*frame[noise_source], shape, order_);
  frame[latents] = noise * frame[schedule].scheduler->init_noise_sigma();
}

}  // namespace omnirt::blocks
