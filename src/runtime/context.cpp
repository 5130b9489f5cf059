#include "runtime/context.hpp"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/clock.hpp"
#include "runtime/level.hpp"
#include "runtime/weight_stream.hpp"
#include "tensor/memory.hpp"

namespace omnirt {

Context::Context(const ops::OpTable& ops, std::shared_ptr<const Binding> binding, Options options)
    : ops_(ops), binding_(std::move(binding)), options_(options) {}

const Tensor& Context::weight(const Param& param) {
  if (options_.dry) return dry_weight(param);
  if (options_.stream) options_.stream->use(param.index);
  return (*binding_)[param];
}

Tensor Context::as_encoded(const Param& param) {
  if (options_.dry) return dry_weight(param);
  if (options_.stream) options_.stream->use(param.index);
  return binding_->as_encoded(param);
}

const Tensor& Context::dry_weight(const Param& param) {
  auto [it, fresh] = dry_weights_.try_emplace(param.index);
  if (fresh) {
    MemoryPlan::Pause weights_lie_elsewhere;
    it->second = at::empty(param.shape, at::TensorOptions().dtype(dtype()).device(at::kMeta));
    if (options_.uses) options_.uses->push_back({param, segment_});
  }
  return it->second;
}

std::string Context::where() const {
  if (!op_) return "";
  return std::string(", op ") + op_ + (segment_.empty() ? "" : " at " + segment_);
}

namespace {

// A reference takes no less memory than a kernel.
void pass_exhausted_memory() {
  try {
    throw;
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
  }
}

}  // namespace

void Context::kernel_failed(const char* op, const std::string& kernel, const char* reason) {
  pass_exhausted_memory();
  // What stopped because the run was cancelled has not failed, and nothing is computed in its
  // place.
  if (options_.cancel) options_.cancel->check();
  if (options_.failures) {
    std::string site = segment_.empty() ? "the network's edge" : segment_;
    options_.failures->push_back({op, kernel, site, reason});
  }
  if (options_.require_kernels) {
    throw LevelFailed(std::string("kernel ") + kernel + " of " + op +
                      " failed, and it is required: " + reason);
  }
}

void Context::on_op(const char* op, const ops::Shape& output) {
  op_ = op;
  if (options_.uses) {
    for (auto use = options_.uses->rbegin(); use != options_.uses->rend() && use->op.empty(); ++use)
      use->op = op;
  }
  if (!options_.trace) return;
  options_.trace->push_back({segment_, op, output, "", 0});
  op_start_ms_ = now_ms();
}

void Context::on_computed(const char* by) {
  if (!options_.trace) return;
  options_.trace->back().by = by;
  options_.trace->back().ms = now_ms() - op_start_ms_;
}

void Context::enter_batch(RowIds rows, const SharedStep& step, const SitePlan* sites) {
  rows_ = std::move(rows);
  sites_ = sites;
  if (!keeps()) return;
  features().step_cache().enter(step);
  if (step.shares_blocks()) features().block_cache().enter(step);
  if (step.predicts()) features().taylor_cache().enter(step);
}

void Context::know(const Value& value) {
  if (value.life() == Life::run) known_.push_back({value.tensor(), value.id(), value.alive()});
}

const Context::Known* Context::known(const Tensor& x) const {
  auto it = std::ranges::find_if(known_, [&](const Known& k) { return k.tensor.is_same(x); });
  return it == known_.end() ? nullptr : &*it;
}

std::string Context::in_rows(const std::vector<int64_t>& rows) {
  return fmt::format(" in rows {}", fmt::join(rows, ","));
}

BlockCache* Context::block_cache() {
  if (!keeps()) return nullptr;
  BlockCache& cache = features().block_cache();
  return cache.step().shares_blocks() ? &cache : nullptr;
}

const SharedStep* Context::step_cache() const {
  if (!keeps()) return nullptr;
  const SharedStep& step = features().step_cache().step();
  return step.shares() ? &step : nullptr;
}

std::vector<Tensor> Context::predicted(SharedStep::Kind kind, const std::string& path,
                                       const TaylorCache::Body& body) {
  if (!keeps() || features().step_cache().step().kind != kind) return body();
  std::vector<Tensor> made = features().taylor_cache().take(path, rows_, body);
  note_features();
  return made;
}

Tensor Context::predicted_output(const BlockCache::Body& body) {
  return predicted(SharedStep::Kind::output, "output", [&] { return std::vector<Tensor>{body()}; })
      .front();
}

Tensor Context::shared_by_steps(const Tensor& before, const Tensor& after,
                                const BlockCache::Body& body) {
  Tensor made = block_cache()->take(rows_, before, after, body);
  note_features();
  return made;
}

void Context::note_features() {
  if (!options_.dry || !options_.features_kept) return;
  feature_bytes_ += dry_features_.feature_bytes();
  dry_features_.forget_features();
}

void Context::enter(const std::string& path) {
  if (options_.cancel) options_.cancel->check();
  segment_ = path;
}

}  // namespace omnirt
