#pragma once
#include "catalogue/support.hpp"

// What holds of a run however it is made.
namespace omnirt::testing {

// Its images are those of batches of one and of three rows.
void expect_the_same_in_batches_of_any_size(const GenerateRequest& whole);
// Stopped after any of its blocks and resumed, it gives the same bytes.
void expect_the_same_after_any_cut(const GenerateRequest& whole);

}  // namespace omnirt::testing
