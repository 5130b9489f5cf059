#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/site_plan.hpp"
#include "ops/op_table.hpp"
#include "runtime/binding.hpp"
#include "runtime/block_times.hpp"
#include "runtime/run_state.hpp"
#include "runtime/value.hpp"
#include "tensor/memory.hpp"

namespace omnirt {

class WeightStream;  // runtime/weight_stream.hpp

// Where an op was called, for a dry forward or a trace.
struct OpRecord {
  std::string segment;
  std::string op;
  ops::Shape output;
  std::string by;  // the kernel, or "reference"; "" when dry
  double ms = 0;
};

// The first use of a parameter in a dry forward.
struct DryUse {
  Param param;
  std::string segment;  // the block that was entered last
  std::string op{};     // the first that took it
};

// A kernel that threw, and was skipped.
struct KernelFailure {
  std::string op;
  std::string kernel;
  std::string site;  // the segment that was entered last
  std::string reason;
};

// One execution of one network: its op table, its weights, the constants that it keeps between
// steps, and its cancellation. Made for one call; not shared between threads.
class Context final : public ops::Caller {
 public:
  struct Options {
    const CancelToken* cancel = nullptr;
    RunState* state = nullptr;
    bool dry = false;                        // shapes only; weights are not touched
    bool constants_kept = false;             // dry: what is made once per run is there already
    bool features_kept = false;              // dry: so are features that steps share
    std::vector<OpRecord>* trace = nullptr;  // filled with each op called
    BlockTimes* blocks = nullptr;            // filled with what each block takes
    std::vector<KernelFailure>* failures = nullptr;
    bool require_kernels = false;    // a kernel's failure is the level's: LevelFailed
    WeightStream* stream = nullptr;  // where weights come and go as they are used
    bool capture = true;  // whether a device may record the call's work to play it back later
    std::vector<DryUse>* uses = nullptr;  // dry: filled with the parameters, in order of use
  };
  Context(const ops::OpTable& ops, std::shared_ptr<const Binding> binding, Options options);

  const ops::OpTable& ops() const { return ops_; }
  // The weight of a parameter, in its compute form. Hold on to it no longer than the op takes: its
  // memory may be released then.
  Tensor operator[](const Param& param) { return weight(param); }
  // Of a vector, whose memory stays. Null for a parameter that the layer was built without.
  const Tensor* maybe(const Param& param) { return param ? &weight(param) : nullptr; }
  // The same for an op that is given the weight's packing() too (Binding::as_encoded).
  Tensor as_encoded(const Param& param);
  // Where kernels keep further forms of a weight; null when dry.
  ops::PackSlot* packing(const Param& param) const {
    return options_.dry ? nullptr : binding_->packing(param);
  }
  // What adapters add next to a weight; null where they add nothing.
  const std::vector<SideTerm>* beside(const Param& param) const { return binding_->beside(param); }
  at::ScalarType dtype() const { return binding_->form().dtype; }
  const ComputeForm& form() const { return binding_->form(); }
  RunState* state() { return options_.state; }
  bool may_capture() const { return options_.capture; }
  // From now on keeps constants in another state: a capture's, whose tensors must not move.
  void use_state(RunState* state) { options_.state = state; }
  const std::shared_ptr<const Binding>& binding() const { return binding_; }
  // The current op and segment, for the message of an early end: ", op conv2d at mid_block"; empty
  // before the first op.
  std::string where() const;

  // The rows of the current batch, its step, and the changes at named modules (guiders that perturb
  // layers) for all of them; `sites` must outlive the call, null: none. Without rows no features
  // are shared between steps.
  void enter_batch(RowIds rows, const SharedStep& step, const SitePlan* sites = nullptr);
  // The change at a module; null for none.
  const SiteChange* site(const std::string& path) const {
    return sites_ ? sites_->find(path) : nullptr;
  }
  // Says that this tensor is a value: what is made once of it is found by the value's identity,
  // whichever batch it comes with.
  void know(const Value& value);
  // The result of make(), which depends on x alone: where x is a value that lives as long as the
  // run, or was made once of one, so does the result, and it is made once per run and value.
  // `site` names it within the network. Batches that take other rows of a value have results of
  // their own.
  template <class Make>
  Tensor once(const std::string& site, const Tensor& x, Make&& make) {
    const Known* of = known(x);
    return of ? made_once(site, *of, of->rows, make) : make();
  }
  // The same for the rows of x that a batch takes, by take(); what is made once of the result is
  // of these rows.
  template <class Take>
  Tensor once_in_rows(const std::string& site, const std::vector<int64_t>& rows, const Tensor& x,
                      Take&& take) {
    const Known* of = known(x);
    return of ? made_once(site, *of, in_rows(rows), take) : take();
  }

  // Runs one repeated block of a network under its name, which traces and errors show; checks for
  // cancellation first.
  template <class Body>
  auto segment(const std::string& path, Body&& body) {
    enter(path);
    const BlockTimes::Turn turn(options_.blocks, path, options_.stream);
    return body();
  }
  // Runs a part of a network whose output several steps may share: the run's step cache decides
  // whether the body runs, and keeps its result, {rows, ...}.
  template <class Body>
  Tensor shared_segment(const std::string& path, Body&& body) {
    enter(path);
    if (!step_cache()) return body();
    Tensor kept = features().step_cache().find(path, rows_);
    if (kept.defined()) return kept;
    Tensor made = body();
    features().step_cache().keep(path, rows_, made);
    note_features();
    return made;
  }
  // What an attention of a transformer makes, a list of {rows, ...}: body(), or what is predicted
  // of it from earlier steps (TaylorCache::take). `path` names its module.
  template <class Body>
  std::vector<Tensor> predicted_attention(const std::string& path, Body&& body) {
    return predicted(SharedStep::Kind::attention, path, body);
  }
  // For the driver of transformers (nn/transformer_network.hpp): all that a network makes, computed
  // or predicted likewise.
  Tensor predicted_output(const BlockCache::Body& body);
  // What its blocks make of `after`: body(), or what they added at an earlier step, as
  // BlockCache::take says; where block_cache() is not null.
  Tensor shared_by_steps(const Tensor& before, const Tensor& after, const BlockCache::Body& body);
  // Null where every step computes all blocks.
  BlockCache* block_cache();
  // Null where every step computes everything.
  const SharedStep* step_cache() const;
  // Of a dry call: what its rows keep of it for further steps, all together.
  size_t feature_bytes() const { return feature_bytes_ + dry_features_.feature_bytes(); }

  bool dry() const override { return options_.dry; }
  // Called while what the kernel threw is handled; exhausted memory passes through.
  void kernel_failed(const char* op, const std::string& kernel, const char* reason) override;
  void on_op(const char* op, const ops::Shape& output) override;
  void on_computed(const char* by) override;

 private:
  void enter(const std::string& path);
  std::vector<Tensor> predicted(SharedStep::Kind kind, const std::string& path,
                                const TaylorCache::Body& body);
  const Tensor& weight(const Param& param);
  const Tensor& dry_weight(const Param& param);
  // A tensor of this call that lives as long as the run, and the value that it is or was made of.
  struct Known {
    Tensor tensor;
    uint64_t id;
    std::weak_ptr<const void> alive;
    std::string rows{};  // of the value, " in rows 0,0"; empty for all of them in their order
  };
  const Known* known(const Tensor& x) const;
  static std::string in_rows(const std::vector<int64_t>& rows);
  // `of` and `rows` may lie in what make() adds to: both are copied.
  template <class Make>
  Tensor made_once(const std::string& site, Known of, std::string rows, Make&& make) {
    if (!options_.dry && !options_.state) return make();
    Tensor made = options_.dry ? dry_constant(make) : kept(site + rows, of, make);
    known_.push_back({made, of.id, std::move(of.alive), std::move(rows)});
    return made;
  }
  template <class Make>
  Tensor kept(const std::string& site, const Known& of, Make&& make) {
    const Tensor* found = options_.state->find(site, of.id);
    return found ? *found : options_.state->keep(site, of.id, of.alive, make());
  }
  // In a dry run, what is there already takes no more memory; what is not stays until the end.
  template <class Make>
  Tensor dry_constant(Make&& make) {
    if (!options_.constants_kept) return make();
    MemoryPlan::Pause pause;
    return make();
  }
  bool keeps() const { return (options_.state || options_.dry) && !rows_.empty(); }
  RunState& features() { return options_.dry ? dry_features_ : *options_.state; }
  const RunState& features() const { return options_.dry ? dry_features_ : *options_.state; }
  // In a dry call, what replaces features that are there already takes no more memory.
  void note_features();

  const ops::OpTable& ops_;
  std::shared_ptr<const Binding> binding_;
  Options options_;
  std::string segment_;
  double op_start_ms_ = 0;
  const char* op_ = nullptr;
  std::map<size_t, Tensor> dry_weights_;
  const SitePlan* sites_ = nullptr;
  RowIds rows_;
  std::vector<Known> known_;
  RunState dry_features_;  // of a dry call, which finds nothing there
  size_t feature_bytes_ = 0;
};

}  // namespace omnirt
