#include "io/new_folder.hpp"

#include <fmt/format.h>

#include <random>
#include <system_error>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/temporaries.hpp"

namespace omnirt::io {
namespace fs = std::filesystem;
namespace {

// Made, never reused: a name that is there already is in use.
fs::path make_folder_in(const fs::path& parent, std::error_code& error) {
  constexpr int attempts = 100;
  std::random_device random;
  for (int i = 0; i < attempts; ++i) {
    fs::path name = parent / fmt::format(".omnirt-{:08x}{:08x}.tmp", random(), random());
    if (fs::create_directory(name, error)) return name;
    if (error) return {};
  }
  error = std::make_error_code(std::errc::file_exists);
  return {};
}

}  // namespace

NewFolder::NewFolder(const std::string& field, const fs::path& target)
    : target_(fs::absolute(target).lexically_normal()) {
  temporary_ = keep_temporary([&] {
    std::error_code error;
    fs::path made = make_folder_in(target_.parent_path(), error);
    if (made.empty()) {
      throw InvalidRequest({field, path_text(target_),
                            "cannot make a folder there: " + error.message(),
                            "name another place, whose parent folder is there"});
    }
    return made;
  });
}

NewFolder::~NewFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
  forget_temporary(temporary_);
}

void NewFolder::commit() {
  std::error_code error;
  fs::rename(temporary_, target_, error);
  if (error) {
    throw RunFailed(
        fmt::format("could not rename a folder to {}: {}", path_text(target_), error.message()));
  }
  forget_temporary(temporary_);
  temporary_.clear();
}

}  // namespace omnirt::io
