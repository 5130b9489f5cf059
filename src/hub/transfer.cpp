#include "hub/transfer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "hub/digest.hpp"
#include "io/file.hpp"

namespace omnirt::hub {
namespace fs = std::filesystem;
namespace {

constexpr int whole = 200, begins_elsewhere = 416;
// How often a file's transfer is begun: as often as the longest of lines that break all the time
// needs, and one more time for each piece of this size.
constexpr uint64_t fewest_begun = 1000, piece_of_try = uint64_t{64} << 10;

[[noreturn]] void disk_failed(const fs::path& path, const char* what) {
  throw RunFailed(fmt::format("{} cannot be {}: {}", path.string(), what,
                              std::generic_category().message(errno)));
}

// What has arrived of a blob, written on from its end.
class Incomplete {
 public:
  explicit Incomplete(const fs::path& path) : path_(path) {
    constexpr int mode = 0666;
    fd_ = io::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
    if (fd_.get() < 0) disk_failed(path, "opened");
    const off_t end = lseek(fd_.get(), 0, SEEK_END);
    if (end < 0) disk_failed(path, "read");
    bytes_ = static_cast<uint64_t>(end);
  }

  uint64_t bytes() const { return bytes_; }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) disk_failed(path_, "written");
      bytes = bytes.subspan(static_cast<size_t>(put));
      bytes_ += static_cast<uint64_t>(put);
    }
  }

  void clear() {
    if (ftruncate(fd_.get(), 0) != 0 || lseek(fd_.get(), 0, SEEK_SET) != 0)
      disk_failed(path_, "emptied");
    bytes_ = 0;
  }

  void becomes(const fs::path& blob) {
    if (fsync(fd_.get()) != 0) disk_failed(path_, "written");
    std::error_code error;
    fs::rename(path_, blob, error);
    if (error)
      throw RunFailed(
          fmt::format("{} cannot be named {}: {}", path_.string(), blob.string(), error.message()));
  }

 private:
  fs::path path_;
  io::Descriptor fd_;
  uint64_t bytes_ = 0;
};

// "bytes 100-199/200" begins at 100.
bool begins_at(const Answer& answer, uint64_t from) {
  return answer.header("content-range").starts_with(fmt::format("bytes {}-", from));
}

class Transfer {
 public:
  Transfer(Connection& connection, const Source& source, const RemoteFile& file,
           Incomplete& incomplete, const TransferHooks& hooks)
      : connection_(connection),
        source_(source),
        file_(file),
        incomplete_(incomplete),
        hooks_(hooks),
        attempts_(hooks.wait) {}

  // Until all bytes are there.
  void finish() {
    if (incomplete_.bytes() > file_.bytes) drop();
    while (incomplete_.bytes() < file_.bytes) {
      const std::string failed = one_try();
      // Bytes that replace dropped ones are no gain: a hub could send them forever.
      if (incomplete_.bytes() > furthest_) attempts_.gained();
      furthest_ = std::max(furthest_, incomplete_.bytes());
      const bool begun_too_often = ++begun_ > fewest_begun + file_.bytes / piece_of_try;
      if (incomplete_.bytes() < file_.bytes && (begun_too_often || !attempts_.again(asked_)))
        give_up(failed);
    }
  }

  // Another start, after content that does not match.
  void restart() {
    drop();
    furthest_ = 0;
  }

  void drop() {
    hooks_.moved(-static_cast<int64_t>(incomplete_.bytes()));
    incomplete_.clear();
  }

 private:
  // Why it ended before the last byte.
  std::string one_try() {
    asked_ = {};
    const std::string address = source_.address_of(file_);
    const uint64_t from = incomplete_.bytes();
    bool begun = false;
    auto take = [&](const Answer& answer, std::span<const std::byte> bytes) {
      if (!begun) begin(answer, from, address);
      begun = true;
      keep(bytes, address);
    };
    try {
      const Answer answer = connection_.get(address, from, take);
      if (auto asked = asked_to_wait(answer)) {
        asked_ = *asked;
        return fmt::format("{} answers with status {}", address, answer.status);
      }
      if (answer.status == begins_elsewhere)
        drop();
      else
        refuse_answer(answer, address, source_.id, *source_.settings);
      return fmt::format("{} ends after {} of {} bytes", address, incomplete_.bytes(), file_.bytes);
    } catch (const ConnectionLost& lost) {
      return lost.what();
    }
  }

  // A server may send all where a part was asked for, or another part.
  void begin(const Answer& answer, uint64_t from, const std::string& address) {
    if (from == 0) return;
    if (answer.status == whole)
      drop();
    else if (!begins_at(answer, from))
      throw RunFailed(
          fmt::format("{} sends another part than the one from byte {}", address, from));
  }

  void keep(std::span<const std::byte> bytes, const std::string& address) {
    if (bytes.size() > file_.bytes - incomplete_.bytes()) {
      drop();
      throw InvalidFile({address, "",
                         fmt::format("more than the {} bytes that the hub lists", file_.bytes),
                         "try again later"});
    }
    incomplete_.write(bytes);
    hooks_.moved(static_cast<int64_t>(bytes.size()));
  }

  [[noreturn]] void give_up(const std::string& failed) const {
    throw RunFailed(fmt::format(
        "{} (what has arrived of {} stays, and the next pull goes on there)", failed, file_.path));
  }

  Connection& connection_;
  const Source& source_;
  const RemoteFile& file_;
  Incomplete& incomplete_;
  const TransferHooks& hooks_;
  Attempts attempts_;
  uint64_t furthest_ = 0;  // the most bytes that were here at a time
  uint64_t begun_ = 0;
  std::chrono::milliseconds asked_{};
};

bool is_whole(const fs::path& blob, const RemoteFile& file) {
  std::error_code error;
  return fs::is_regular_file(blob, error) && fs::file_size(blob, error) == file.bytes && !error;
}

}  // namespace

std::string Source::address_of(const RemoteFile& file) const {
  return fmt::format("{}/{}/resolve/{}/{}", settings->endpoint, id, commit,
                     percent_encoded(file.path));
}

void fetch_blob(Connection& connection, const Source& source, const RepositoryCache& cache,
                const RemoteFile& file, const TransferHooks& hooks) {
  const fs::path blob = cache.blob(file), begun = cache.incomplete(file);
  // A blob has its name only once it is whole. A cache that may not be written, and holds all, is
  // enough.
  if (is_whole(blob, file)) return hooks.moved(static_cast<int64_t>(file.bytes));
  std::error_code error;
  fs::create_directories(blob.parent_path(), error);
  if (error)
    throw RunFailed(fmt::format("the folder {} cannot be made: {}", blob.parent_path().string(),
                                error.message()));
  const BlobLock lock(cache.lock(file), hooks.waiting);
  if (is_whole(blob, file)) return hooks.moved(static_cast<int64_t>(file.bytes));
  Incomplete incomplete(begun);
  hooks.moved(static_cast<int64_t>(incomplete.bytes()));
  Transfer transfer(connection, source, file, incomplete, hooks);
  // What was begun by someone else may be damaged, and a connection may garble bytes: once more.
  for (bool again : {true, false}) {
    transfer.finish();
    const std::string digest = digest_of(begun, file);
    if (digest == file.blob) return incomplete.becomes(blob);
    transfer.restart();
    if (again) continue;
    fs::remove(begun, error);
    throw InvalidFile({source.address_of(file), digest,
                       fmt::format("what arrives is not what the hub lists, {}", file.blob),
                       "try again later; a proxy may change it on its way"});
  }
}

}  // namespace omnirt::hub
