#include "serve/broker/broker_jobs.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "io/file.hpp"
#include "serve/http.hpp"
#include "serve/stored_record.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

// A client is not kept waiting for a Redis that is gone.
constexpr int64_t client_patience_ms = 1500;
constexpr int64_t tick_ms = 500, events_wait_ms = 500;
constexpr size_t max_sent_bytes = size_t{256} << 20;

FileBytes read_files(const fs::path& folder) {
  FileBytes all;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    all[it->path().filename().string()] = io::read_file(it->path(), max_sent_bytes);
  return all;
}

}  // namespace

BrokerJobs::BrokerJobs(const Options& options, JobFiles& files)
    : options_(options),
      files_(files),
      asked_(options.redis, client_patience_ms),
      watching_(options.redis, client_patience_ms),
      followed_(options.redis, client_patience_ms),
      queue_(asked_, options.queue,
             {.id = "server-" + random_id(),
              .lease_ms = options.lease_ms,
              .order = options.queue.order}),
      watched_(watching_, options.queue, queue_.self()) {
  for (const std::string& doubt : watching_.doubts()) spdlog::warn("{}", doubt);
  for (SharedQueue* each : {&queue_, &watched_}) {
    each->on_change = [this](const Job& job) {
      if (on_change) on_change(job);
    };
  }
  watched_.join();
}

BrokerJobs::~BrokerJobs() {
  stop();
}

void BrokerJobs::start() {
  threads_.emplace_back([this] { watch(); });
  threads_.emplace_back([this] { follow(); });
}

void BrokerJobs::wait(int64_t ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stopping_.load(); });
}

// Beats, and does what is due. No exception ends the thread, or the process would end with it.
void BrokerJobs::watch() {
  double beaten_ms = -1e9;
  std::string failing;
  while (!stopping_) {
    bool reachable = true;
    try {
      if (now_ms() - beaten_ms >= static_cast<double>(options_.lease_ms) / 3) {
        watched_.join();
        beaten_ms = now_ms();
        std::scoped_lock lock(mutex_);
        ++figures_.heartbeats;
      }
      watched_.tick();
      end_listening();
      const Snapshot now = watching_.snapshot();
      const int64_t dead = watching_.dead_letters();
      std::scoped_lock lock(mutex_);
      figures_.kept_dead_letters = dead;
      figures_.workers.clear();
      for (WorkPart part : cut_parts) figures_.workers[name_of(part)] = 0;
      for (const Member& each : now.members) {
        if (!each.works || !lives(each, now.now_ms())) continue;
        for (WorkPart part : cut_parts) figures_.workers[name_of(part)] += each.parts.count(part);
      }
      failing = "";
    } catch (const std::exception& error) {
      reachable = dynamic_cast<const BrokerLost*>(&error) == nullptr;
      // Once per reason, not at each look.
      if (!stopping_ && failing != error.what())
        spdlog::error("{}: {}", options_.redis.shown(), error.what());
      failing = error.what();
    }
    {
      std::scoped_lock lock(mutex_);
      figures_.reachable = reachable;
      figures_.claims = watched_.counts().claims;
      figures_.dead_letters = watched_.counts().dead_letters;
      figures_.connections = watching_.connections();
    }
    wait(std::min<int64_t>(tick_ms, options_.lease_ms / 3));
  }
}

void BrokerJobs::follow() {
  std::string after = "0";
  while (!stopping_) {
    try {
      for (const SharedEvent& each : followed_.events(after, events_wait_ms)) take_up(each);
    } catch (const std::exception& error) {
      if (!stopping_) spdlog::debug("{}", error.what());
      wait(events_wait_ms);
    }
  }
}

void BrokerJobs::take_up(const SharedEvent& event) {
  {
    std::scoped_lock lock(mutex_);
    if (event.forgotten)
      events_.forget(event.job);
    else
      events_.put(event.job, event.event);
    changed_.notify_all();
  }
  if (event.forgotten && on_forgotten) on_forgotten(event.job);
}

// Those who listen to a job whose end was among events that this server did not get.
void BrokerJobs::end_listening() {
  std::vector<std::string> ids;
  {
    std::scoped_lock lock(mutex_);
    ids = events_.listened();
  }
  for (const std::string& id : ids) {
    auto shared = watching_.find(id, false);
    const bool gone = !shared;
    if (!gone && !has_ended(shared->job.state)) continue;
    SharedJob lost;
    lost.job.id = id;
    lost.job.state = JobState::failed;
    lost.job.reason = {"StoreFailed", "the broker does not have this job any more"};
    const Job& job = gone ? lost.job : shared->job;
    std::scoped_lock lock(mutex_);
    events_.put(id, {last_event_number(job.attempts), "state", state_event(job), true});
    changed_.notify_all();
  }
}

JobView BrokerJobs::view(const SharedJob& shared, const Snapshot& now) const {
  JobView view{shared.job, shared.progress, 0};
  settle_stored_result(view.job);
  if (has_ended(shared.job.state)) return view;
  QueueLimits limits = options_.queue;
  limits.at_once = static_cast<size_t>(
      std::count_if(now.members.begin(), now.members.end(),
                    [&](const Member& each) { return each.works && lives(each, now.now_ms()); }));
  const JobInLine own{&shared.job, steps_left(shared.job, shared.progress), 0};
  view.remaining_ms = JobOrdering(limits, now.times, now.now_ms()).remaining_ms(own, line_of(now));
  return view;
}

JobView BrokerJobs::submit(const Submission& submission) {
  if (!accepts_) throw QueueRefusal("Draining", "the server is about to end", 10'000);
  const FileBytes files = read_files(files_.folder_of(submission.id));
  SharedJob shared;
  {
    std::scoped_lock lock(queue_mutex_);
    shared = queue_.submit(submission, WorkPart::encode, files);
  }
  files_.remove(submission.id);
  shared.job.request.clear();
  return view(shared, asked_.snapshot());
}

std::optional<JobView> BrokerJobs::find(const std::string& id) const {
  auto shared = asked_.find(id, false);
  if (!shared) return std::nullopt;
  return view(*shared, has_ended(shared->job.state) ? Snapshot{} : asked_.snapshot());
}

std::vector<JobView> BrokerJobs::list(const std::string& client, size_t most) const {
  const Snapshot now = asked_.snapshot();
  std::vector<JobView> views;
  for (const SharedJob& each : asked_.list(client, most)) views.push_back(view(each, now));
  return views;
}

std::optional<JobView> BrokerJobs::cancel(const std::string& id) {
  std::optional<SharedJob> shared;
  {
    std::scoped_lock lock(queue_mutex_);
    shared = queue_.cancel(id);
  }
  if (!shared) return std::nullopt;
  return view(*shared, asked_.snapshot());
}

// A job from before this server, or its events: as it is now.
void BrokerJobs::learn_of(const std::string& id) {
  {
    std::scoped_lock lock(mutex_);
    if (events_.knows(id)) return;
  }
  try {
    auto shared = asked_.find(id, false);
    if (!shared) return;
    const bool ended = has_ended(shared->job.state);
    const int64_t attempt = shared->job.attempts;
    std::scoped_lock lock(mutex_);
    events_.put(id, {ended ? last_event_number(attempt) : first_event_number(attempt), "state",
                     state_event(shared->job), ended});
  } catch (const Error& error) {
    spdlog::warn("{}", error.what());  // its events say it once they come
  }
}

int64_t BrokerJobs::listen(const std::string& id, int64_t after, JobEvents::Listener listener) {
  learn_of(id);
  std::scoped_lock lock(mutex_);
  return events_.listen(id, after, std::move(listener));
}

void BrokerJobs::leave(int64_t listener) {
  std::scoped_lock lock(mutex_);
  events_.leave(listener);
}

Jobs::Counts BrokerJobs::counts() const {
  Counts counts;
  try {
    for (const SharedJob& each : asked_.snapshot().line)
      ++(each.job.state == JobState::queued ? counts.waiting : counts.running);
  } catch (const Error&) {  // the figures say that it is out of reach
  }
  counts.computing = counts.running;
  return counts;
}

std::string BrokerJobs::refuses() const {
  if (!accepts_) return "draining";
  try {
    asked_.try_write();
    return "";
  } catch (const Error&) {
    return "no broker";
  }
}

Metrics::AtBroker BrokerJobs::figures() const {
  std::scoped_lock lock(mutex_);
  return figures_;
}

std::string BrokerJobs::fetch(const std::string& job, const std::string& name) {
  auto shared = asked_.find(job, false);
  auto bytes = shared ? asked_.file(job, shared->files_attempt, name) : std::nullopt;
  if (!bytes) throw RunFailed("job " + job + " has no file " + name + " any more");
  return *bytes;
}

// Runs are the workers' and go on; only who listens here is waited for.
bool BrokerJobs::drain(int64_t ms) {
  accepts_ = false;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(ms),
                           [this] { return events_.listened().empty(); });
}

// What a connection here waits for has no one to fetch it.
void BrokerJobs::hand_back() {
  accepts_ = false;
  if (handed_back_.exchange(true)) return;
  try {
    std::scoped_lock lock(queue_mutex_);
    for (const SharedJob& each : asked_.snapshot().line) {
      if (each.waiter == queue_.self().id) queue_.cancel(each.job.id, server_ends());
    }
    asked_.leave(queue_.self().id);
  } catch (const std::exception& error) {
    spdlog::warn("{}", error.what());  // others find this server gone
  }
}

void BrokerJobs::stop() {
  if (stopping_.exchange(true)) return;
  changed_.notify_all();
  watching_.stop();
  followed_.stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  hand_back();
}

}  // namespace omnirt::serve
