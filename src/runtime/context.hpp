#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "ops/op_table.hpp"
#include "runtime/binding.hpp"
#include "runtime/run_state.hpp"

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
  at::ScalarType dtype() const { return binding_->form().dtype; }
  const ComputeForm& form() const { return binding_->form(); }
  RunState* state() { return options_.state; }
  const std::shared_ptr<const Binding>& binding() const { return binding_; }
  // Where the execution stands, to be told when it ends early: ", op conv2d at mid_block"; empty
  // before the first op.
  std::string where() const;

  // Wraps one repeated block of a network. Cancellation is looked at here; step caches, skipping,
  // residency leases and per-block timing take hold at the same place.
  template <class Body>
  auto segment(const std::string& path, Body&& body) {
    enter(path);
    return body();
  }

  bool dry() const override { return options_.dry; }
  void kernel_failed(const char* op, const std::string& kernel, const char* reason) override;
  void on_op(const char* op, const ops::Shape& output) override;
  void on_computed(const char* by) override;

 private:
  void enter(const std::string& path);

  const ops::OpTable& ops_;
  std::shared_ptr<const Binding> binding_;
  Options options_;
  std::string segment_;
  double op_start_ms_ = 0;
  const char* op_ = nullptr;
  std::map<size_t, Tensor> dry_weights_;
};

}  // namespace omnirt
