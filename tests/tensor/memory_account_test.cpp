// Whose tensors are whose: accounts of runs that share a process.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <thread>

#include "tensor/memory.hpp"

namespace omnirt::testing {
namespace {

constexpr int64_t mega = 1 << 20;

at::Tensor of_bytes(int64_t bytes) {
  return at::empty({bytes}, at::kByte);
}

TensorMemory under(const MemoryAccount& account) {
  MemoryAccount::Scope scope(account);
  return tensor_memory();
}

TEST(MemoryAccount, OfTwoThreadsAtOnceHoldsWhatEachMade) {
  watch_tensor_memory();
  MemoryAccount small, large;
  std::barrier both(2);
  auto work = [&](const MemoryAccount& account, int64_t bytes) {
    MemoryAccount::Scope scope(account);
    at::Tensor kept = of_bytes(bytes);
    { at::Tensor passing = of_bytes(2 * bytes); }
    both.arrive_and_wait();  // both have reached their peaks, and hold what they keep
    EXPECT_EQ(tensor_memory().current_bytes, static_cast<size_t>(bytes));
    EXPECT_EQ(tensor_memory().peak_bytes, static_cast<size_t>(3 * bytes));
    both.arrive_and_wait();
  };
  std::thread other([&] { work(large, 8 * mega); });
  work(small, mega);
  other.join();
  EXPECT_EQ(under(small).current_bytes, 0u);
  EXPECT_EQ(under(large).peak_bytes, static_cast<size_t>(24 * mega));
}

TEST(MemoryAccount, IsCreditedWhereverItsTensorsAreFreed) {
  watch_tensor_memory();
  size_t before = tensor_memory().current_bytes;
  MemoryAccount first, second;
  at::Tensor made;
  {
    MemoryAccount::Scope scope(first);
    made = of_bytes(mega);
  }
  {
    MemoryAccount::Scope scope(second);
    at::Tensor own = of_bytes(2 * mega);
    std::thread([held = std::move(made)]() mutable { held.reset(); }).join();
    EXPECT_EQ(tensor_memory().current_bytes, static_cast<size_t>(2 * mega));
  }
  EXPECT_EQ(under(first).current_bytes, 0u);
  EXPECT_EQ(under(second).current_bytes, 0u);
  EXPECT_EQ(tensor_memory().current_bytes, before);
}

TEST(MemoryAccount, MayGoBeforeItsTensors) {
  watch_tensor_memory();
  size_t before = tensor_memory().current_bytes;
  auto account = std::make_unique<MemoryAccount>();
  at::Tensor large, small;
  {
    MemoryAccount::Scope scope(*account);
    large = of_bytes(mega);
    small = of_bytes(64);
  }
  account.reset();
  EXPECT_GT(tensor_memory().current_bytes, before);
  large.reset();
  small.reset();
  EXPECT_EQ(tensor_memory().current_bytes, before);
}

TEST(MemoryAccount, ResettingOnePeakLeavesTheOthers) {
  watch_tensor_memory();
  MemoryAccount first, second;
  for (const MemoryAccount* account : {&first, &second}) {
    MemoryAccount::Scope scope(*account);
    of_bytes(mega);
  }
  {
    MemoryAccount::Scope scope(first);
    reset_tensor_peak();
  }
  EXPECT_EQ(under(first).peak_bytes, 0u);
  EXPECT_EQ(under(second).peak_bytes, static_cast<size_t>(mega));
}

TEST(MemoryAccount, KeepsTensorsAligned) {
  watch_tensor_memory();
  for (int64_t bytes : {1, 63, 64, 1000, 65535, 65536, 1 << 20})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(of_bytes(bytes).data_ptr()) % 64, 0u) << bytes;
}

}  // namespace
}  // namespace omnirt::testing
