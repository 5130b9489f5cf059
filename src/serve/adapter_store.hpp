#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "serve/adapter_upload.hpp"
#include "serve/http.hpp"
#include "serve/job_files.hpp"

namespace omnirt::serve {

struct AdapterLimits {
  uint64_t upload_bytes = uint64_t{2} << 30;  // of one upload
  uint64_t all_bytes = uint64_t{16} << 30;    // of all that is kept, and of what is being received
  size_t count = 256;
};

// The adapters that were sent to a server, in a folder of its own: a LoRA (or what else changes
// layers, or brings tokens) as a file NAME.safetensors in `loras`, a ControlNet as a folder NAME in
// `controlnets`. One is there whole or not at all, whenever the process ends. Safe to use from
// several threads.
class AdapterStore {
 public:
  // Makes the folder, and removes what an earlier process did not finish. Throws InvalidRequest.
  AdapterStore(const std::filesystem::path& folder, const AdapterLimits& limits);

  const std::filesystem::path& loras() const { return loras_; }
  const std::filesystem::path& controlnets() const { return controlnets_; }
  // A file for a body, which counts as what is kept until it is gone. Throws HttpRefusal where
  // there is no room (413, 507).
  std::shared_ptr<const BodyFile> place(uint64_t bytes);

  // What an adapter is, by its file or folder: {kind, models}. Throws where no model takes it.
  using Describe = std::function<Json(const std::filesystem::path&)>;
  // Keeps a copy; {name, kind, models, bytes, sha256, created_ms, uploaded}. Throws what `describe`
  // throws, HttpRefusal (409) where the name is taken, RunFailed.
  Json add(const AdapterUpload& upload, int64_t now_ms, const Describe& describe);
  // By name.
  std::vector<Json> list() const;
  // Notes in a job's files which adapters its paths are, so that they stay. Throws InvalidRequest
  // where one is gone.
  void hold(const std::vector<std::string>& paths, JobFiles& files, const std::string& job);
  // What it was; null where there is none. `refuse_use` throws where a job uses it.
  Json remove(const std::string& name, const std::function<void()>& refuse_use);

 private:
  void make_folders();
  void sweep() noexcept;
  Json about(const std::string& name) const;
  std::filesystem::path about_file(const std::string& name) const;
  std::filesystem::path weights_of(const std::string& name, bool controlnet) const;
  std::filesystem::path write(const AdapterUpload& upload, const std::filesystem::path& folder);
  void commit(const Json& about, const std::filesystem::path& made);
  uint64_t kept_bytes() const;
  void refuse_taken(const std::string& name) const;

  AdapterLimits limits_;
  std::filesystem::path loras_, controlnets_, about_, incoming_;
  mutable std::mutex mutex_;
  uint64_t receiving_ = 0;
};

}  // namespace omnirt::serve
