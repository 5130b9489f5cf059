#pragma once
#include <memory>

#include "base/remembered.hpp"
#include "pipeline/model_spec.hpp"

namespace omnirt {

// The network that a component's config describes, without weights; null where its class is none of
// this build's networks (a tokenizer, a scheduler). Throws Unsupported with all that is wrong.
std::shared_ptr<const nn::Network> described_network(const Catalogue& catalogue,
                                                     const ComponentFolder& component);

// The networks that requests to one catalogue had last: to build them anew is more than half of
// what the check of a small model's request takes. One is known by its class and its config, all of
// which is compared. Safe to use from several threads.
class KnownNetworks {
 public:
  static constexpr size_t most = 32;
  // As described_network; what it throws is thrown each time.
  std::shared_ptr<const nn::Network> describe(const Catalogue& catalogue,
                                              const ComponentFolder& component);

 private:
  Remembered<std::shared_ptr<const nn::Network>> known_{most};
};

// What is known of an entry's model where its folder is not available.
Facts usual_facts(const Catalogue& catalogue, const ModelSpec& entry);

}  // namespace omnirt
