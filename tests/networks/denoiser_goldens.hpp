#pragma once
#include "networks/support.hpp"

namespace omnirt::testing {

// What a denoiser predicts of a golden's inputs.
Tensor prediction_of(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors);

// A dry forward calls the same ops with the same shapes as the real one.
void expect_same_prediction_when_dry(const LoadedNetwork& loaded, const Tensors& tensors);

// Each golden file of a case: the reference's prediction, and the same ops in a dry forward.
void expect_predictions(const LoadedNetwork& loaded, const std::string& name, double tolerance);

// The same of the cases whose names begin so, with channels last and first.
void expect_predictions_of_cases(const std::string& prefix, double tolerance);

}  // namespace omnirt::testing
