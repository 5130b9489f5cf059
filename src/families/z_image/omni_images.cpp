#include "families/z_image/omni_images.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "blocks/check_reference.hpp"
#include "blocks/image_size.hpp"
#include "blocks/mode_latents.hpp"

namespace omnirt::z_image {
namespace {

constexpr int64_t usual_omni_side = 1024;

using blocks::Size;

int64_t token_side(const nn::Autoencoder& vae) {
  return vae.factors().side * ZImageTransformer2DConfig::patch_size;
}

std::vector<io::Image> all_images(const io::Image& first, const std::vector<io::Image>* more) {
  std::vector<io::Image> all{first};
  if (more) all.insert(all.end(), more->begin(), more->end());
  return all;
}

// Where each of `count` patches is along a side of `latents`, cut to whole latents as the reference
// does (patchify_and_embed_omni).
std::vector<float> places_along(int64_t count, int64_t latents) {
  std::vector<float> all;
  for (int64_t i = 0; i < count; ++i) {
    const float share = static_cast<float>(i) / static_cast<float>(std::max<int64_t>(count - 1, 1));
    all.push_back(std::trunc(share * static_cast<float>(latents - 1)));
  }
  return all;
}

// {1, rows * columns, 2}.
Tensor places_of(int64_t rows, int64_t columns, const Tensor& latents) {
  const auto grid = nn::LatentGrid::of(latents);
  const std::vector<float> down = places_along(rows, grid.height),
                           across = places_along(columns, grid.width);
  Tensor made = at::empty({1, rows * columns, 2}, at::kFloat);
  auto* place = made.mutable_data_ptr<float>();
  for (float y : down) {
    for (float x : across) {
      *place++ = y;
      *place++ = x;
    }
  }
  return made;
}

// {1, N, D}: its patches, row by row.
Tensor seen_by(Frame& frame, const Component<Siglip2VisionModel>& siglip, const Tensor& pixels) {
  const Siglip2Image image = blocks::siglip2_image(frame[siglip].config(), pixels);
  return host(frame.call(
      siglip,
      {{"patches", {image.patches}},
       {"places", {image.at.places}},
       {"weights", {image.at.weights}}},
      [](const Siglip2VisionModel& encoder, Context& cx, const Values& in) {
        return encoder.forward(cx, {one(in, "patches"), {one(in, "places"), one(in, "weights")}});
      },
      fmt::format("{}x{}", pixels.size(2), pixels.size(3))));
}

}  // namespace

void OmniSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void OmniSize::check_positions(Checks& checks, const Config<int64_t>& side, size_t axis) const {
  const int64_t most = checks[transformer].axes_lens()[axis] * token_side(checks[vae]);
  blocks::check_positions(checks, side, checks[side], most);
}

bool OmniSize::check_images(Checks& checks, int64_t pixels) const {
  const int64_t grid = token_side(checks[vae]), scale = checks[vae].factors().side;
  const std::vector<int64_t>& lens = checks[transformer].axes_lens();
  auto takes = [&](const std::string& field, const io::ImageInfo& info) {
    const Size size{info.height, info.width};
    if (!blocks::check_proportions(checks, field, size)) return false;
    const Size whole = blocks::in_whole_latents(size, grid, pixels);
    const int64_t most_rows = lens[1] * scale, most_columns = lens[2] * scale;
    if (std::min(whole.height, whole.width) == 0) {
      blocks::refuse_reference(checks, field, size,
                               fmt::format("a token takes {} pixels a side", grid));
    } else if (whole.height > most_rows || whole.width > most_columns) {
      blocks::refuse_reference(
          checks, field, size,
          fmt::format("the transformer has positions for images of {}x{} pixels to go by",
                      most_columns, most_rows));
    } else {
      return true;
    }
    return false;
  };
  const std::vector<ImageInput>& list = checks.images(references);
  bool all = takes("inputs.image", checks.image(image)->info);
  for (size_t i = 0; i < list.size(); ++i)
    all &= takes(fmt::format("inputs.image_reference[{}]", i), list[i].info);
  return all;
}

void OmniSize::check(Checks& checks) const {
  const int64_t grid = token_side(checks[vae]);
  const auto wide = checks.maybe(width), high = checks.maybe(height);
  Size usual{usual_omni_side, usual_omni_side};
  if (const ImageInput* first = checks.image(image)) {
    if (!checks.maybe(area))
      checks.settle(area, wide && high ? *wide * *high : blocks::most_reference_pixels,
                    Origin::derived);
    const int64_t pixels = checks[area];
    if (!check_images(checks, pixels)) return;
    const std::vector<ImageInput>& more = checks.images(references);
    const io::ImageInfo& last = more.empty() ? first->info : more.back().info;
    usual = blocks::in_whole_latents({last.height, last.width}, grid, pixels);
  }
  auto settle = [&](const Config<int64_t>& side, int64_t pixels) {
    if (auto given = checks.maybe(side))
      blocks::check_grid(checks, side, *given, grid);
    else
      checks.settle(side, pixels, checks.image(image) ? Origin::derived : Origin::model);
  };
  settle(height, usual.height);
  settle(width, usual.width);
  check_positions(checks, height, 1);
  check_positions(checks, width, 2);
}

void LookAtImages::check(Checks& checks) const {
  const int64_t made = checks[siglip].hidden_size(), read = checks[transformer].siglip_dim();
  if (made == read || read == 0) return;
  checks.error({"siglip.hidden_size", std::to_string(made),
                fmt::format("the transformer reads {} values of a patch", read),
                "use the image encoder of the same model"});
}

void LookAtImages::check_loaded(Checks& checks) const {
  const int64_t given = checks[processor].patch_size, patch = checks[siglip].config().patch_size;
  if (given == patch) return;
  checks.error({"siglip_processor.patch_size", std::to_string(given),
                fmt::format("the image encoder takes patches of {} pixels", patch),
                "use the processor of the same model"});
}

// The reference takes the values of all patches channel by channel, and reads them as patches.
void LookAtImages::run(Frame& frame) const {
  const int64_t patch = frame[siglip].config().patch_size;
  std::vector<int64_t> sides;
  for (const io::Image& each : all_images(frame[image], frame[further])) {
    const Size within = blocks::limited({each.height, each.width}, frame[area]);
    const Tensor pixels = frame[processor].pixel_values(blocks::resized(each, within));
    const Tensor seen = seen_by(frame, siglip, pixels).to(at::kFloat);
    frame[features].emplace_back(seen.transpose(1, 2).contiguous().view(seen.sizes()), Life::run);
    sides.push_back(pixels.size(2) / patch);
    sides.push_back(pixels.size(3) / patch);
  }
  frame[grids] = at::tensor(sides, at::kLong).to(at::kFloat).view({-1, 2});
}

void EncodeOmniImages::run(Frame& frame) const {
  const Tensor of_all = frame[grids];
  auto side = [&of_all](int64_t i, int64_t axis) {
    return static_cast<int64_t>(of_all[i][axis].item<float>());
  };
  int64_t i = 0;
  for (const io::Image& each : all_images(frame[image], frame[further])) {
    const Tensor middle = blocks::middle_of(each, token_side(frame[vae]), frame[area]);
    const Tensor made = blocks::mode_latents(frame, vae, tiling, middle);
    frame[latents].emplace_back(made, Life::run);
    frame[places].emplace_back(places_of(side(i, 0), side(i, 1), made), Life::run);
    ++i;
  }
}

void GoByImages::before_predict(Frame& frame, const LoopProgress&, RowBatch& batch) const {
  const std::vector<int64_t> rows(batch.rows.size(), 0);
  auto add = [&](const char* input, const std::vector<Value>& values) {
    for (const Value& value : values)
      batch.inputs[input].push_back(rows.size() == 1 ? value : value.with_rows(rows));
  };
  add("captions", frame[texts]);
  add("reference_latents", frame[latents]);
  add("siglip_features", frame[features]);
  add("siglip_places", frame[places]);
}

}  // namespace omnirt::z_image
