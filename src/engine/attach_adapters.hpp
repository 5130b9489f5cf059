#pragma once
#include "pipeline/loaded_pipeline.hpp"
#include "request/proposal.hpp"

namespace omnirt {

// Matches the proposal's adapters with the loaded components and adds them to `pipeline`: an
// overlay per component, tokenizers with the tokens that they bring. Of the adapters' files
// it reads all numbers once, to find those that are not finite; what the overlays change is
// computed when it is first used. What does not fit is an error of the proposal, which then gets no
// reports.
void attach_adapters(Proposal& proposal, LoadedPipeline& pipeline);

}  // namespace omnirt
