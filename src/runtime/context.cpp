#include "runtime/context.hpp"

#include <ATen/ops/empty.h>

#include "base/clock.hpp"
#include "runtime/level.hpp"
#include "tensor/memory.hpp"

namespace omnirt {

Context::Context(const ops::OpTable& ops, std::shared_ptr<const Binding> binding, Options options)
    : ops_(ops), binding_(std::move(binding)), options_(options) {}

const Tensor& Context::operator[](const Param& param) {
  if (!options_.dry) return (*binding_)[param];
  auto [it, fresh] = dry_weights_.try_emplace(param.index);
  if (fresh) {
    MemoryPlan::Pause weights_lie_elsewhere;
    it->second = at::empty(param.shape, at::TensorOptions().dtype(dtype()).device(at::kMeta));
  }
  return it->second;
}

std::string Context::where() const {
  if (!op_) return "";
  return std::string(", op ") + op_ + (segment_.empty() ? "" : " at " + segment_);
}

void Context::kernel_failed(const char* op, const std::string& kernel, const char* reason) {
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
  if (!options_.trace) return;
  options_.trace->push_back({segment_, op, output, "", 0});
  op_start_ms_ = now_ms();
}

void Context::on_computed(const char* by) {
  if (!options_.trace) return;
  options_.trace->back().by = by;
  options_.trace->back().ms = now_ms() - op_start_ms_;
}

void Context::enter(const std::string& path) {
  if (options_.cancel) options_.cancel->check();
  segment_ = path;
}

}  // namespace omnirt
