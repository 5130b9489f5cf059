#include "networks/denoiser_goldens.hpp"

#include <gtest/gtest.h>

#include "nn/denoiser_network.hpp"

namespace omnirt::testing {

Tensor prediction_of(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
}

void expect_same_prediction_when_dry(const LoadedNetwork& loaded, const Tensors& tensors) {
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  EXPECT_EQ(prediction_of(real, loaded, tensors).sizes(),
            prediction_of(dry, loaded, tensors).sizes());
  ASSERT_EQ(dry_trace.size(), real_trace.size());
  for (size_t i = 0; i < dry_trace.size(); ++i) {
    EXPECT_EQ(dry_trace[i].op, real_trace[i].op);
    EXPECT_EQ(dry_trace[i].output, real_trace[i].output) << dry_trace[i].op;
  }
}

void expect_predictions(const LoadedNetwork& loaded, const std::string& name, double tolerance) {
  for (const std::string& file : files(name, "golden")) {
    SCOPED_TRACE(name + "/" + file);
    Tensors tensors = golden(name, file);
    Context cx = loaded.context();
    EXPECT_LT(difference(prediction_of(cx, loaded, tensors), tensors.at("out.sample")), tolerance);
    expect_same_prediction_when_dry(loaded, tensors);
  }
}

void expect_predictions_of_cases(const std::string& prefix, double tolerance) {
  for (const std::string& name : cases(prefix)) {
    for (bool channels_last : {false, true}) {
      SCOPED_TRACE(channels_last ? "channels-last" : "channels first");
      expect_predictions(load_case(name, {at::kFloat, channels_last}), name, tolerance);
    }
  }
}

}  // namespace omnirt::testing
