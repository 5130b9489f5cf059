#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>

#include "base/compute_options.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {
struct Weight;
}

namespace omnirt::ops {

using omnirt::PackPolicy;
using omnirt::Quantization;

// The memory that packed forms of one component may take, and what they take.
struct PackBudget {
  PackPolicy policy = PackPolicy::automatic;
  Quantization quantization = Quantization::none;
  size_t limit_bytes = 0;  // for PackPolicy::automatic
  std::atomic<size_t> used_bytes{0};

  // False where there is no room; then nothing is taken.
  bool take(size_t bytes) {
    if (policy == PackPolicy::never) return false;
    size_t before = used_bytes.fetch_add(bytes);
    if (policy == PackPolicy::always || before + bytes <= limit_bytes) return true;
    used_bytes.fetch_sub(bytes);
    return false;
  }
};

// A weight that kernels can read as its file encodes it. The tensor that goes with it has its shape
// and no storage; what cannot read it takes `widened`, which makes its numbers in fp32 at the first
// call and keeps them.
struct EncodedWeight {
  const Weight* stored = nullptr;
  std::function<const Tensor&()> widened;
};

// The packed forms of one weight, made by the kernels that read them; they go with the weight's
// binding. Forms are found by their C++ type, and by the part of the weight that they are of where
// a kernel reads it in parts. Shared by threads.
class PackSlot {
 public:
  // `release` frees the memory behind the stored weight, which stays readable; may be empty.
  PackSlot(PackBudget& budget, std::function<void()> release)
      : budget_(budget), release_(std::move(release)) {}

  void set_encoded(EncodedWeight encoded) { encoded_ = std::move(encoded); }
  const EncodedWeight& encoded() const { return encoded_; }

  PackPolicy policy() const { return budget_.policy; }
  Quantization quantization() const { return budget_.quantization; }

  // The form of type T, made by `make` at the first call, which takes `bytes`. Null where the
  // budget has no room for it; the answer then stays so.
  template <class T, class Make>
  const T* find_or_make(size_t bytes, Make&& make) {
    std::scoped_lock lock(mutex_);
    auto it = forms_.find(typeid(T));
    if (it == forms_.end() && !budget_.take(bytes)) it = forms_.emplace(typeid(T), Form{}).first;
    return it != forms_.end() ? static_cast<const T*>(it->second.made.get()) : keep<T>(bytes, make);
  }

  // The form of type T that takes the stored weight's place: the budget is not asked.
  template <class T, class Make>
  const T& replace(size_t bytes, Make&& make) {
    std::scoped_lock lock(mutex_);
    auto it = forms_.find(typeid(T));
    if (it != forms_.end()) return *static_cast<const T*>(it->second.made.get());
    budget_.used_bytes += bytes;
    const T& made = *keep<T>(bytes, make);
    if (release_) release_();
    return made;
  }

  // The forms of one part of the weight (a frame of a video filter), in the same budget; lives as
  // long as this slot.
  PackSlot& part(int64_t index) {
    std::scoped_lock lock(mutex_);
    std::unique_ptr<PackSlot>& part = parts_[index];
    if (!part) part = std::make_unique<PackSlot>(budget_, release_);
    return *part;
  }

  // Forgets the forms, which are made again when they are next asked for. Not while a kernel reads
  // them.
  void drop() {
    std::scoped_lock lock(mutex_);
    for (const auto& [type, form] : forms_) budget_.used_bytes -= form.bytes;
    forms_.clear();
    for (const auto& [index, part] : parts_) part->drop();
  }

 private:
  struct Form {
    std::shared_ptr<void> made;  // null: the budget had no room
    size_t bytes = 0;
  };
  template <class T, class Make>
  const T* keep(size_t bytes, Make& make) {
    try {
      Form form{std::make_shared<T>(make()), bytes};
      return static_cast<const T*>(
          forms_.emplace(typeid(T), std::move(form)).first->second.made.get());
    } catch (...) {
      budget_.used_bytes -= bytes;
      throw;
    }
  }

  PackBudget& budget_;
  std::function<void()> release_;
  EncodedWeight encoded_;
  std::mutex mutex_;
  std::map<std::type_index, Form> forms_;
  std::map<int64_t, std::unique_ptr<PackSlot>> parts_;
};

// What `weight` is stored as where it has no storage of its own for that reason; else null. (In a
// dry forward there are no slots.)
inline const Weight* encoded_weight(const Tensor& weight, const PackSlot* slot) {
  return slot && weight.is_meta() ? slot->encoded().stored : nullptr;
}

}  // namespace omnirt::ops
