#include "nn/decoder_config.hpp"

#include <optional>

#include "base/config.hpp"

namespace omnirt::nn {
namespace {

struct RopeParameters {
  std::optional<double> rope_theta;

  static void visit(auto& self, auto& v) {
    v("rope_theta", self.rope_theta);
    v.only("rope_type", {"default"});
    v.only("type", {"default"});  // its name before transformers 4.45
  }
};

}  // namespace

double read_rope_theta(const Json& config, const std::string& where, double of_its_own) {
  double theta = of_its_own;
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    if (!config.contains(name) || config[name].is_null()) continue;
    auto rope = read_config<RopeParameters>(config[name], where + "." + name);
    theta = rope.rope_theta.value_or(theta);
  }
  return theta;
}

}  // namespace omnirt::nn
