#include "serve/adapter_store.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"
#include "io/sha256.hpp"
#include "serve/problem.hpp"
#include "serve/sync_folder.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

constexpr size_t max_about_bytes = 256 << 10;
constexpr const char* extension = ".safetensors";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string sha256_of(std::string_view bytes) {
  io::Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

void write_owned(const fs::path& path, std::string_view bytes) {
  io::AtomicFile file(path, io::Readers::owner);
  file.write(bytes);
  file.commit();
}

void rename_whole(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw RunFailed(path_text(to) + ": cannot be made: " + error.message());
  sync_folder(to.parent_path());
}

// Removed with its owner.
struct Scratch {
  explicit Scratch(fs::path where) : path(std::move(where)) {
    if (::mkdir(path.c_str(), 0700) != 0)
      throw RunFailed(path_text(path) + ": cannot be made: " + std::strerror(errno));
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path path;
};

}  // namespace

AdapterStore::AdapterStore(const fs::path& folder, const AdapterLimits& limits)
    : limits_(limits),
      loras_(folder / "loras"),
      controlnets_(folder / "controlnets"),
      about_(folder / "about"),
      incoming_(folder / "incoming") {
  make_folders();
  sweep();
}

void AdapterStore::make_folders() {
  for (const fs::path& each : {loras_.parent_path(), loras_, controlnets_, about_, incoming_}) {
    if (::mkdir(each.c_str(), 0700) != 0 && errno != EEXIST) {
      throw InvalidRequest({"state", each.string(),
                            std::string("the folder cannot be made: ") + std::strerror(errno),
                            "name a folder that this user may write to"});
    }
  }
}

// What was being received, and notes of what is not there.
void AdapterStore::sweep() noexcept {
  std::error_code error, ignored;
  for (fs::directory_iterator it(incoming_, error), end; !error && it != end; it.increment(error))
    fs::remove_all(it->path(), ignored);
  for (fs::directory_iterator it(about_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().stem().string();
    if (!is_there(weights_of(name, false)) && !is_there(weights_of(name, true)))
      fs::remove(it->path(), ignored);
  }
}

fs::path AdapterStore::about_file(const std::string& name) const {
  return about_ / (name + ".json");
}

fs::path AdapterStore::weights_of(const std::string& name, bool controlnet) const {
  return controlnet ? controlnets_ / name : loras_ / (name + extension);
}

Json AdapterStore::about(const std::string& name) const {
  if (!is_adapter_name(name) || !is_there(about_file(name))) return nullptr;
  Json json = io::read_json(about_file(name), max_about_bytes);
  return is_there(weights_of(name, json["kind"] == "controlnet")) ? json : Json();
}

std::vector<Json> AdapterStore::list() const {
  std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(about_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") names.push_back(it->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  std::vector<Json> all;
  for (const std::string& name : names) {
    if (Json json = about(name); !json.is_null()) all.push_back(std::move(json));
  }
  return all;
}

uint64_t AdapterStore::kept_bytes() const {
  uint64_t bytes = 0;
  for (const Json& each : list()) bytes += each["bytes"].get<uint64_t>();
  return bytes;
}

std::shared_ptr<const BodyFile> AdapterStore::place(uint64_t bytes) {
  if (bytes > limits_.upload_bytes)
    throw HttpRefusal(413, "TooLarge",
                      fmt::format("an upload has at most {} bytes", limits_.upload_bytes));
  const uint64_t kept = kept_bytes();
  std::scoped_lock lock(mutex_);
  // Twice: as it comes, and as it is kept.
  std::error_code error;
  const fs::space_info space = fs::space(incoming_, error);
  if (kept + receiving_ + bytes > limits_.all_bytes || (!error && space.available / 2 < bytes))
    throw HttpRefusal(507, "NoRoom", "there is no room for it: delete an adapter first");
  receiving_ += bytes;
  return std::make_shared<BodyFile>(incoming_ / (random_id() + ".body"), [this, bytes] {
    std::scoped_lock again(mutex_);
    receiving_ -= bytes;
  });
}

void AdapterStore::refuse_taken(const std::string& name) const {
  if (is_there(weights_of(name, false)) || is_there(weights_of(name, true)))
    throw HttpRefusal(409, "NameTaken", "an adapter of this name is there: delete it first");
}

fs::path AdapterStore::write(const AdapterUpload& upload, const fs::path& folder) {
  const fs::path made = folder / weights_of(upload.name, upload.is_controlnet()).filename();
  if (!upload.is_controlnet()) {
    write_owned(made, upload.file);
    return made;
  }
  fs::create_directory(made);
  write_owned(made / "config.json", upload.config);
  write_owned(made / "diffusion_pytorch_model.safetensors", upload.file);
  sync_folder(made);
  return made;
}

Json AdapterStore::add(const AdapterUpload& upload, int64_t now_ms, const Describe& describe) {
  refuse_taken(upload.name);
  const Scratch scratch(incoming_ / random_id());
  const fs::path made = write(upload, scratch.path);
  Json about = describe(made);
  about.update({{"name", upload.name},
                {"bytes", upload.file.size() + upload.config.size()},
                {"sha256", sha256_of(upload.file)},
                {"created_ms", now_ms},
                {"uploaded", true}});
  commit(about, made);
  return about;
}

// It is there from the moment on that its weights have their place.
void AdapterStore::commit(const Json& about, const fs::path& made) {
  const auto name = about["name"].get<std::string>();
  const size_t others = list().size();
  std::scoped_lock lock(mutex_);
  refuse_taken(name);
  if (others >= limits_.count)
    throw HttpRefusal(507, "NoRoom",
                      fmt::format("{} adapters are kept: delete one first", limits_.count));
  write_owned(about_file(name), about.dump());
  sync_folder(about_);
  rename_whole(made, weights_of(name, about["kind"] == "controlnet"));
}

void AdapterStore::hold(const std::vector<std::string>& paths, JobFiles& files,
                        const std::string& job) {
  std::scoped_lock lock(mutex_);
  for (const std::string& each : paths) {
    const fs::path path(each), folder = path.parent_path();
    if (folder != loras_ && folder != controlnets_) continue;
    const std::string name = folder == loras_ ? path.stem().string() : path.filename().string();
    if (!is_there(path))
      throw InvalidRequest({"adapters", name, "was deleted just now", "name another"});
    files.note_use(job, name);
  }
}

Json AdapterStore::remove(const std::string& name, const std::function<void()>& refuse_use) {
  std::scoped_lock lock(mutex_);
  Json json = about(name);
  if (json.is_null()) return json;
  refuse_use();
  const Scratch scratch(incoming_ / random_id());
  const fs::path weights = weights_of(name, json["kind"] == "controlnet");
  rename_whole(weights, scratch.path / weights.filename());
  sync_folder(weights.parent_path());
  std::error_code ignored;
  fs::remove(about_file(name), ignored);
  return json;
}

}  // namespace omnirt::serve
