#include "catalogue/reach_of_last_bits.hpp"

#include <algorithm>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "schedulers/last_bits.hpp"

namespace omnirt::testing {
namespace {

constexpr uint32_t draws = 32;
// What is compared are two draws, each off by its own last bits.
constexpr double margin = 2;

}  // namespace

double reach_of_last_bits(GenerateRequest request, size_t step, double error) {
  request.config["level"] = "eager";
  // Not the engine of the other tests, which would keep what was made of moved bits.
  Engine apart(builtin_catalogue());
  const Tensor plain = run_on(apart, request).latents_after.at(step);
  double reach = 0;
  for (uint32_t draw = 0; draw < draws && reach < error; ++draw) {
    LastBits bits(draw);
    Tensor moved = run_on(apart, request).latents_after.at(step);
    reach = std::max(reach, margin * relative_error(moved, plain));
  }
  return reach;
}

}  // namespace omnirt::testing
