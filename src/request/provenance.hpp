#pragma once
#include "request/proposal.hpp"

namespace omnirt {

// The request that a run's images and videos embed, to be made again wherever it is read: the model
// as it was named (an id, or an absolute path), only keys that the image depends on, absolute
// paths, and fingerprints of all files that took part: {"unet", "inputs.image", "adapters[0]",
// ...}. With metadata "short" base names replace paths; null with "none".
Json provenance_of(const Proposal& proposal);

// Adds a finding for each fingerprint of the request that is not that of the file here.
void check_fingerprints(Proposal& proposal);

// The files among the inputs, by name ("control_image[1]"), as far as they are here.
std::map<std::string, std::string> input_files(const Proposal& proposal);

}  // namespace omnirt
