#include "blocks/t2i_adapter.hpp"

#include <fmt/format.h>

#include "blocks/control_values.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "request/latent_grid.hpp"
#include "request/numbered.hpp"

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
      control_pixels(frame[adapter_image], network.in_channels(), frame[height], frame[width]);
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

void T2IControl::check(Proposal& proposal) const {
  if (!is_of_class(proposal, adapter.name(), "T2IAdapter")) return;
  size_t parts = count_components(proposal, "t2i_adapter");
  const auto& network = proposal.network<T2IAdapter>(adapter.name());
  std::string field = "components." + adapter.name();
  std::string folder = proposal.folder.find(adapter.name())->folder.string();
  int64_t channels = network.in_channels();
  if (channels != 3 && channels != 1) {
    proposal.error({field, folder,
                    fmt::format("it takes control images of {} channels (in_channels)", channels),
                    "give one that takes images, of 3 channels or 1"});
  }
  int64_t grid = network.downscale_factor();
  for (const Key<int64_t>* key : {&keys::width, &keys::height}) {
    int64_t side = proposal.config.get(*key);
    if (side % grid == 0) continue;
    proposal.error({fmt::format("config.{}", key->name), std::to_string(side),
                    fmt::format("not a multiple of {}, which {} wants", grid, field),
                    "give one that is"});
  }
  if (place_ + 1 == parts)
    check_parts(proposal, keys::adapter_conditioning_scale.name, parts, -100, 100);
}

void T2IControl::check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const {
  const auto& network = pipeline.get<T2IAdapter>(adapter.name());
  const auto& unet = pipeline.get<UNet2DConditionModel>("unet");
  int64_t rows = proposal.config.get(keys::height), columns = proposal.config.get(keys::width);
  int64_t grid = pixels_per_latent(proposal);
  auto made = network.feature_shapes(rows, columns);
  auto taken = unet.adapter_shapes(rows / grid, columns / grid);
  // The mid block takes what is left where it fits, as the reference has it; further features have
  // no place.
  bool fits = made.size() + 1 >= taken.size() && made.size() <= taken.size();
  for (size_t i = 0; fits && i < made.size(); ++i) fits = made[i] == taken[i];
  if (fits) return;
  proposal.error({"components." + adapter.name(),
                  proposal.folder.find(adapter.name())->folder.string(),
                  "its features are not of the shapes that the model's UNet takes: it was made for "
                  "another model",
                  "give one that was made for this model"});
}

}  // namespace omnirt::blocks
