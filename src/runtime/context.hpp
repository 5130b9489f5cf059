#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/site_plan.hpp"
#include "ops/op_table.hpp"
#include "runtime/binding.hpp"
#include "runtime/run_state.hpp"
#include "tensor/memory.hpp"

namespace omnirt {

// Where an op was called, for a dry forward or a trace.
struct OpRecord {
  std::string segment;
  std::string op;
  ops::Shape output;
  std::string by;  // the kernel, or "reference"; "" when dry
  double ms = 0;
};

// A kernel that threw, and was passed over.
struct KernelFailure {
  std::string op;
  std::string kernel;
  std::string site;  // the segment that was entered last
  std::string reason;
};

// One execution of one network: its op table, its weights, what it keeps between steps, and its
// cancellation. Made for a call and dropped after it; not shared between threads.
class Context final : public ops::Caller {
 public:
  struct Options {
    const CancelToken* cancel = nullptr;
    RunState* state = nullptr;
    bool dry = false;                        // shapes only; weights are not touched
    bool constants_kept = false;             // dry: what is made once a run is there already
    std::vector<OpRecord>* trace = nullptr;  // filled with each op called
    std::vector<KernelFailure>* failures = nullptr;
    bool require_kernels = false;  // a kernel's failure is the level's: LevelFailed
  };
  Context(const ops::OpTable& ops, std::shared_ptr<const Binding> binding, Options options);

  const ops::OpTable& ops() const { return ops_; }
  // The weight of a parameter, in its compute form.
  const Tensor& operator[](const Param& param);
  // Null for a parameter that the layer was built without.
  const Tensor* maybe(const Param& param) { return param ? &(*this)[param] : nullptr; }
  // Where kernels keep further forms of a weight; null when dry.
  ops::PackSlot* packing(const Param& param) const {
    return options_.dry ? nullptr : binding_->packing(param);
  }
  // What adapters add beside a weight; null where they add nothing.
  const std::vector<SideTerm>* beside(const Param& param) const { return binding_->beside(param); }
  // Rows of one batch may weigh adapters differently: by adapter (SideTerm::adapter), the batch's
  // scales, {rows} fp32, on top of the term's own. Adapters that are not named count fully.
  void scale_rows(std::map<size_t, Tensor> scales) { row_scales_ = std::move(scales); }
  // Null: 1 for each row.
  const Tensor* row_scale(size_t adapter) const {
    auto it = row_scales_.find(adapter);
    return it == row_scales_.end() ? nullptr : &it->second;
  }
  at::ScalarType dtype() const { return binding_->form().dtype; }
  const ComputeForm& form() const { return binding_->form(); }
  RunState* state() { return options_.state; }
  const std::shared_ptr<const Binding>& binding() const { return binding_; }
  // Where the execution stands, to be told when it ends early: ", op conv2d at mid_block"; empty
  // before the first op.
  std::string where() const;

  // Names the rows of the batch at hand, and the step that it belongs to: what is kept between
  // steps is kept for them. Without this, or without a run state, nothing is.
  void enter_batch(RowNames rows, const SharedStep& step);
  // What happens differently at named modules, for all rows of the batch at hand; outlives the
  // call.
  void enter_sites(const SitePlan* sites) { sites_ = sites; }
  // The change at a module; null where it does what it always does.
  const SiteChange* site(const std::string& path) const {
    return sites_ ? sites_->find(path) : nullptr;
  }
  // x is an input that stays the same through the run, for these rows.
  void mark_constant(const Tensor& x) { constants_.push_back(x); }
  // Not, where a call is captured and played back: what it makes of them belongs to the capture.
  void keep_constants(bool keep) { keep_constants_ = keep; }
  // What is made of x alone: where x stays the same so does this, and it is made once a run. `site`
  // names it within the network.
  template <class Make>
  Tensor once(const std::string& site, const Tensor& x, Make&& make) {
    if (!keep_constants_ || rows_.empty() || !is_constant(x)) return make();
    if (options_.dry) return constants_.emplace_back(dry_constant(make));
    if (!keeps()) return make();
    const Tensor* kept = options_.state->find(site, rows_key_);
    return constants_.emplace_back(kept ? *kept : keep_constant(site, make()));
  }

  // In a dry run, what is there already takes no more memory; what is not stays until the end.
  template <class Make>
  Tensor dry_constant(Make&& make) {
    if (!options_.constants_kept) return make();
    MemoryPlan::Pause pause;
    return make();
  }

  // Wraps one repeated block of a network. Cancellation is looked at here; skipping, residency
  // leases and per-block timing take hold at the same place.
  template <class Body>
  auto segment(const std::string& path, Body&& body) {
    enter(path);
    return body();
  }
  // Wraps a part of a network whose output steps may share: the run's step cache decides whether
  // the body runs, and keeps what it gives, {rows, ...}.
  template <class Body>
  Tensor shared_segment(const std::string& path, Body&& body) {
    enter(path);
    if (!step_cache()) return body();
    Tensor kept = options_.state->step_cache().find(path, rows_);
    if (kept.defined()) return kept;
    Tensor made = body();
    options_.state->step_cache().keep(path, rows_, made);
    return made;
  }
  // Null where every step computes everything.
  const SharedStep* step_cache() const;

  bool dry() const override { return options_.dry; }
  void kernel_failed(const char* op, const std::string& kernel, const char* reason) override;
  void on_op(const char* op, const ops::Shape& output) override;
  void on_computed(const char* by) override;

 private:
  void enter(const std::string& path);
  bool keeps() const { return options_.state && !rows_.empty() && !options_.dry; }
  bool is_constant(const Tensor& x) const;
  const Tensor& keep_constant(const std::string& site, Tensor made);

  const ops::OpTable& ops_;
  std::shared_ptr<const Binding> binding_;
  Options options_;
  std::string segment_;
  double op_start_ms_ = 0;
  const char* op_ = nullptr;
  std::map<size_t, Tensor> dry_weights_;
  std::map<size_t, Tensor> row_scales_;
  const SitePlan* sites_ = nullptr;
  RowNames rows_;
  std::string rows_key_;
  std::vector<Tensor> constants_;
  bool keep_constants_ = true;
};

}  // namespace omnirt
