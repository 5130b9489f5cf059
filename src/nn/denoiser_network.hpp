#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "nn/network.hpp"
#include "runtime/context.hpp"

namespace omnirt::nn {

// A name among a network's inputs; an optional one may be absent.
struct NetworkInput {
  std::string name;
  bool required = true;
  bool list = false;
};

using omnirt::Values;

// An input by which a denoiser takes residuals of ControlNets: a list of {B, L, D}, one for each of
// its blocks of a kind, added to the image's tokens after the block.
struct ResidualSite {
  std::string input;
  size_t blocks = 0;
  int64_t dim = 0;
  int64_t patch = 2;       // latents per token and side
  size_t first_block = 0;  // of TransformerNetwork::blocks()
  size_t unused = 0;       // of `blocks`, how many at the end ignore theirs
};

// Rows of a batch, equal ones held once: row i of the batch is row rows[i] of the tensor; where
// `rows` is empty, row i is row i.
struct DistinctRows {
  DistinctRows() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): rows that are all their own.
  DistinctRows(Tensor all, std::vector<int64_t> each = {})
      : tensor(std::move(all)), rows(std::move(each)) {}
  // Of the batch.
  int64_t count() const {
    return rows.empty() ? tensor.size(0) : static_cast<int64_t>(rows.size());
  }
  Tensor tensor;
  std::vector<int64_t> rows;
};

// A network that predicts what a sampling loop removes from its latents: the same interface for
// every architecture, with inputs by name. Its input struct names its fields in one
// `static void visit(auto& self, auto& v)`; from that come `inputs()` and `predict()`. A field is a
// Tensor, an optional one, a list of them, or DistinctRows, for a network that computes with equal
// rows once; to the others each row of the batch is given.
class DenoiserNetwork : public Network {
 public:
  // The prediction, {B, out_channels, H, W}. Throws InternalError for an input that is missing,
  // unknown, or of another batch.
  virtual Tensor predict(Context& cx, const Values& inputs) const = 0;
  virtual std::vector<NetworkInput> inputs() const = 0;

  virtual int64_t in_channels() const = 0;
  virtual int64_t out_channels() const = 0;
  // {height, width} of the latents that the network was trained on; {0, 0} where the config does
  // not say.
  virtual std::array<int64_t, 2> sample_size() const = 0;
  // Width of encoder_hidden_states.
  virtual int64_t context_dim() const = 0;
  // Width of what it is told of a prompt as a whole (pooled_projections); 0: nothing.
  virtual int64_t pooled_dim() const { return 0; }
  // Width of timestep_cond, where the network takes the guidance scale as an input (as latent
  // consistency models do); it then predicts guided results in one evaluation.
  virtual std::optional<int64_t> time_cond_dim() const { return std::nullopt; }
  // Whether the network predicts guided results by itself from the scale: embedded as
  // timestep_cond, or as it is, as `guidance` {B}. It is then evaluated under one condition.
  virtual bool takes_guidance_scale() const { return time_cond_dim().has_value(); }
  // How many places there are above which a step cache can cut the network (SharedStep::branch);
  // 0: none.
  virtual size_t cache_branches() const { return 0; }
  // Whether steps can share what its blocks add, or predict its output (TransformerNetwork).
  virtual bool caches_blocks() const { return false; }
  // Whether its attentions run as Context::predicted_attention.
  virtual bool predicts_attentions() const { return false; }
  // Whether rows of several runs, which have inputs of these names, may be one batch: each row's
  // prediction depends on that row's inputs alone.
  virtual bool joins_runs(const Values& /*inputs*/) const { return false; }
  // The image's tokens as the first block takes them, {B, L, D}, of `sample` and
  // `encoder_hidden_states`; for ControlNets that have no embedding of their own.
  virtual Tensor image_tokens(Context& cx, const Values& inputs) const;
  // None: it takes no residuals of tokens.
  virtual std::vector<ResidualSite> residual_sites() const { return {}; }

 protected:
  using Network::Network;
};

// x {B, L, D} plus a residual of the same shape.
Tensor with_residual(Context& cx, const Tensor& x, const Tensor& residual);

// A value with each row of the batch; made once per run where it lives so long.
Tensor each_row(Context& cx, const Value& value);

namespace detail {

struct InputNames {
  std::vector<NetworkInput> names;
  void operator()(const char* name, const Tensor&) { names.push_back({name, true}); }
  void operator()(const char* name, const DistinctRows&) { names.push_back({name, true}); }
  void operator()(const char* name, const std::optional<Tensor>&) {
    names.push_back({name, false});
  }
  void operator()(const char* name, const std::vector<Tensor>&) {
    names.push_back({name, false, true});
  }
};

struct InputFiller {
  Context& cx;
  const Values& from;
  size_t taken = 0;

  const std::vector<Value>* find(const char* name) {
    auto it = from.find(name);
    if (it == from.end()) return nullptr;
    ++taken;
    return &it->second;
  }
  const Value* find_one(const char* name) {
    const std::vector<Value>* list = find(name);
    ensure(!list || list->size() == 1, "the network takes one '{}', not {}", name,
           list ? list->size() : 0);
    return list ? &list->front() : nullptr;
  }
  void operator()(const char* name, Tensor& member) {
    const Value* value = find_one(name);
    ensure(value != nullptr, "the network's input '{}' was not given", name);
    member = each_row(cx, *value);
  }
  void operator()(const char* name, DistinctRows& member) {
    const Value* value = find_one(name);
    ensure(value != nullptr, "the network's input '{}' was not given", name);
    member = {value->tensor(), value->rows()};
  }
  void operator()(const char* name, std::optional<Tensor>& member) {
    if (const Value* value = find_one(name)) member = each_row(cx, *value);
  }
  void operator()(const char* name, std::vector<Tensor>& member) {
    const std::vector<Value>* list = find(name);
    if (!list) return;
    for (const Value& value : *list) member.push_back(each_row(cx, value));
  }
};

}  // namespace detail

template <class Input>
std::vector<NetworkInput> input_names() {
  detail::InputNames visitor;
  Input input;
  Input::visit(input, visitor);
  return std::move(visitor.names);
}

// `names` without those that a config leaves out.
std::vector<NetworkInput> only_where(bool present, const std::vector<std::string>& some,
                                     std::vector<NetworkInput> names);
// `names`, of which some are required where a config has them, and else left out.
std::vector<NetworkInput> required_where(bool present, const std::vector<std::string>& some,
                                         std::vector<NetworkInput> names);

template <class Input>
Input fill_inputs(Context& cx, const Values& from) {
  detail::InputFiller visitor{cx, from};
  Input input;
  Input::visit(input, visitor);
  ensure(visitor.taken == from.size(), "{} of {} inputs are unknown to the network",
         from.size() - visitor.taken, from.size());
  return input;
}

}  // namespace omnirt::nn
