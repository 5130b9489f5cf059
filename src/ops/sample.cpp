#include "ops/sample.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gather.h>

#include "ops/sizes.hpp"

namespace omnirt::ops {

Tensor GaussianSample::reference(const GaussianSample& args) {
  return args.x + at::exp(0.5 * at::clamp(args.logvar, -30.0, 20.0)) * args.noise;
}

Tensor StateAtToken::reference(const StateAtToken& args) {
  Tensor score = args.largest ? args.ids : args.ids.eq(args.token).to(at::kLong);
  Tensor row = at::argmax(score, 1).to(args.x.device());
  Tensor index = row.view({-1, 1, 1}).expand({-1, 1, args.x.size(2)});
  return at::gather(args.x, 1, index).squeeze(1);
}

bool GaussianSample::fits(const GaussianSample& args) {
  return broadcasts_to(args.x, args.noise.sizes()) &&
         broadcasts_to(args.logvar, args.noise.sizes());
}

bool StateAtToken::fits(const StateAtToken& args) {
  return args.x.dim() == 3 && has_sizes(args.ids, {args.x.size(0), args.x.size(1)});
}

}  // namespace omnirt::ops
