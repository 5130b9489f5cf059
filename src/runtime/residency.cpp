#include "runtime/residency.hpp"

#include <algorithm>

namespace omnirt {

uint64_t Residency::peak_bytes() const {
  uint64_t most = 0;
  const size_t count = groups.size();
  const size_t window = std::min(count, static_cast<size_t>(prefetch) + 1);
  for (size_t i = 0; i < count; ++i) {
    uint64_t there = 0;
    for (size_t k = 0; k < window; ++k) there += groups[(i + k) % count].bytes;
    most = std::max(most, there);
  }
  return stays_bytes + most;
}

uint64_t Residency::moved_bytes() const {
  uint64_t all = 0;
  for (const WeightGroup& group : groups) all += group.read_bytes;
  return groups.size() > 1 ? all : 0;
}

Residency cut_into_groups(const std::vector<ParamUse>& uses, Offload offload,
                          int64_t blocks_per_group) {
  Residency made{.offload = offload};
  const bool by_layer = offload == Offload::leaf, cut = by_layer || offload == Offload::group;
  if (offload == Offload::group) made.blocks_per_group = blocks_per_group;
  std::string unit;
  int64_t units = 0;  // in the last group
  for (const ParamUse& use : uses) {
    if (!cut || use.stays) {
      made.stays_bytes += use.bytes;
      continue;
    }
    const std::string& own = by_layer ? use.layer : use.segment;
    const bool begins = made.groups.empty() || own != unit;
    if (begins && (made.groups.empty() || by_layer || ++units > blocks_per_group)) {
      made.groups.push_back({own.empty() ? use.layer : own});
      units = 1;
    }
    unit = own;
    made.groups.back().params.push_back(use.param);
    // All of a group is read before its first form is made.
    made.groups.back().bytes += use.bytes + use.made_of;
    made.groups.back().read_bytes += use.made_of ? use.made_of : use.bytes;
  }
  return made;
}

}  // namespace omnirt
