#pragma once
#include <string>
#include <vector>

#include "base/json.hpp"

namespace omnirt::testing {

// What a run over a schedule yields (tools/goldens/schedulers.py says it whole).
struct Recorded {
  std::vector<double> timesteps;
  double init_sigma = 0;
  std::vector<float> checks;        // three for each call
  std::vector<float> middle;        // the sample after the middle call
  std::vector<float> final_sample;  // and after the last
};

// One case of tests/goldens/<folder>/<scheduler>.json, decoded.
struct GoldenCase {
  Json config;
  int64_t steps = 0;
  double eta = 0;
  std::optional<double> mu;
  std::vector<double> timesteps;  // the run's own, mostly none
  std::vector<double> sigmas;
  bool image_to_image = false;
  std::string outcome;  // of the reference: ok, refused, crash, nan
  size_t begin = 0;
  Recorded recorded;

  std::string text() const;
};

// Every case of a scheduler by its class name; `folder`: schedulers, or schedulers_given, which has
// runs over levels from outside.
std::vector<GoldenCase> golden_cases(const std::string& class_name,
                                     const std::string& folder = "schedulers");

}  // namespace omnirt::testing
