#pragma once
#include "runtime/context.hpp"

namespace omnirt::nn {

// Throws InvalidRequest where one of the ids is no row of a table of `vocab_size`. Values are
// checked where that does not wait for a device.
void check_token_ids(const Context& cx, const Tensor& ids, int64_t vocab_size);

}  // namespace omnirt::nn
