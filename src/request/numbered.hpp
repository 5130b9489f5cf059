#pragma once

namespace omnirt {

struct Proposal;

// Components and images that a request has as lists, {"controlnet": [a, b]}, become those that are
// numbered: controlnet and controlnet_1. Of inputs that are named after a component
// (ip_adapter_image) each of several components has a list. A list that is longer than what the
// family takes is a finding.
void expand_lists(Proposal& proposal);

}  // namespace omnirt
