#include <ATen/ops/from_blob.h>

#include <array>
#include <utility>

#include "runtime/group_mover.hpp"

namespace omnirt {
namespace {

using Mark = WeightCopies::Mark;

// Host memory that one weight after the other goes through.
struct Staging {
  std::shared_ptr<std::byte> bytes;
  size_t size = 0;
  Mark copied{};  // of what is in it
};

// A group on its way; empty: it is not.
struct Incoming {
  std::vector<std::pair<size_t, Tensor>> forms{};  // by parameter
  Mark after{};                                    // computed when their memory was taken
  Mark copied{};                                   // the last of them
};

class DeviceGroups final : public GroupMover {
 public:
  DeviceGroups(std::shared_ptr<const Binding> binding, const std::vector<WeightGroup>& groups,
               std::unique_ptr<WeightCopies> copies)
      : binding_(std::move(binding)),
        groups_(groups),
        copies_(std::move(copies)),
        incoming_(groups.size()) {}
  // The device may still be reading what is staged.
  ~DeviceGroups() override {
    for (Staging& staging : staging_) {
      if (staging.copied) copies_->wait(staging.copied);
    }
  }
  DeviceGroups(const DeviceGroups&) = delete;
  DeviceGroups& operator=(const DeviceGroups&) = delete;

  // Memory that is taken here may have been read by computation that the device has not done yet.
  // It was given before, so the mark of all of that is what the copies wait for.
  void begin(size_t group) override {
    Incoming coming;
    for (size_t param : groups_[group].params) {
      // What adapters change is made where it is used, and is dropped with the group.
      if (binding_->overlaid(param)) continue;
      coming.forms.emplace_back(param, copies_->allocate(binding_->outline(param)));
    }
    coming.after = copies_->computed();
    incoming_[group] = std::move(coming);
  }

  void bring(size_t group) override {
    Incoming& coming = incoming_.at(group);
    for (const auto& [param, form] : coming.forms) {
      Staging& staging = staging_[turn_++ % staging_.size()];
      make_free(staging, form.nbytes());
      binding_->write_numbers(param,
                              at::from_blob(staging.bytes.get(), form.sizes(), form.strides(),
                                            form.options().device(at::kCPU)));
      staging.copied = copies_->copy(form, staging.bytes.get(), coming.after);
      coming.copied = staging.copied;
    }
  }

  void enter(size_t group) override {
    Incoming there = std::exchange(incoming_.at(group), {});
    if (there.copied) copies_->compute_after(there.copied);
    for (auto& [param, form] : there.forms) binding_->put(param, std::move(form));
  }

  // Memory that a copy may still write to is released to the computing queue once that waits for
  // the copy.
  void leave(size_t group) override {
    const Incoming coming = std::exchange(incoming_.at(group), {});
    if (coming.copied) copies_->compute_after(coming.copied);
    for (size_t param : groups_[group].params) binding_->drop(param);
  }

 private:
  // What was in it has been copied, and it holds `bytes`.
  void make_free(Staging& staging, size_t bytes) {
    if (staging.copied) copies_->wait(std::exchange(staging.copied, {}));
    if (staging.size >= bytes) return;
    staging.bytes.reset();
    staging.bytes = copies_->staging(bytes);
    staging.size = bytes;
  }

  std::shared_ptr<const Binding> binding_;
  const std::vector<WeightGroup>& groups_;
  std::unique_ptr<WeightCopies> copies_;
  std::vector<Incoming> incoming_;  // by group; that which is being brought is the bringer's
  std::array<Staging, 2> staging_;
  size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<GroupMover> device_groups(std::shared_ptr<const Binding> binding,
                                          const std::vector<WeightGroup>& groups,
                                          std::unique_ptr<WeightCopies> copies) {
  return std::make_unique<DeviceGroups>(std::move(binding), groups, std::move(copies));
}

}  // namespace omnirt
