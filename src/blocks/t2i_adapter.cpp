#include "blocks/t2i_adapter.hpp"

#include <fmt/format.h>

#include "base/path_text.hpp"
#include "blocks/control_values.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::blocks {

namespace {

constexpr const char* hires_adapter = "hires_adapter_features";
constexpr const char* hires_adapter_help = "the control image's features in the second pass";

std::string image_help(size_t place) {
  return "the image that components." + numbered("t2i_adapter", place) + " reads";
}

// What the adapter makes of its image, {1, K, height, width}, times its scale.
std::vector<Value> features_of(Frame& frame, const Component<T2IAdapter>& adapter,
                               const Tensor& image, double strength) {
  Values made = frame.call(adapter, {{"image", {image}}},
                           [](const T2IAdapter& net, Context& cx, const Values& in) {
                             return Values{{"features", listed(net.forward(cx, one(in, "image")))}};
                           });
  std::vector<Value> features;
  for (const Value& each : made.at("features"))
    features.emplace_back(each.tensor() * strength, Life::run);
  return features;
}

void check_adapter_side(Checks& checks, const Component<T2IAdapter>& adapter,
                        const Config<int64_t>& side) {
  int64_t grid = checks[adapter].downscale_factor();
  auto given = checks.maybe(side);
  if (!given || *given % grid == 0) return;
  checks.error(
      {"config." + side.name(), std::to_string(*given),
       fmt::format("not a multiple of {}, which components.{} wants", grid, adapter.name()),
       "give one that is"});
}

}  // namespace

T2IControl::T2IControl(size_t place)
    : StepBlock(numbered("t2i_adapter", place), Stage::denoise_loop, Guidance::shared,
                has_component(numbered("t2i_adapter", place))),
      adapter(this, numbered("t2i_adapter", place)),
      adapter_image(this, numbered("adapter_image", place), image_help(place)),
      hires_features(this, numbered(hires_adapter, place), hires_adapter_help),
      features(this, numbered("adapter_features", place), "the control image's features"),
      place_(place) {}

void T2IControl::run(Frame& frame) const {
  Tensor image = control_pixels(frame[adapter_image], frame[adapter].in_channels(), frame[height],
                                frame[width], frame[image_fit],
                                preprocess_of(frame.maybe(preprocess), preprocess, place_));
  frame[features] = features_of(frame, adapter, image, part_of(frame[scale], place_));
}

const std::vector<Value>& T2IControl::features_for(Frame& frame, const RowBatch& batch) const {
  const std::vector<Value>* of_second = frame[hires_features];
  const Tensor* of_first = frame[latents];
  if (!of_second || !of_first) return frame[features];
  const auto sample = nn::LatentGrid::of(batch.inputs.at("sample").front().tensor());
  bool first = sample.has_sides_of(nn::LatentGrid::of(*of_first));
  return first ? frame[features] : *of_second;
}

void T2IControl::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  // Whole steps, cut towards zero, as the reference counts them.
  auto last = static_cast<size_t>(static_cast<double>(at.steps) * frame[factor]);
  if (at.step >= last || part_of(frame[scale], place_) == 0.0) return;
  std::vector<Tensor> made;
  for (const Value& feature : features_for(frame, batch)) {
    std::vector<int64_t> shape = feature.tensor().sizes().vec();
    shape[0] = static_cast<int64_t>(batch.rows.size());
    made.push_back(feature.tensor().expand(shape));
  }
  add_to_input(batch, "down_intrablock_additional_residuals", made);
}

void T2IControl::check(Checks& checks) const {
  if (!is_of_class(checks, adapter, "T2IAdapter")) return;
  const T2IAdapter& network = checks[adapter];
  check_channels(checks, adapter, network.in_channels(), "in_channels");
  for (const Config<int64_t>* port : {&width, &height}) check_adapter_side(checks, adapter, *port);
  size_t parts = checks.count_alike(adapter);
  if (place_ + 1 < parts) return;  // The last one looks at what all share.
  check_parts(checks, scale, parts, -100, 100);
  check_preprocess(checks, preprocess, parts);
}

void T2IControl::check_loaded(Checks& checks) const {
  const auto grid = checks[vae].grid(checks[width], checks[height]);
  auto made = checks[adapter].feature_shapes(checks[height], checks[width]);
  auto taken = checks[unet].adapter_shapes(grid.height, grid.width);
  // The mid block takes what is left where it fits, as in the reference; further features have
  // no place.
  bool fits = made.size() + 1 >= taken.size() && made.size() <= taken.size();
  for (size_t i = 0; fits && i < made.size(); ++i) fits = made[i] == taken[i];
  if (fits) return;
  checks.error({"components." + adapter.name(), path_text(checks.folder(adapter)->folder),
                "its features are not of the shapes that the model's UNet takes: it was made for "
                "another model",
                "give one that was made for this model"});
}

HiresT2IControl::HiresT2IControl(size_t place, const Trigger& hires)
    : Block(numbered("hires_t2i_adapter", place), Stage::denoise_loop, Guidance::shared,
            hires && has_component(numbered("t2i_adapter", place))),
      adapter(this, numbered("t2i_adapter", place)),
      adapter_image(this, numbered("adapter_image", place), image_help(place)),
      hires_features(this, numbered(hires_adapter, place), hires_adapter_help),
      place_(place) {}

void HiresT2IControl::run(Frame& frame) const {
  Tensor image = control_pixels(frame[adapter_image], frame[adapter].in_channels(),
                                frame[hires_height], frame[hires_width], frame[image_fit],
                                preprocess_of(frame.maybe(preprocess), preprocess, place_));
  frame[hires_features] = features_of(frame, adapter, image, part_of(frame[scale], place_));
}

void HiresT2IControl::check(Checks& checks) const {
  if (!is_of_class(checks, adapter, "T2IAdapter")) return;
  for (const Config<int64_t>* port : {&hires_width, &hires_height})
    check_adapter_side(checks, adapter, *port);
}

}  // namespace omnirt::blocks
