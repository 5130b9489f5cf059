#pragma once
#include "pipeline/frame.hpp"

namespace omnirt::flux2 {

// Looks at whether the folder's parts fit each other, and guidance the model; does nothing in a
// run.
class CheckParts final : public Block {
 public:
  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Proposal& proposal) const override;
};

}  // namespace omnirt::flux2
