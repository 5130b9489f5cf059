#include "runtime/component_call.hpp"

namespace omnirt {

Values ComponentCall::run(Context& cx, const Values& inputs) const {
  cx.enter_batch(rows, step, sites);
  for (const auto& [name, list] : inputs) {
    for (const Value& value : list) cx.know(value);
  }
  return body(cx, inputs);
}

}  // namespace omnirt
