#include "families/svd/entries.hpp"

#include <fmt/format.h>

namespace omnirt::families {
namespace {

ModelSpec entry_of(const std::string& id, int64_t frames, const std::string& hub_id) {
  ModelSpec entry;
  entry.maturity = "beta";
  entry.id = id;
  entry.task = "image2video";
  entry.resource_hint = {16, 8};
  entry.default_config = {{"num_inference_steps", 25}, {"width", 1024}, {"height", 576}};
  entry.supported_schedulers = {"EulerDiscreteScheduler"};  // the one that the reference takes
  entry.artifact_kind = "video";
  entry.summary = fmt::format("Stable Video Diffusion, {} frames from an image (1024x576)", frames);
  entry.example = fmt::format("omnirt generate --model {} --image in.png -o clip.mp4", id);
  entry.hub_ids = {hub_id};
  return entry;
}

ModelSpec alias_of(const std::string& alias, const std::string& id) {
  ModelSpec entry;
  entry.id = alias;
  entry.task = "image2video";
  entry.alias_of = id;
  return entry;
}

}  // namespace

std::vector<ModelSpec> svd_entries() {
  constexpr int64_t frames = 14, frames_xt = 25;
  return {entry_of("svd", frames, "stabilityai/stable-video-diffusion-img2vid"),
          entry_of("svd-xt", frames_xt, "stabilityai/stable-video-diffusion-img2vid-xt"),
          alias_of("stable-video-diffusion-img2vid", "svd"),
          alias_of("stable-video-diffusion-img2vid-xt", "svd-xt")};
}

}  // namespace omnirt::families
