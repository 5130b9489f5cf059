#include "runtime/value.hpp"

#include <atomic>

#include "base/ensure.hpp"

namespace omnirt {
namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

Value::Value(Tensor tensor, Life life)
    : tensor_(std::move(tensor)),
      identity_(std::make_shared<const Identity>(Identity{next_id(), life})) {}

Value Value::with_rows(std::vector<int64_t> rows) const {
  Value value = *this;
  value.rows_ = std::move(rows);
  return value;
}

Value Value::placed(Tensor tensor) const {
  Value value = *this;
  value.tensor_ = std::move(tensor);
  return value;
}

std::vector<Value> listed(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

Values result(Tensor tensor) {
  return {{"", {Value(std::move(tensor))}}};
}

const Tensor& one(const Values& values, const std::string& name) {
  auto it = values.find(name);
  ensure(it != values.end(), "there is no value '{}'", name);
  ensure(it->second.size() == 1, "'{}' has {} values where one is expected", name,
         it->second.size());
  return it->second.front().tensor();
}

const Tensor& one(const Values& values) {
  return one(values, "");
}

Tensor host(const Value& value) {
  return value.tensor().to(at::kCPU);
}

Tensor host(const Values& values) {
  return host(Value(one(values)));
}

}  // namespace omnirt
