#include "blocks/t2i_adapter.hpp"

#include <fmt/format.h>

#include "blocks/control_values.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::blocks {

T2IControl::T2IControl(size_t place)
    : StepBlock(numbered("t2i_adapter", place), Stage::denoise_loop, Guidance::shared,
                has_component(numbered("t2i_adapter", place))),
      adapter(this, numbered("t2i_adapter", place)),
      adapter_image(this, numbered("adapter_image", place),
                    "the image that components." + numbered("t2i_adapter", place) + " reads"),
      features(this, numbered("adapter_features", place), "the control image's features"),
      place_(place) {}

void T2IControl::run(Frame& frame) const {
  const T2IAdapter& network = frame[adapter];
  Tensor image =
      control_pixels(frame[adapter_image], network.in_channels(), frame[height], frame[width],
                     frame[image_fit], preprocess_of(frame.maybe(preprocess), preprocess, place_));
  Values made = frame.call(adapter, {{"image", {image}}},
                           [](const T2IAdapter& net, Context& cx, const Values& in) {
                             return Values{{"features", listed(net.forward(cx, one(in, "image")))}};
                           });
  double strength = part_of(frame[scale], place_);
  frame[features].clear();
  for (const Value& each : made.at("features"))
    frame[features].emplace_back(each.tensor() * strength, Life::run);
}

void T2IControl::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  // Whole steps, cut towards zero, as the reference counts them.
  auto last = static_cast<size_t>(static_cast<double>(at.steps) * frame[factor]);
  if (at.step >= last || part_of(frame[scale], place_) == 0.0) return;
  std::vector<Tensor> made;
  for (const Value& feature : frame[features]) {
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
  int64_t grid = network.downscale_factor();
  for (const Config<int64_t>* port : {&width, &height}) {
    if (checks[*port] % grid == 0) continue;
    checks.error(
        {"config." + port->name(), std::to_string(checks[*port]),
         fmt::format("not a multiple of {}, which components.{} wants", grid, adapter.name()),
         "give one that is"});
  }
  size_t parts = checks.count_alike(adapter);
  if (place_ + 1 < parts) return;  // The last one looks at what all share.
  check_parts(checks, scale, parts, -100, 100);
  check_preprocess(checks, preprocess, parts);
}

void T2IControl::check_loaded(Checks& checks) const {
  int64_t rows = checks[height], columns = checks[width], grid = checks[vae].scale_factor();
  auto made = checks[adapter].feature_shapes(rows, columns);
  auto taken = checks[unet].adapter_shapes(rows / grid, columns / grid);
  // The mid block takes what is left where it fits, as in the reference; further features have
  // no place.
  bool fits = made.size() + 1 >= taken.size() && made.size() <= taken.size();
  for (size_t i = 0; fits && i < made.size(); ++i) fits = made[i] == taken[i];
  if (fits) return;
  checks.error({"components." + adapter.name(), checks.folder(adapter)->folder.string(),
                "its features are not of the shapes that the model's UNet takes: it was made for "
                "another model",
                "give one that was made for this model"});
}

}  // namespace omnirt::blocks
