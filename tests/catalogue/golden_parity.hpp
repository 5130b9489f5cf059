#pragma once
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "base/keys.hpp"

namespace omnirt::testing {

// A run in tests/goldens whose result the reference implementation has made.
struct GoldenCase {
  std::string model;
  std::string name;  // "model/run"
  std::filesystem::path folder;
};

// Every run in tests/goldens/pipelines and tests/goldens/videos. One run of each model comes first,
// so that an early end still covers all models.
std::vector<GoldenCase> golden_cases();
// These first ones.
std::vector<GoldenCase> one_of_each_model();

// How test listings name a case.
inline void PrintTo(const GoldenCase& golden, std::ostream* out) {
  *out << golden.name;
}

struct ParitySetting {
  std::string backend;
  std::string level;
  std::string dtype;
};

// The least PSNR against a golden, in dB: 50 in fp32, 35 in half types.
double parity_floor_db(const std::string& dtype);

// Runs a golden's request and compares its image with the golden's, or its last latents where the
// golden has no image. Never throws: what ends the run is in `error`.
Json golden_parity(const GoldenCase& golden, const ParitySetting& setting);

}  // namespace omnirt::testing
