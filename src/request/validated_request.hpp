#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "request/validate.hpp"

namespace omnirt {

// A request that was found valid, kept for its run. It holds as long as the files that the
// validation read are unchanged: those of the model, its components and adapters. Files among the
// inputs are read by the run itself.
class ValidatedRequest {
 public:
  ValidatedRequest(const Proposal& proposal, const GenerateRequest& request,
                   const ValidateOptions& options);
  // The proposal, or null if validating this request now could give another one.
  const Proposal* find(const GenerateRequest& request, ValidateOptions options) const;

 private:
  Proposal proposal_;
  GenerateRequest request_;  // as it was given; the proposal's has its paths settled
  ValidateOptions options_;
  std::vector<std::pair<std::filesystem::path, std::string>> files_;  // with io::files_state
};

}  // namespace omnirt
