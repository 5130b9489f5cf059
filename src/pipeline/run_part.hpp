#pragma once
#include <map>
#include <string>

#include "pipeline/plan.hpp"

namespace omnirt {

// The blocks of a plan that one process runs: [first, end).
struct RunPart {
  size_t first = 0, end = 0;
};

// The index after the block of this name, or after the last block of the stage of this name.
// Throws InvalidRequest with the nearest name, and for a cut that leaves nothing to do.
size_t cut_after(const Plan& plan, const std::string& name);

// What blocks from `cut` on read and none of these makes first: what a state must hold, each with
// the port that reads it; but the request's texts, which travel in the request. What a step block
// before the cut reads, whose loop comes after it, is among them.
std::map<std::string, const PortInfo*> values_across(const Plan& plan, size_t cut,
                                                     const std::vector<Condition>& conditions);

// The port of the block before `cut` that makes the value of this name; null where the request
// brings it.
const PortInfo* maker_of(const Plan& plan, size_t cut, const std::string& name);

// Leaves in plan.components and plan.last_use those of the part, its loops' step blocks included.
void keep_components_of(Plan& plan, const RunPart& part, const std::vector<Condition>& conditions);

// Whether a loop is among the blocks [first, end): step blocks before them take part in it.
bool has_loop(const Plan& plan, const RunPart& part);
// Whether the block runs in the part, or takes part in one of its loops.
bool takes_part(const Plan& plan, const RunPart& part, size_t index);
std::string workflow_of(const Plan& plan, const RunPart& part);  // "decode > export"

}  // namespace omnirt
