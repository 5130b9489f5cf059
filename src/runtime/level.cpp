#include "runtime/level.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>

#include "base/path_text.hpp"

namespace omnirt {

std::string reason_of(const std::exception& error) {
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return path_text(file->path1()) + ": " + file->code().message();
  const auto* c10 = dynamic_cast<const c10::Error*>(&error);
  return c10 ? c10->what_without_backtrace() : error.what();
}

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const OutOfMemory*>(&error) ||
      dynamic_cast<const c10::OutOfMemoryError*>(&error)) {
    return true;
  }
  // c10's CPU allocator, and CUDA's libraries where they allocate by themselves, report memory that
  // they cannot have by one of these texts alone.
  if (!dynamic_cast<const c10::Error*>(&error)) return false;
  constexpr std::array texts{"not enough memory", "DefaultCPUAllocator: can't allocate memory",
                             "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED",
                             "CUDNN_STATUS_ALLOC_FAILED"};
  const std::string reason = reason_of(error);
  return std::ranges::any_of(
      texts, [&](const char* text) { return reason.find(text) != std::string::npos; });
}

bool is_level_failure(const std::exception& error) {
  return !dynamic_cast<const Cancelled*>(&error) && !dynamic_cast<const InvalidRequest*>(&error) &&
         !is_out_of_memory(error);
}

}  // namespace omnirt
