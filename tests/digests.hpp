#pragma once
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace omnirt::testing {

// FNV-1a over a tensor's type, shape and bytes.
inline uint64_t digest_of(const at::Tensor& tensor) {
  const at::Tensor bytes = tensor.detach().cpu().contiguous();
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&hash](const char* data, size_t size) {
    for (size_t i = 0; i < size; ++i)
      hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001b3;
  };
  const std::string header =
      fmt::format("{} {}", c10::toString(bytes.scalar_type()), fmt::join(bytes.sizes(), "x"));
  add(header.data(), header.size());
  add(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes());
  return hash;
}

// Appends one line per tensor, "<suite>.<test> <label> <digest>", to a file of this process in the
// folder that OMNIRT_DIGESTS names; does nothing where it is unset. Two builds that write the same
// lines computed the same bits: scripts/compare_digests.
inline void record_digest(const std::string& label, const at::Tensor& tensor) {
  const char* folder = std::getenv("OMNIRT_DIGESTS");
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  if (!folder || !test || !tensor.defined()) return;
  std::ofstream(fmt::format("{}/{}.txt", folder, getpid()), std::ios::app) << fmt::format(
      "{}.{} {} {:016x}\n", test->test_suite_name(), test->name(), label, digest_of(tensor));
}

}  // namespace omnirt::testing
