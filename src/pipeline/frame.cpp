#include "pipeline/frame.hpp"

namespace omnirt {

Frame::Frame(Options options) : options_(std::move(options)) {
  if (!options_.guider) return;
  std::vector<Condition> all = options_.guider->conditions();
  for (const Condition& condition : all)
    same_inputs_[condition.name] = first_of_inputs(all, condition).name;
}

// Made late: it takes the fingerprints of files, which a run that writes nothing does not need.
const Json& Frame::record() {
  if (!record_) record_ = options_.record ? options_.record() : Json();
  return *record_;
}

void Frame::enter(const Block* block, const Condition* condition) {
  block_ = block;
  locals_ = nullptr;
  condition_ = condition ? condition->name : "";
  renames_ = condition ? condition->renames : std::map<std::string, std::string>{};
  as_prompt_ = condition && condition->as_prompt;
}

const std::any* Frame::find_any(const std::string& name, const std::string& condition) const {
  auto renamed = renames_.find(name);
  const std::string& wanted = renamed == renames_.end() ? name : renamed->second;
  auto same = same_inputs_.find(condition);
  const std::string& own = same == same_inputs_.end() ? condition : same->second;
  for (const std::string& scope : {own, std::string()}) {
    auto values = values_.find(scope);
    if (values == values_.end()) continue;
    auto it = values->second.find(wanted);
    if (it != values->second.end()) return &it->second;
  }
  return nullptr;
}

}  // namespace omnirt
