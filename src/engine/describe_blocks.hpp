#pragma once
#include <string>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// The blocks of a model's family in order, with their ports, and the tasks that each takes part in;
// `task` "" : all of them, else those of that task. Triggers that look at components' configs are
// read against the model's folder where it is on this machine. Throws UnknownModel, and
// InvalidRequest for a task that the model does not have.
Json describe_blocks(const Catalogue& catalogue, const std::string& id, const std::string& task);
// The same as a diagram: "svg", "dot" or "mermaid".
std::string draw_blocks(const Catalogue& catalogue, const std::string& id, const std::string& task,
                        const std::string& format);

}  // namespace omnirt
