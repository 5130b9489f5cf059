#include "backends/stub/stub_device.hpp"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>

#include "base/error.hpp"

namespace omnirt {
namespace {

class StubCopies final : public WeightCopies {
 public:
  explicit StubCopies(const MemoryAccount& account) : account_(account) {}

  std::shared_ptr<std::byte> staging(size_t bytes) override {
    return {new std::byte[bytes], std::default_delete<std::byte[]>()};
  }
  Tensor allocate(const Tensor& outline) override {
    const MemoryAccount::Scope charged(account_);
    return at::empty_strided(outline.sizes(), outline.strides(),
                             outline.options().device(at::kCPU));
  }
  // All that was given has been computed.
  Mark computed() override { return std::make_shared<int>(); }
  Mark copy(const Tensor& to, const std::byte* staged, const Mark&) override {
    auto mark = std::make_shared<int>();
    std::scoped_lock lock(mutex_);
    pending_.push_back({to, staged, mark});
    return mark;
  }
  void compute_after(const Mark& copied) override { wait(copied); }
  void wait(const Mark& copied) override {
    std::scoped_lock lock(mutex_);
    auto wanted = std::ranges::find(pending_, copied, &Pending::mark);
    if (wanted == pending_.end()) return;  // an earlier wait was for a later copy
    const auto end = std::next(wanted);
    for (auto each = pending_.begin(); each != end; ++each)
      std::memcpy(each->to.mutable_data_ptr(), each->staged, each->to.nbytes());
    pending_.erase(pending_.begin(), end);
  }

 private:
  struct Pending {
    Tensor to;
    const std::byte* staged;
    Mark mark;
  };
  const MemoryAccount& account_;
  std::mutex mutex_;
  std::deque<Pending> pending_;  // in the order of copies
};

}  // namespace

StubDevice::StubDevice(const StubScript::Device& script)
    : script_(script),
      fail_at_(script.fail_at.begin(), script.fail_at.end()),
      neighbour_(static_cast<uint64_t>(script.neighbour_bytes)),
      account_([this](size_t bytes) { admit(bytes); }) {}

std::unique_ptr<WeightCopies> StubDevice::copies() {
  return std::make_unique<StubCopies>(account_);
}

void StubDevice::admit(size_t bytes) {
  const auto number = static_cast<int64_t>(++allocations_);
  const bool told =
      fail_at_.contains(number) || (script_.fail_from > 0 && number >= script_.fail_from);
  const uint64_t room = std::min<uint64_t>(
      free_bytes(), limit_ - std::min<uint64_t>(limit_, account_.memory().current_bytes));
  if (!told && bytes <= room) return;
  throw OutOfMemory(
      fmt::format("cpu-stub: allocation {} of {} bytes {}", number, bytes,
                  told ? "fails as scripted" : fmt::format("is too large, {} are free", room)));
}

uint64_t StubDevice::free_bytes() const {
  const uint64_t taken = neighbour_ + account_.memory().current_bytes;
  const auto size = static_cast<uint64_t>(script_.bytes);
  return size - std::min(size, taken);
}

Tensor StubDevice::moved(const Tensor& x, at::ScalarType dtype) const {
  if (x.scalar_type() == dtype && account_.holds(x)) return x;
  const MemoryAccount::Scope charged(account_);
  return x.to(dtype, /*non_blocking=*/false, /*copy=*/true);
}

Tensor StubDevice::aside(const std::function<Tensor()>& compute) const {
  const MemoryAccount::Scope charged(scratch_);
  return compute();
}

Tensor StubDevice::result_of(const std::function<Tensor()>& compute) const {
  const Tensor made = aside(compute);
  // A view of its arguments, or what it wrote into, is there.
  return account_.holds(made) ? made : made.clone();
}

}  // namespace omnirt
