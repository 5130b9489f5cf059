#include <limits>
#include <utility>

#include "io/mapped_file.hpp"
#include "runtime/group_mover.hpp"
#include "tensor/memory.hpp"

namespace omnirt {
namespace {

class MappedGroups final : public GroupMover {
 public:
  MappedGroups(std::shared_ptr<const Binding> binding, const std::vector<WeightGroup>& groups)
      : binding_(std::move(binding)), groups_(groups) {}

  void begin(size_t) override {}
  void bring(size_t group) override {
    for (size_t param : groups_[group].params) {
      const Weight& weight = binding_->stored(param);
      io::read_ahead({weight.data, weight.bytes});
    }
  }
  void enter(size_t) override {}
  void leave(size_t group) override {
    const WeightGroup& of = groups_[group];
    for (size_t param : of.params) binding_->drop(param);
    // Forms that were made of the file's numbers were in the heap, which keeps what is freed.
    if (of.bytes != of.read_bytes) return_freed_memory(std::numeric_limits<size_t>::max());
  }

 private:
  std::shared_ptr<const Binding> binding_;
  const std::vector<WeightGroup>& groups_;
};

}  // namespace

std::unique_ptr<GroupMover> mapped_groups(std::shared_ptr<const Binding> binding,
                                          const std::vector<WeightGroup>& groups) {
  return std::make_unique<MappedGroups>(std::move(binding), groups);
}

}  // namespace omnirt
