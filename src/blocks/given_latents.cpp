#include "blocks/given_latents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "blocks/latents.hpp"

namespace omnirt {

SavedValue ValueCodec<GivenLatents>::save(const GivenLatents& value) {
  return ValueCodec<Tensor>::save(value.values);
}

GivenLatents ValueCodec<GivenLatents>::load(const SavedValue& saved, const Catalogue& catalogue) {
  Tensor values = ValueCodec<Tensor>::load(saved, catalogue);
  bool dims = values.dim() == 4 || values.dim() == 5;
  if (!dims || values.size(0) < 1 || values.scalar_type() != at::kFloat)
    SavedValue::refuse(
        "latents are {images, channels, height, width} or {videos, frames, channels, height, "
        "width} in fp32");
  return {values};
}

}  // namespace omnirt

namespace omnirt::blocks {
namespace {

using Shape = std::vector<int64_t>;

std::string shown_shape(const Shape& shape) {
  return fmt::format("{{{}}}", fmt::join(shape, ", "));
}

}  // namespace

std::string latents_fault(const Shape& shape, const Shape& wanted) {
  Shape one = shape, other = wanted;
  one.front() = other.front() = 1;
  if (one != other) return fmt::format("this run's latents are {}", shown_shape(wanted));
  if (wanted.front() % shape.front() == 0) return "";
  return fmt::format("the request makes {}, and there are {} of them", wanted.front(),
                     shape.front());
}

Tensor latents_per_image(const GivenLatents& given, int64_t images) {
  int64_t count = given.values.size(0);
  if (images % count != 0) {
    throw InvalidRequest({"inputs.latents", fmt::format("{} of them", count),
                          fmt::format("the run makes {}", images),
                          "give one for all, or one for each"});
  }
  std::vector<int64_t> times(static_cast<size_t>(given.values.dim()), 1);
  times.front() = images / count;
  return given.values.repeat(times);
}

Tensor initial_noise(const Tensor* given, Noise& source, const Shape& shape) {
  if (!given) return source.randn(shape);
  if (given->sizes().vec() == shape) return *given;
  throw InvalidRequest({"inputs.latents", shown_shape(given->sizes().vec()),
                        latents_fault(given->sizes().vec(), shape), "give latents of this shape"});
}

void SizeOfNoise::check(Checks& checks) const {
  const LatentsInput* given = checks.latents(latents);
  if (!given) return;
  const Shape& shape = given->info.shape;
  int64_t grid = checks[vae].factors().side;
  for (auto [port, latents_of_side] :
       {std::pair{&width, shape.back()}, {&height, shape[shape.size() - 2]}}) {
    int64_t side = latents_of_side * grid;
    if (checks.maybe(*port)) continue;
    if (side <= static_cast<int64_t>(port->key.max)) {
      checks.settle(*port, side, Origin::derived);
    } else {
      checks.error(
          {"inputs.latents", shown_shape(shape),
           fmt::format("a {} of {} pixels; at most {} are made", port->name(), side, port->key.max),
           "give smaller ones"});
    }
  }
}

void TakeNoise::check(Checks& checks) const {
  const LatentsInput* file = checks.latents(given);
  if (!file) return;
  std::string fault = latents_fault(file->info.shape, wanted(checks));
  if (!fault.empty()) {
    checks.error({"inputs.latents", shown_shape(file->info.shape), fault,
                  "give one for all or one for each, of the size that the request asks for"});
  } else if (file->info.origin.contains("request")) {
    checks.warn({"inputs.latents", file->path,
                 "these are what a run made, and here they are taken as its initial noise",
                 "give noise of mean 0 and deviation 1; image2image of sdxl models continues from "
                 "a run's latents"});
  }
}

void TakeNoiseOfImages::run(Frame& frame) const {
  frame[given_noise] = latents_per_image(frame[given], static_cast<int64_t>(frame[seeds].size()));
}

Shape TakeNoiseOfImages::wanted(const Checks& checks) const {
  const EmbedsInput* prompts = checks.embeds(encoded);
  auto count =
      prompts ? prompts->info.prompts() : static_cast<int64_t>(checks.texts(prompt).size());
  auto images = static_cast<size_t>(count * checks[num_images]);
  return checks[vae].grid(checks[width], checks[height], images).images();
}

}  // namespace omnirt::blocks
