#include "serve/state_folder.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "io/temporaries.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

fs::path make_temporary() {
  std::string name = (fs::temp_directory_path() / "omnirt-serve-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw InvalidRequest({"--state", name, "no temporary folder can be made", "name a folder"});
  return name;
}

}  // namespace

StateFolder::StateFolder(const std::string& named) : temporary_(named.empty()) {
  path_ = temporary_ ? io::keep_temporary(make_temporary) : fs::absolute(named).lexically_normal();
  std::error_code error;
  fs::create_directories(path_, error);
  if (!fs::is_directory(path_, error))
    throw InvalidRequest({"--state", named, "the folder cannot be made", "name another"});
}

StateFolder::~StateFolder() {
  if (!temporary_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  io::forget_temporary(path_);
}

}  // namespace omnirt::serve
