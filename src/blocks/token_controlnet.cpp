#include "blocks/token_controlnet.hpp"

#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "blocks/control_values.hpp"
#include "blocks/encode_control_image.hpp"
#include "pipeline/numbered.hpp"

namespace omnirt::blocks {
namespace {

// Adds a ControlNet's residuals to those of the blocks of `site`: blocks that take the same tensors
// take one sum.
void add_residuals(std::vector<Value>& input, const nn::ResidualSite& site,
                   const nn::ControlNetwork::Residuals& residuals,
                   const std::vector<Tensor>& made) {
  const size_t taking = nn::blocks_with_residual(residuals.order, site.blocks, residuals.count);
  ensure(made.size() == residuals.count && (input.empty() || input.size() == taking),
         "{} residuals of {}, for {} blocks of {}", made.size(), residuals.count, input.size(),
         taking);
  const std::vector<Value> before = std::exchange(input, {});  // their addresses are keys below
  std::map<std::pair<const void*, size_t>, Value> sums;
  for (size_t block = 0; block < taking; ++block) {
    size_t place = nn::residual_of(residuals.order, block, site.blocks, made.size());
    const Tensor other = before.empty() ? Tensor() : before[block].tensor();
    auto [sum, is_new] = sums.try_emplace({other.unsafeGetTensorImpl(), place});
    // ControlNets may be on different devices.
    if (is_new)
      sum->second = other.defined() ? other + made[place].to(other.device()) : made[place];
    input.push_back(sum->second);
  }
}

Values scaled(Values made, double strength) {
  if (strength == 1.0) return made;
  for (auto& [input, list] : made) {
    for (Value& each : list) each = each.tensor() * strength;
  }
  return made;
}

// Whether they are 0, 1, ... count - 1.
bool in_order(const std::vector<int64_t>& places, int64_t count) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] != static_cast<int64_t>(i)) return false;
  }
  return static_cast<int64_t>(places.size()) == count;
}

// x's rows as a batch has them.
Tensor rows_at(const Tensor& x, const std::vector<int64_t>& places) {
  if (in_order(places, x.size(0))) return x;
  return x.index_select(0, at::tensor(places).to(x.device()));
}

}  // namespace

TokenControlNet::TokenControlNet(size_t place, TokenControlOptions options)
    : StepBlock(numbered("controlnet", place), Stage::denoise_loop, Guidance::shared,
                has_component(numbered("controlnet", place))),
      controlnet(this, numbered("controlnet", place)),
      control(this, control_values_name(place), control_values_help, control_values_shape()),
      options_(std::move(options)),
      place_(place) {
  if (options_.unions) mode.emplace(this, keys::control_mode);
}

// What the ControlNet is asked for, and which of its rows each row of the batch takes.
struct TokenControlNet::Rows {
  Values inputs;
  RowIds ids;
  std::vector<int64_t> places;
  std::string key;
};

TokenControlNet::Rows TokenControlNet::rows_of(const RowBatch& batch) const {
  Rows rows{batch.inputs, batch.rows, {}, ""};
  const auto count = static_cast<int64_t>(batch.rows.size());
  if (options_.own_text) {
    for (int64_t i = 0; i < count; ++i) rows.places.push_back(i);
    return rows;
  }
  std::vector<size_t> asked;  // one of each image: the first that is not without the prompt
  rows.ids.clear();
  for (const RowId& row : batch.rows) {
    auto known = std::ranges::find(rows.ids, row.image, &RowId::image);
    rows.places.push_back(known - rows.ids.begin());
    if (known != rows.ids.end()) continue;
    auto plain = std::ranges::find_if(batch.asked->rows, [&](const Row& each) {
      return each.id.image == row.image && !each.id.negative;
    });
    ensure(plain != batch.asked->rows.end(), "image {} is not asked under the prompt", row.image);
    asked.push_back(static_cast<size_t>(plain - batch.asked->rows.begin()));
    rows.ids.push_back(plain->id);
    rows.key += fmt::format(" {}", row.image);
  }
  rows.inputs = batch.asked->inputs_of(asked);
  return rows;
}

// The image's tokens as the transformer itself takes them.
Tensor TokenControlNet::model_tokens(Frame& frame, const LoopProgress& at, const Rows& rows) const {
  const Values inputs{{"sample", rows.inputs.at("sample")},
                      {"encoder_hidden_states", rows.inputs.at("encoder_hidden_states")}};
  return one(frame.call(
      transformer, inputs,
      [](const nn::DenoiserNetwork& network, Context& cx, const Values& in) {
        return network.image_tokens(
            cx, {{"sample", in.at("sample")},
                 {"encoder_hidden_states", {nn::each_row(cx, in.at("encoder_hidden_states")[0])}}});
      },
      ComponentCall{
          .variant = "image_tokens", .body = {}, .rows = rows.ids, .step = {.index = at.step}}));
}

// Residuals {rows, L, D} by the transformer's input.
Values TokenControlNet::predicted(Frame& frame, const LoopProgress& at, const Rows& rows) const {
  const nn::ControlNetwork& network = frame[controlnet];
  ComponentCall call{.variant = "", .body = {}, .rows = rows.ids, .step = {.index = at.step}};
  Values inputs;
  for (const nn::NetworkInput& input : network.inputs()) {
    auto given = rows.inputs.find(input.name);
    if (given != rows.inputs.end()) inputs.insert(*given);
  }
  if (std::ranges::count(network.inputs(), "image_tokens", &nn::NetworkInput::name) > 0)
    inputs["image_tokens"] = {model_tokens(frame, at, rows)};
  const Value& image = frame[control];
  std::vector<int64_t> images;
  // Of those with texts of their own, the ones without the prompt come last.
  const int64_t half = image.tensor().size(0) / 2;
  for (const RowId& row : rows.ids)
    images.push_back(row.image + (options_.own_text && row.negative ? half : 0));
  const bool whole = image.tensor().size(0) == 1 || in_order(images, image.tensor().size(0));
  // What a network keeps of a value it keeps of all its rows.
  inputs["controlnet_cond"] = {whole ? image
                                     : Value(image.tensor().index_select(0, at::tensor(images)))};
  if (network.modes()) {
    const Json kind = mode_at(frame.maybe(*mode), place_);
    inputs["control_mode"] = {Value(at::tensor({kind.get<int64_t>()}, at::kLong))};
  }
  return frame.call(
      controlnet, inputs,
      [](const nn::ControlNetwork& asked, Context& cx, const Values& in) {
        return asked.control(cx, in);
      },
      std::move(call));
}

BlockHint TokenControlNet::hint(Frame& frame, const LoopProgress& at, const RowBatch& batch,
                                double strength) const {
  auto made = [this, &frame, step = at.step, rows = batch.rows](size_t block, const Value& tokens) {
    return one(frame.call(
        controlnet, {{"image_tokens", {tokens}}, {"controlnet_cond", {frame[control]}}},
        [block](const nn::ControlNetwork& network, Context& cx, const Values& in) {
          return network.hint(cx, in, block);
        },
        ComponentCall{.variant = fmt::format("block {}", block),
                      .body = {},
                      .rows = rows,
                      .step = {.index = step}}));
  };
  // Asked for in another block's turn.
  return [this, &frame, made, strength](size_t block, const Value& tokens) {
    const Tensor hint = frame.within(*this, [&] { return made(block, tokens); });
    return strength == 1.0 ? hint : hint * strength;
  };
}

void TokenControlNet::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  const double strength = strength_at(at, {frame[scale], frame[start], frame[end]}, place_);
  if (strength == 0.0) return;
  if (frame[controlnet].feeds_back()) {
    batch.hints.push_back(hint(frame, at, batch, strength));
    return;
  }
  const Rows rows = rows_of(batch);
  // Batches of one step share what does not depend on their conditions.
  Values own;
  Values& made = rows.key.empty() ? own : batch.asked->made[name() + rows.key];
  if (made.empty()) made = scaled(predicted(frame, at, rows), strength);
  const auto sites = frame.stand_in(transformer, batch.network).residual_sites();
  for (const auto& residuals : frame[controlnet].residuals()) {
    auto site = std::ranges::find(sites, residuals.input, &nn::ResidualSite::input);
    ensure(site != sites.end(), "no block takes {}", residuals.input);
    if (site->blocks == 0) continue;
    std::vector<Tensor> parts;
    for (const Value& part : made.at(residuals.input))
      parts.push_back(rows_at(part.tensor(), rows.places));
    add_residuals(batch.inputs[residuals.input], *site, residuals, parts);
  }
}

}  // namespace omnirt::blocks
