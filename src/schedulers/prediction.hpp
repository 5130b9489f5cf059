#pragma once
#include <string>

#include "schedulers/config_checks.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// What a network's output is.
enum class Prediction {
  epsilon,  // the noise
  sample,   // the image
  v,        // alpha * noise - sigma * image (arXiv 2202.00512)
  flow,     // noise - image, of flow models
};

// `name`: epsilon, sample, v_prediction or flow_prediction; checked before.
Prediction parse_prediction(const std::string& name);

// Limits on the predicted image.
struct ClipConfig {
  bool thresholding = false;  // dynamic thresholding (arXiv 2205.11487, section 2.3)
  double dynamic_thresholding_ratio = 0.995;  // the quantile of |image| that is still let through
  double sample_max_value = 1.0;

  static void visit(auto& self, auto& v) {
    v("thresholding", self.thresholding);
    v("dynamic_thresholding_ratio", self.dynamic_thresholding_ratio);
    v("sample_max_value", self.sample_max_value);
  }
  void check(ConfigChecks& checks) const;
};

// Each sample of [n, ...] clamped to its quantile of magnitudes and scaled back into 1.
Tensor threshold_sample(const Tensor& sample, const ClipConfig& config);

// One fp32 number by torch's kernels, whose last bits differ from libm's now and then. The solvers
// subtract such values from each other, so last bits are seen.
float torch_sqrt(float x);
float torch_log(float x);
float torch_exp(float x);
float torch_expm1(float x);

}  // namespace omnirt
