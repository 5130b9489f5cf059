#include "serve/temporary_store.hpp"

#include <fstream>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;

TemporaryJobStore::TemporaryJobStore(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    throw InvalidRequest({"--state", folder_.string(), "cannot be made: " + error.message(),
                          "name a folder that this user may write to"});
}

// A file that was written in part is of a job that is not done, and is written again or removed.
void TemporaryJobStore::update(const Job& job) {
  if (job.state != JobState::done) return;
  // Programs that tidy up temporary folders may have removed it.
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  std::ofstream file(folder_ / job.id, std::ios::binary);
  file << job.result;
  file.close();
  if (!file) throw RunFailed(path_text(folder_ / job.id) + ": the result cannot be written");
}

void TemporaryJobStore::remove(const std::string& id) {
  std::error_code ignored;
  fs::remove(folder_ / id, ignored);
}

std::string TemporaryJobStore::result(const std::string& id) {
  return io::read_file(folder_ / id, max_job_result_bytes);
}

}  // namespace omnirt::serve
