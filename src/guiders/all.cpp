#include "guiders/classifier_free_guidance.hpp"

namespace omnirt {

// One line a guider.
const std::vector<GuiderInfo>& all_guiders() {
  static const std::vector<GuiderInfo> all{
      classifier_free_guidance_info(),
      no_guidance_info(),
  };
  return all;
}

const GuiderInfo* find_guider(const std::string& type) {
  for (const GuiderInfo& info : all_guiders()) {
    if (info.type == type) return &info;
  }
  return nullptr;
}

}  // namespace omnirt
