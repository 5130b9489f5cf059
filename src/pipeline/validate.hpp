#pragma once
#include "pipeline/proposal.hpp"

namespace omnirt {

struct ValidateOptions {
  // The process ends after this run: components give their memory back after their last use unless
  // the request says otherwise.
  bool single_run = false;
  bool strict = false;  // warnings about unknown keys and schedulers become errors
};

// Settles a request against the catalogue and the model's folder, reading JSON files and image
// headers only. Does not throw for what the request or the folder holds: all findings are in the
// proposal together.
Proposal validate(const Catalogue& catalogue, const GenerateRequest& request,
                  const ValidateOptions& options = {});

namespace validation {

// The steps, in order; each adds to the proposal. False: nothing further can be said.
bool settle_model(Proposal& proposal);       // validate_model.cpp
bool settle_task(Proposal& proposal);        // validate_model.cpp
void settle_backend(Proposal& proposal);     // validate_model.cpp
void settle_components(Proposal& proposal);  // validate_model.cpp
void settle_guider(Proposal& proposal);      // validate_config.cpp
void settle_inputs(Proposal& proposal);      // validate_inputs.cpp
void settle_config(Proposal& proposal);      // validate_config.cpp
void settle_scheduler(Proposal& proposal);   // validate_config.cpp
void settle_output(Proposal& proposal);      // validate_inputs.cpp

}  // namespace validation
}  // namespace omnirt
