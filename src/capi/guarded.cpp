#include "capi/guarded.hpp"

#include <exception>
#include <new>

#include "base/error.hpp"

namespace omnirt::capi {
namespace {

// Where there is no memory for the text either, the status alone says what happened.
omnirt_status failed(omnirt_status status, const char* what) noexcept {
  try {
    last_error() = what;
  } catch (...) {
    last_error().clear();
  }
  return status;
}

}  // namespace

std::string& last_error() noexcept {
  thread_local std::string text;
  return text;
}

omnirt_status caught() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return failed(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(OMNIRT_RUN_FAILED, "the allocator has no more memory");
  } catch (const std::exception& error) {
    return failed(OMNIRT_RUN_FAILED, error.what());
  } catch (...) {
    return failed(OMNIRT_RUN_FAILED, "something was thrown that does not say what it is");
  }
}

void require(const void* pointer, const char* argument) {
  if (!pointer) throw InvalidRequest({argument, "NULL", "may not be NULL", ""});
}

}  // namespace omnirt::capi
