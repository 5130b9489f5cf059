#pragma once
#include <memory>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// The network that a component's config describes, without weights; null where its class is none of
// this build's networks (a tokenizer, a scheduler). Throws Unsupported with all that is wrong.
std::shared_ptr<const nn::Network> described_network(const Catalogue& catalogue,
                                                     const ComponentFolder& component);

// What is known of an entry's model where its folder is not available.
Facts usual_facts(const Catalogue& catalogue, const ModelSpec& entry);

}  // namespace omnirt
