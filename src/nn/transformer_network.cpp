#include "nn/transformer_network.hpp"

#include "nn/layout.hpp"

namespace omnirt::nn {
namespace {

// The tokens that step caches keep.
Tensor shared_tokens(Context& cx, const TokenStream& stream, const TokenSpan& shared) {
  const int64_t tokens = stream.image.size(1);
  if (tokens == shared.count) return stream.image;
  if (tokens > shared.count) return stream.image.narrow(1, shared.first, shared.count);
  return cx.ops().concat(cx, {stream.image, stream.references});
}

Tensor predicted_tokens(const TokenStream& stream, const TokenAxis& axis) {
  const int64_t tokens = stream.image.size(1);
  if (tokens == axis.image.count) return stream.image;
  const bool joined = tokens > axis.shared.count;
  const int64_t first = axis.image.first - (joined ? 0 : axis.shared.first);
  return stream.image.narrow(1, first, axis.image.count);
}

TokenStream joined(Context& cx, TokenStream stream) {
  return {.image = cx.ops().concat(cx, {stream.text, stream.image}),
          .references = std::move(stream.references)};
}

Tensor residual_added(Context& cx, const Tensor& image, const TokenSpan& shared,
                      const Tensor& residual) {
  const int64_t tokens = image.size(1);
  const bool whole = tokens == shared.count;
  Tensor part = whole ? image : image.narrow(1, shared.first, shared.count);
  Tensor added = with_residual(cx, part, residual);
  if (whole) return added;
  ensure(shared.first + shared.count == tokens, "tokens after those that residuals are added to");
  Tensor before = image.narrow(1, 0, shared.first);
  return cx.ops().concat(cx, {before, added});
}

}  // namespace

void ensure_whole_tokens(const Tensor& text, const Tensor& sample, int64_t side) {
  ensure(text.size(0) == sample.size(0), "{} rows of text for {} samples", text.size(0),
         sample.size(0));
  ensure(sample.size(2) % side == 0 && sample.size(3) % side == 0,
         "latents of {}x{} are no whole tokens of {}x{}", sample.size(3), sample.size(2), side,
         side);
}

std::vector<NetworkInput> TransformerNetwork::inputs() const {
  std::vector<NetworkInput> names = own_inputs();
  for (const ResidualSite& site : residual_sites()) names.push_back({site.input, false, true});
  return names;
}

TransformerNetwork::ResidualsByBlock TransformerNetwork::take_residuals(Context& cx,
                                                                        Values& inputs) const {
  ResidualsByBlock all(blocks_.size());
  for (const ResidualSite& site : residual_sites()) {
    const auto given = inputs.extract(site.input);
    if (!given) continue;
    const std::vector<Value>& list = given.mapped();
    ensure(list.size() <= site.blocks, "{} of {} for {} blocks", list.size(), site.input,
           site.blocks);
    for (size_t i = 0; i < std::min(list.size(), site.blocks - site.unused); ++i)
      if (list[i].tensor().size(1) > 0) all[site.first_block + i] = each_row(cx, list[i]);
  }
  return all;
}

TokenStream TransformerNetwork::run(Context& cx, BlockRange range, TokenStream stream,
                                    const Entered& call, const ResidualsByBlock& residuals) const {
  const size_t join = joined_from().value_or(blocks_.size());
  auto part = [&](BlockRange of, TokenStream x) {
    return run_blocks(
        cx, blocks_, of, std::move(x),
        [&](size_t i, TokenStream in) { return run_block(cx, i, std::move(in), *call.shared); },
        [&](size_t i, TokenStream& out) {
          if (residuals[i].defined())
            out.image = residual_added(cx, out.image, call.axis.shared, residuals[i]);
        });
  };
  if (join < range.first || join >= range.end) return part(range, std::move(stream));
  stream = part({range.first, join}, std::move(stream));
  // A statement of its own: an argument would live until the blocks have run.
  stream = joined(cx, std::move(stream));
  return part({join, range.end}, std::move(stream));
}

// Of the image that is predicted, {B, L, D}; of blocks whose work an earlier step did, as they are
// kept.
Tensor TransformerNetwork::image_after_blocks(Context& cx, Entered& call,
                                              const ResidualsByBlock& residuals) const {
  TokenStream stream = std::move(call.tokens);
  const TokenSpan &image = call.axis.image, &shared = call.axis.shared;
  auto through = [&](BlockRange range) {
    stream = run(cx, range, std::move(stream), call, residuals);
  };
  if (!cx.block_cache()) {
    through({0, blocks_.size()});
    return predicted_tokens(stream, call.axis);
  }
  // The first block says how much has changed, where the cache asks for that.
  const Tensor before = shared_tokens(cx, stream, shared);
  const size_t head = cx.block_cache()->looks_at_first_block() && blocks_.size() > 0 ? 1 : 0;
  through({0, head});
  const Tensor after = head == 0 ? before : shared_tokens(cx, stream, shared);
  const Tensor made = cx.shared_by_steps(before, after, [&] {
    through({head, blocks_.size()});
    return shared_tokens(cx, stream, shared);
  });
  return made.narrow(1, image.first - shared.first, image.count);
}

Tensor TransformerNetwork::predict(Context& cx, const Values& inputs) const {
  return cx.predicted_output([&] {
    Values own = inputs;
    const ResidualsByBlock residuals = take_residuals(cx, own);
    Entered call = enter_call(cx, std::move(own));
    const Tensor tokens = image_after_blocks(cx, call, residuals);
    return leave_call(cx, tokens, *call.shared);
  });
}

Values TransformerNetwork::begin(Context& cx, const Values& inputs) const {
  const Entered call = enter_call(cx, inputs);
  ensure(!joined_from() && call.axis.image.count == call.axis.shared.count,
         "{} goes through its blocks without references", class_name());
  Values state = saved(*call.shared);
  state["text"] = {call.tokens.text};
  state["image"] = {call.tokens.image};
  state["sample"] = inputs.at("sample");
  return state;
}

Values TransformerNetwork::through(Context& cx, const Values& state, size_t i) const {
  TokenStream in{.text = one(state, "text"), .image = in_form(cx, one(state, "image"))};
  const Shared shared = loaded(state);
  const TokenStream out = run_blocks(
      cx, blocks_, {i, i + 1}, std::move(in),
      [&](size_t at, TokenStream x) { return run_block(cx, at, std::move(x), *shared); },
      [](size_t, TokenStream&) {});
  return {{"text", {out.text}}, {"image", {out.image}}};
}

Tensor TransformerNetwork::end(Context& cx, const Values& state) const {
  return leave_call(cx, in_form(cx, one(state, "image")), *loaded(state));
}

}  // namespace omnirt::nn
