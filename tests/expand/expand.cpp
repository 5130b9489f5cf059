#include "expand/expand.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "base/error.hpp"
#include "expand/packed_file.hpp"
#include "io/file.hpp"

namespace omnirt::testing {
namespace fs = std::filesystem;
namespace {

constexpr const char* record_name = ".expanded";
constexpr std::string_view partial_suffix = ".partial";

using Times = std::map<std::string, int64_t>;

int64_t time_of(const fs::path& file) {
  return fs::last_write_time(file).time_since_epoch().count();
}

// The files below `folder` by their relative names; without those whose name starts with a dot.
std::map<std::string, fs::path> files_below(const fs::path& folder) {
  std::map<std::string, fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.'))
      files.emplace(entry.path().lexically_relative(folder).generic_string(), entry.path());
  }
  return files;
}

// Packed files under the names that they get.
std::map<std::string, fs::path> sources_below(const fs::path& folder) {
  std::map<std::string, fs::path> sources;
  for (auto& [name, path] : files_below(folder)) {
    const size_t suffix = name.ends_with(packed_suffix) ? packed_suffix.size() : 0;
    if (!sources.emplace(name.substr(0, name.size() - suffix), path).second)
      throw InvalidFile(
          {path.string(), "", "exists both packed and unpacked", "remove one of them"});
  }
  return sources;
}

// Holds the folder's record, and with it the folder, for one process.
class Record {
 public:
  explicit Record(const fs::path& file)
      : file_(file), fd_(open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (fd_.get() < 0 || flock(fd_.get(), LOCK_EX) != 0)
      throw RunFailed("cannot lock " + file.string());
    std::ifstream lines(file);
    std::string name;
    for (int64_t time = 0; lines >> time && std::getline(lines >> std::ws, name);)
      times[name] = time;
  }

  void write() const {
    std::ofstream lines(file_);
    for (const auto& [name, time] : times) lines << time << ' ' << name << '\n';
    if (!lines.flush()) throw RunFailed("cannot write " + file_.string());
  }

  Times times;  // which this process or an earlier one gave to what it wrote

 private:
  fs::path file_;
  io::Descriptor fd_;
};

class Expansion {
 public:
  Expansion(const fs::path& from, const fs::path& to)
      : to_(to), sources_(sources_below(from)), record_(to / record_name) {}

  Expanded run() {
    for (const auto& [name, path] : files_below(to_)) look_at(name, path);
    for (const auto& [name, source] : sources_) expand(name, source);
    record_.write();
    done_.files = sources_.size();
    return done_;
  }

 private:
  bool is_current(const std::string& name, const fs::path& file) const {
    const auto source = sources_.find(name);
    return source != sources_.end() && time_of(source->second) == time_of(file);
  }

  void look_at(const std::string& name, const fs::path& file) {
    const auto given = record_.times.find(name);
    const bool ours = given != record_.times.end() && given->second == time_of(file);
    if (name.ends_with(partial_suffix) || (ours && !sources_.contains(name)))
      fs::remove(file);
    else if (!ours && !is_current(name, file))
      done_.kept.push_back(name);
    if (!sources_.contains(name)) record_.times.erase(name);
  }

  bool is_kept(const std::string& name) const {
    return std::ranges::binary_search(done_.kept, name);
  }

  void expand(const std::string& name, const fs::path& source) {
    const fs::path file = to_ / name;
    if (is_kept(name)) return;
    // Before the source is read, so that a later change shows.
    const auto time = fs::last_write_time(source);
    if (!fs::exists(file) || !is_current(name, file)) write(name, file, source, time);
    record_.times[name] = time.time_since_epoch().count();
  }

  void write(const std::string& name, const fs::path& file, const fs::path& source,
             fs::file_time_type time) {
    const std::string bytes = io::read_file(source, max_expanded);
    const std::string made = source.string().ends_with(packed_suffix)
                                 ? unpack(bytes, name, [this](const auto& of) { return read(of); })
                                 : bytes;
    fs::create_directories(file.parent_path());
    const fs::path partial = file.string() + std::string(partial_suffix);
    std::ofstream(partial, std::ios::binary) << made;
    if (fs::file_size(partial) != made.size()) throw RunFailed("cannot write " + partial.string());
    fs::last_write_time(partial, time);
    fs::rename(partial, file);
    ++done_.written;
  }

  // What parts are copied from; it was expanded before.
  std::string read(const std::string& name) const {
    if (!sources_.contains(name) || is_kept(name)) {
      throw InvalidFile({name, "", "another golden copies from it, and it is gone or changed",
                         "pack again: tools/goldens/pack.py"});
    }
    return io::read_file(to_ / name, max_expanded);
  }

  fs::path to_;
  std::map<std::string, fs::path> sources_;
  Record record_;
  Expanded done_;
};

}  // namespace

Expanded expand_goldens(const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  return Expansion(from, to).run();
}

}  // namespace omnirt::testing
