#pragma once
#include "families/sdxl/keys.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::families {

// Looks at whether an SDXL folder's parts fit each other and the task, and takes what its
// model_index.json says of prompts; does nothing in a run.
class CheckXL final : public Block {
 public:
  Config<bool> force_zeros{this, keys::force_zeros_for_empty_prompt};
  Config<OutputType> output_type{this, keys::output_type};

  CheckXL() : Block("check_xl", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Proposal& proposal) const override;
};

// Width and height of given latents.
class SizeOfLatents final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};

  explicit SizeOfLatents(Trigger trigger)
      : Block("size_of_latents", Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame&) const override {}
  void check(Proposal& proposal) const override;
};

}  // namespace omnirt::families
