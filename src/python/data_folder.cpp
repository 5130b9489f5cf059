// Where the package's models and tokenizers are: share/omnirt beside the module.
#include <dlfcn.h>

#include <filesystem>
#include <string>

extern "C" const char* omnirt_data_folder() {
  static const std::string folder = [] {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<const void*>(&omnirt_data_folder), &info) || !info.dli_fname)
      return std::string();
    std::error_code error;
    std::filesystem::path module = std::filesystem::canonical(info.dli_fname, error);
    return (module.parent_path() / "share" / "omnirt").string();
  }();
  return folder.c_str();
}
