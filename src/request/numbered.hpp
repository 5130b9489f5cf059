#pragma once
#include <string>

namespace omnirt {

struct Proposal;

// The name of one of several parts of the same kind: "controlnet", "controlnet_1", ... as diffusers
// names the folders of several.
std::string numbered(const std::string& name, size_t place);

// Components and pictures that a request gives as lists, {"controlnet": [a, b]}, become those that
// are numbered: controlnet and controlnet_1. Image prompts are lists of lists too, one for each of
// the adapters. A list that is longer than what the family takes is a finding.
void expand_lists(Proposal& proposal);

}  // namespace omnirt
