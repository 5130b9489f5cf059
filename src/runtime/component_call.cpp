#include "runtime/component_call.hpp"

namespace omnirt {

Values ComponentCall::run(Context& cx, const Values& inputs) const {
  cx.enter_batch(rows, step, sites);
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list) cx.know(value);
  }
  return body(cx, inputs);
}

CallKey call_key(const std::string& variant, const Values& inputs) {
  CallKey key{variant, {}};
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list) {
      const Tensor& x = value.tensor();
      key.inputs.push_back({name, x.sizes().vec(), x.scalar_type(), value.rows()});
    }
  }
  return key;
}

}  // namespace omnirt
