#pragma once
#include <array>

#include "base/choice.hpp"

// How weights come and go while a run needs them, as requests ask for it.
namespace omnirt {

// What leaves memory together: automatic, what the memory budget asks for; none, nothing;
// component, a network after its last use; group, some of its blocks at a time while it computes
// (blocks_per_group; diffusers' block_level); leaf, a layer at a time (leaf_level).
enum class Offload { automatic, none, component, group, leaf };

template <>
struct ChoiceNames<Offload> {
  static constexpr std::array names{"auto", "none", "component", "group", "leaf"};
};

}  // namespace omnirt
