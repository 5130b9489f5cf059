#include "pipeline/frame.hpp"

namespace omnirt {

void Frame::enter(const Block* block, const Condition* condition) {
  block_ = block;
  condition_ = condition ? condition->name : "";
  renames_ = condition ? condition->renames : std::map<std::string, std::string>{};
}

const std::any* Frame::find_any(const std::string& name, const std::string& condition) const {
  auto renamed = renames_.find(name);
  const std::string& wanted = renamed == renames_.end() ? name : renamed->second;
  for (const std::string& scope : {condition, std::string()}) {
    auto values = values_.find(scope);
    if (values == values_.end()) continue;
    auto it = values->second.find(wanted);
    if (it != values->second.end()) return &it->second;
  }
  return nullptr;
}

}  // namespace omnirt
