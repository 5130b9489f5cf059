#include "hub/pull.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/byte_size.hpp"
#include "base/error.hpp"
#include "hub/cached_listing.hpp"
#include "hub/repository_cache.hpp"
#include "hub/transfer.hpp"
#include "io/file.hpp"

namespace omnirt::hub {
namespace fs = std::filesystem;
namespace {

constexpr size_t max_read_bytes = size_t{64} << 20;

// Thrown in transfers that are ended because another one failed.
struct Stopped {};

class Pull {
 public:
  Pull(const Settings& settings, const PullRequest& request, const PullHooks& hooks)
      : settings_(settings),
        request_(request),
        hooks_(hooks),
        cache_(settings.cache, request.id),
        kept_(cache_.keep()),
        connection_(settings) {
    source_ = {&settings_, request.id, ""};
  }

  Pulled plan() {
    const std::string address =
        fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings_.endpoint, request_.id,
                    slash_encoded(request_.revision));
    const Listing listing = parse_listing(
        get_text(connection_, address, request_.id, settings_, max_listing_bytes, hooks_.wait),
        address);
    source_.commit = listing.commit;
    Pulled plan{listing.commit, cache_.snapshot(listing.commit),
                choose_files(listing, request_.choice,
                             [&](const RemoteFile& file) { return text_of(file); })};
    for (const RemoteFile& file : plan.files) {
      plan.bytes += file.bytes;
      plan.bytes_to_get += missing(file);
    }
    return plan;
  }

  void run(const Pulled& plan) {
    require_room(plan);
    progress_ = {0, plan.bytes, 0, plan.files.size()};
    queue_ = plan.files;
    // The largest first, so that no thread is left with one at the end.
    std::ranges::stable_sort(queue_, std::greater<>{}, &RemoteFile::bytes);
    {
      std::vector<std::jthread> threads;
      const size_t count = std::clamp<size_t>(request_.at_once, 1, queue_.size() + 1);
      for (size_t i = 1; i < count; ++i) threads.emplace_back([this] { work_on_its_own(); });
      work(connection_);
    }
    if (thrown_) std::rethrow_exception(thrown_);
    for (const RemoteFile& file : plan.files) cache_.link(plan.commit, file);
    cache_.set_revision(request_.revision, plan.commit);
  }

 private:
  // A branch's slash is none of the address.
  static std::string slash_encoded(const std::string& revision) {
    std::string out;
    for (char c : percent_encoded(revision))
      out += c == '/' ? std::string("%2F") : std::string(1, c);
    return out;
  }

  std::string text_of(const RemoteFile& file) {
    if (file.bytes > max_read_bytes)
      throw InvalidFile({file.path, fmt::to_string(file.bytes),
                         fmt::format("more than {} bytes", max_read_bytes),
                         "name the files to take"});
    TransferHooks hooks;
    hooks.wait = hooks_.wait;
    hooks.waiting = [&] { hooks_.waiting(file.path); };
    fetch_blob(connection_, source_, cache_, file, hooks);
    return io::read_file(cache_.blob(file), max_read_bytes);
  }

  uint64_t missing(const RemoteFile& file) const {
    std::error_code error;
    if (uint64_t here = fs::file_size(cache_.blob(file), error); !error && here == file.bytes)
      return 0;
    uint64_t begun = fs::file_size(cache_.incomplete(file), error);
    return error ? file.bytes : file.bytes - std::min(begun, file.bytes);
  }

  void require_room(const Pulled& plan) const {
    std::error_code error;
    fs::create_directories(cache_.folder(), error);
    const fs::space_info space = fs::space(cache_.folder(), error);
    if (error || space.available >= plan.bytes_to_get) return;
    throw InvalidRequest(
        {"model", request_.id,
         fmt::format("{} are to be fetched, and {} has room for {}",
                     shown_byte_size(plan.bytes_to_get), settings_.cache.string(),
                     shown_byte_size(space.available)),
         "free some (omnirt cache lists what is there), or set HF_HUB_CACHE to another disk"});
  }

  void work_on_its_own() {
    try {
      Connection connection(settings_);
      work(connection);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void work(Connection& connection) {
    for (size_t place = next_++; place < queue_.size() && !stopped_; place = next_++) {
      try {
        fetch_blob(connection, source_, cache_, queue_[place], hooks_of(queue_[place]));
        done();
      } catch (const Stopped&) {
        return;
      } catch (...) {
        return fail(std::current_exception());
      }
    }
  }

  TransferHooks hooks_of(const RemoteFile& file) {
    TransferHooks hooks;
    hooks.moved = [this](int64_t bytes) {
      if (stopped_) throw Stopped{};
      const std::scoped_lock lock(mutex_);
      progress_.bytes += static_cast<uint64_t>(bytes);
      hooks_.progress(progress_);
    };
    hooks.waiting = [this, &file] {
      const std::scoped_lock lock(mutex_);
      hooks_.waiting(file.path);
    };
    hooks.wait = hooks_.wait;
    return hooks;
  }

  void done() {
    const std::scoped_lock lock(mutex_);
    ++progress_.files;
    hooks_.progress(progress_);
  }

  void fail(const std::exception_ptr& error) {
    const std::scoped_lock lock(mutex_);
    if (!thrown_) thrown_ = error;
    stopped_ = true;
  }

  const Settings& settings_;
  const PullRequest& request_;
  const PullHooks& hooks_;
  RepositoryCache cache_;
  io::Descriptor kept_;
  Connection connection_;
  Source source_;
  std::vector<RemoteFile> queue_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  PullProgress progress_;
  std::exception_ptr thrown_;
};

void check(const PullRequest& request) {
  check_repository("model", request.id);
  check_revision(request.revision);
}

[[noreturn]] void refuse_offline(const PullRequest& request, const std::string& why) {
  throw InvalidRequest({"HF_HUB_OFFLINE", "1",
                        fmt::format("nothing may be fetched from the hub, and the cache does not "
                                    "hold all of {} at {}: {}",
                                    request.id, request.revision, why),
                        "unset it, or set it to 0"});
}

// What the cache holds of it, where nothing may be asked of the hub.
Pulled cached(const Settings& settings, const PullRequest& request) {
  const RepositoryCache cache(settings.cache, request.id);
  const std::string commit = cache.commit_of(request.revision);
  if (commit.empty()) refuse_offline(request, "there is no such snapshot");
  Pulled found{commit, cache.snapshot(commit), {}};
  try {
    found.files =
        choose_files(listing_of_cached(cache, commit), request.choice, [&](const RemoteFile& file) {
          return io::read_file(found.snapshot / file.path, max_read_bytes);
        });
  } catch (const InvalidRequest& error) {
    refuse_offline(request, error.findings().front().text());
  }
  const std::string& variant = request.choice.variant;
  const auto is_variant = [&](const RemoteFile& file) {
    return file.path.find("." + variant + ".") != std::string::npos;
  };
  if (!variant.empty() && std::ranges::none_of(found.files, is_variant))
    refuse_offline(request, fmt::format("it has no weights of the variant {}", variant));
  for (const RemoteFile& file : found.files) found.bytes += file.bytes;
  return found;
}

}  // namespace

Pulled plan_pull(const Settings& settings, const PullRequest& request, const PullHooks& hooks) {
  check(request);
  if (settings.offline) return cached(settings, request);
  return Pull(settings, request, hooks).plan();
}

Pulled pull(const Settings& settings, const PullRequest& request, const PullHooks& hooks) {
  check(request);
  if (settings.offline) return cached(settings, request);
  Pull pull(settings, request, hooks);
  Pulled plan = pull.plan();
  pull.run(plan);
  return plan;
}

}  // namespace omnirt::hub
