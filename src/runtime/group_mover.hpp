#pragma once
#include <memory>
#include <vector>

#include "runtime/binding.hpp"
#include "runtime/device_memory.hpp"
#include "runtime/residency.hpp"

namespace omnirt {

// How groups of a component's weights come in and go. All but bring() are called by the thread that
// computes; bring() by that one or another, never twice at a time.
class GroupMover {
 public:
  GroupMover() = default;
  GroupMover(const GroupMover&) = delete;
  GroupMover& operator=(const GroupMover&) = delete;
  virtual ~GroupMover() = default;

  // The group is about to be brought: takes the memory for it.
  virtual void begin(size_t group) = 0;
  virtual void bring(size_t group) = 0;
  // It was brought, and is computed with from now on.
  virtual void enter(size_t group) = 0;
  // Releases it, however far it came.
  virtual void leave(size_t group) = 0;
};

// Weights that are computed with where the file is mapped: pages are read ahead, and given back.
std::unique_ptr<GroupMover> mapped_groups(std::shared_ptr<const Binding> binding,
                                          const std::vector<WeightGroup>& groups);
// Weights that are computed with on a device. A group's memory is taken when the one before it is
// entered, which is after the last one's was released; its numbers go from the file through two
// staging buffers of the host, of the size of the largest weight, to the device, behind the
// computation. `groups` must outlive it.
std::unique_ptr<GroupMover> device_groups(std::shared_ptr<const Binding> binding,
                                          const std::vector<WeightGroup>& groups,
                                          std::unique_ptr<WeightCopies> copies);

}  // namespace omnirt
