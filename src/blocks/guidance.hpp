#pragma once
#include "guiders/guider.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/checks.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt::blocks {

// What `network` does differently under a condition. A name that means none of its sites is
// skipped: check_guidance has reported it.
SitePlan plan_sites(const Condition& condition, const nn::DenoiserNetwork& network);

// Finds what the guider's conditions ask of networks that those cannot do: a named place that the
// network does not have, another network that takes or returns other tensors than `own`, the
// component that a loop asks.
void check_guidance(Checks& checks, const Component<nn::DenoiserNetwork>& own);

// The noise in a sample at a call of the network over the signal in it: the sigma of arXiv
// 2206.00364, whatever form the scheduler has its samples in. Infinite where there is no signal.
double noise_to_signal(const Scheduler& scheduler, size_t index);

}  // namespace omnirt::blocks
