#include "blocks/block_by_block.hpp"

#include <fmt/format.h>

#include "blocks/control_values.hpp"

namespace omnirt::blocks {

Trigger any_control_feeds_back() {
  Trigger any = control_feeds_back(0);
  for (size_t i = 1; i < most_controls; ++i) any = any || control_feeds_back(i);
  return any;
}

BlockByBlock::BlockByBlock()
    : StepBlock("block_by_block", Stage::denoise_loop, Guidance::shared, any_control_feeds_back()) {
}

void BlockByBlock::before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const {
  if (batch.hints.empty()) return;
  const std::string sites = batch.sites ? batch.sites->key() : "";
  auto call = [&](const std::string& variant, const Values& inputs, auto&& body) {
    return frame.call(transformer, inputs, body,
                      ComponentCall{.variant = variant + sites,
                                    .body = {},
                                    .rows = batch.rows,
                                    .step = {.index = at.step},
                                    .sites = batch.sites.get()},
                      batch.network);
  };
  using Network = nn::TransformerNetwork;
  Values state = call(
      "begin", batch.inputs,
      [](const Network& network, Context& cx, const Values& in) { return network.begin(cx, in); });
  const size_t blocks = frame.stand_in(transformer, batch.network).blocks().size();
  for (size_t block = 0; block < blocks; ++block) {
    const Values made = call(fmt::format("block {}", block), state,
                             [block](const Network& network, Context& cx, const Values& in) {
                               return network.through(cx, in, block);
                             });
    state["text"] = made.at("text");
    Tensor image = one(made, "image");
    for (const BlockHint& hint : batch.hints)
      image = image + hint(block, made.at("image").front()).to(image.device());
    state["image"] = {image};
  }
  batch.past_blocks = std::move(state);
}

}  // namespace omnirt::blocks
