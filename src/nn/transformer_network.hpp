#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nn/denoiser_network.hpp"
#include "nn/run_blocks.hpp"

namespace omnirt::nn {

struct TokenSpan {
  int64_t first = 0, count = 0;
};

// Where tokens lie along axis 1, once text, image and references are one sequence.
struct TokenAxis {
  // NOLINTNEXTLINE(google-explicit-constructor): of an image alone.
  TokenAxis(TokenSpan of_image) : image(of_image), shared(of_image) {}
  TokenAxis(TokenSpan of_image, TokenSpan of_all) : image(of_image), shared(of_all) {}
  TokenSpan image;   // of the image that is predicted
  TokenSpan shared;  // that residuals are added to, and that step caches keep; holds `image`
};

// Throws InternalError unless text {B, T, D} and sample {B, C, H, W} have equal rows, and the
// sample whole tokens of side x side latents.
void ensure_whole_tokens(const Tensor& text, const Tensor& sample, int64_t side);

// A denoiser that is a list of blocks over tokens. This class owns everything between the blocks:
// names and cancellation, skipped blocks, ControlNet residuals, step caches. Networks derive from
// Transformer, below.
class TransformerNetwork : public DenoiserNetwork {
 public:
  // Takes a list of residuals by the input of each residual_sites(). An element {B, 0, D} adds
  // nothing; a list may be shorter than its site.
  Tensor predict(Context& cx, const Values& inputs) const final;
  std::vector<NetworkInput> inputs() const final;
  bool caches_blocks() const final { return blocks_.size() > 0; }

  const BlockList& blocks() const { return blocks_; }

  // predict() in pieces, for a run that changes the stream between blocks. begin() embeds the
  // inputs and returns the state: "text" and "image" of the stream, "sample", and what
  // Transformer::saved_call gives. through() returns "text" and "image" after one block; end()
  // makes the prediction of a state. For networks that implement saved_call() and never join text
  // and image.
  Values begin(Context& cx, const Values& inputs) const;
  Values through(Context& cx, const Values& state, size_t block) const;
  Tensor end(Context& cx, const Values& state) const;

 protected:
  // What all blocks of a call share; only the network itself looks inside.
  class SharedByBlocks {
   public:
    virtual ~SharedByBlocks() = default;
  };
  using Shared = std::unique_ptr<const SharedByBlocks>;
  // A call's inputs, embedded.
  struct Entered {
    TokenStream tokens;
    TokenAxis axis;
    Shared shared;
  };

  using DenoiserNetwork::DenoiserNetwork;
  // Called in the constructor, once all blocks are in their lists, in order.
  template <class... Lists>
  void set_blocks(const Lists&... lists) {
    (blocks_.append(lists), ...);
  }
  // The block before which text and image become one sequence, the text first; none: they never do.
  virtual std::optional<size_t> joined_from() const { return std::nullopt; }

 private:
  // By block; undefined where nothing is added.
  using ResidualsByBlock = std::vector<Tensor>;

  virtual std::vector<NetworkInput> own_inputs() const = 0;
  virtual Entered enter_call(Context& cx, Values inputs) const = 0;
  virtual TokenStream run_block(Context& cx, size_t i, TokenStream x,
                                const SharedByBlocks& shared) const = 0;
  virtual Tensor leave_call(Context& cx, const Tensor& tokens,
                            const SharedByBlocks& shared) const = 0;
  virtual Values saved(const SharedByBlocks& shared) const = 0;
  virtual Shared loaded(const Values& state) const = 0;

  ResidualsByBlock take_residuals(Context& cx, Values& inputs) const;
  TokenStream run(Context& cx, BlockRange range, TokenStream stream, const Entered& call,
                  const ResidualsByBlock& residuals) const;
  Tensor image_after_blocks(Context& cx, Entered& call, const ResidualsByBlock& residuals) const;

  BlockList blocks_;
};

// A transformer declares three steps: enter() embeds a call's inputs, block() runs one block, and
// leave() makes the prediction. `Input` is its input struct (DenoiserNetwork); `Call` holds what
// all blocks of a call share: modulations, positions, a bias.
template <class Input, class Call>
class Transformer : public TransformerNetwork {
 protected:
  struct Trunk {
    TokenStream tokens;
    TokenAxis axis;
    Call call;
  };
  using TransformerNetwork::TransformerNetwork;
  virtual Trunk enter(Context& cx, const Input& input) const = 0;
  virtual TokenStream block(Context& cx, size_t i, TokenStream x, const Call& call) const = 0;
  // tokens {B, L, D}: those of axis.image. The prediction, {B, out_channels, H, W}.
  virtual Tensor leave(Context& cx, const Tensor& tokens, const Call& call) const = 0;
  virtual Input read(Context& cx, Values& inputs) const { return fill_inputs<Input>(cx, inputs); }
  std::vector<NetworkInput> own_inputs() const override { return input_names<Input>(); }
  // A call as values, and back: begin() and end() of a call may be apart. The state also has
  // "sample".
  virtual Values saved_call(const Call& /*call*/) const { return refused(); }
  virtual Call restored_call(const Values& /*state*/) const { return refused(), Call(); }

 private:
  struct Held final : SharedByBlocks {
    explicit Held(Call given) : call(std::move(given)) {}
    Call call;
  };
  static const Call& call_of(const SharedByBlocks& shared) {
    return static_cast<const Held&>(shared).call;
  }
  Values refused() const {
    ensure(false, "{} does not go through its blocks one by one", class_name());
    return {};
  }
  Entered enter_call(Context& cx, Values inputs) const final {
    Trunk trunk = enter(cx, read(cx, inputs));
    return {std::move(trunk.tokens), trunk.axis, std::make_unique<Held>(std::move(trunk.call))};
  }
  TokenStream run_block(Context& cx, size_t i, TokenStream x,
                        const SharedByBlocks& shared) const final {
    return block(cx, i, std::move(x), call_of(shared));
  }
  Tensor leave_call(Context& cx, const Tensor& tokens, const SharedByBlocks& shared) const final {
    return leave(cx, tokens, call_of(shared));
  }
  Values saved(const SharedByBlocks& shared) const final { return saved_call(call_of(shared)); }
  Shared loaded(const Values& state) const final {
    return std::make_unique<Held>(restored_call(state));
  }
};

}  // namespace omnirt::nn
