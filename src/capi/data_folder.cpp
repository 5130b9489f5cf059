// Where an installed libomnirt.so finds the models and tokenizers that are installed with it,
// whatever program loads it (request/model_search.hpp).
#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "capi/omnirt.h"

namespace {

// OMNIRT_DATA_FROM_LIBRARY: the data folder as seen from the library's.
std::string beside_library() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&omnirt_api_version), &info) || !info.dli_fname)
    return "";
  std::error_code error;
  std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  return (library.parent_path() / OMNIRT_DATA_FROM_LIBRARY).lexically_normal().string();
}

}  // namespace

extern "C" const char* omnirt_data_folder() {
  static const std::string folder = beside_library();
  return folder.c_str();
}
