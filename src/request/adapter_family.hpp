#pragma once
#include <optional>
#include <string>

#include "request/proposal.hpp"

namespace omnirt {

// The kind of model that an adapter's file was made for, by the marks that the catalogue's families
// declare, where that is another one than the proposal's.
std::optional<std::string> other_family(const Proposal& proposal,
                                        const adapters::AdapterFile& file);

// The kind of this model, as its family calls it.
std::string family_name(const Proposal& proposal);

// "this is a Stable Diffusion XL adapter; the model is Stable Diffusion 1.x"
Finding family_finding(const Proposal& proposal, const std::string& field,
                       const adapters::AdapterFile& file, const std::string& other);

}  // namespace omnirt
