#include "serve/broker/worker.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>

#include "base/clock.hpp"
#include "base/path_text.hpp"
#include "serve/broker/worker_http.hpp"
#include "serve/broker/worker_run.hpp"
#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/served_models.hpp"
#include "serve/state_folder.hpp"

namespace omnirt::serve {
namespace {

// A run's end waits for a Redis that is started again; what only beats is asked anew.
constexpr int64_t end_patience_ms = 10'000, beat_patience_ms = 500;
constexpr int64_t take_ms = 500, look_ms = 500, news_ms = 50;
constexpr std::chrono::milliseconds lost_pause{250};
// Of the end of a run, before its job is left to the others.
constexpr int most_refusals = 4;

struct AtEnd {
  std::function<void()> work;
  ~AtEnd() { work(); }
};

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "worker";
  return name.data();
}

Member member_of(const WorkerOptions& options, const ServedModels& models) {
  Member member{.id = host_name() + "-" + random_id().substr(0, 12),
                .works = true,
                .parts = options.parts,
                .lease_ms = options.lease_ms};
  if (member.parts.size() == cut_parts.size()) member.parts.insert(WorkPart::whole);
  for (const auto& [name, model] : models.models) member.models.insert(name);
  return member;
}

// Forgetting is the servers' business, whose limits they know.
QueueLimits worker_limits() {
  QueueLimits limits;
  limits.kept = SIZE_MAX;
  limits.kept_bytes = limits.keep_ms = int64_t{1} << 60;
  return limits;
}

std::string device_of(Session& session, const WorkerOptions& options) {
  return options.device.empty() ? "" : session.device(options.device, "--backend").text();
}

}  // namespace

struct Worker::Impl {
  Impl(Session& session, const WorkerOptions& options)
      : options(options),
        folder(""),
        models(find_served_models(session, options.models, options.lora_folders)),
        files(folder.path() / "jobs"),
        traces(open_traces(options.otlp_endpoint)),
        session(session),
        self(member_of(options, models)),
        taken_from(options.redis, end_patience_ms),
        beaten(options.redis, beat_patience_ms),
        queue(taken_from, worker_limits(), self),
        watched(beaten, worker_limits(), self),
        run_parts(session, files, models,
                  {.parts = options.parts,
                   .memory_budget = options.memory_budget,
                   .device = device_of(session, options),
                   .max_bytes = options.max_bytes,
                   .on_report = [this](const RunReport& report) { metrics.count(report); },
                   .traces = traces.get()}) {
    for (SharedQueue* each : {&queue, &watched})
      each->on_change = [this](const Job& job) { metrics.count(job); };
    for (const std::string& doubt : beaten.doubts()) spdlog::warn("{}", doubt);
    metrics.broker = [this] { return figures(); };
    if (traces) metrics.traces = [this] { return traces->counts(); };
    watched.join();
    if (options.port < 0) return;
    http.emplace(options.host, static_cast<uint16_t>(options.port), options.key_file, metrics,
                 [this] { return condition(); });
  }

  Metrics::AtBroker figures();
  WorkerHttp::Condition condition();

  void take();
  void run(SharedQueue::Taken taken);
  void no_run();
  void end(WorkerRun& run, const std::function<void()>& how);
  bool fail_instead(WorkerRun& run, const std::string& why);
  std::function<void()> outcome(SharedQueue::Taken& taken, WorkerRun& control);
  void beat();
  void beat_run();
  static void tell(RedisBroker& broker, WorkerRun& run);
  bool is_over() {
    std::scoped_lock lock(mutex);
    return !current;
  }
  void wait(std::chrono::milliseconds pause) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, pause, [this] { return stopping.load(); });
  }

  WorkerOptions options;
  StateFolder folder;
  ServedModels models;
  std::optional<PathNames> names;
  JobFiles files;
  Metrics metrics;
  std::unique_ptr<TraceExporter> traces;
  Session& session;
  Member self;
  RedisBroker taken_from, beaten;
  SharedQueue queue, watched;
  RunParts run_parts;
  std::optional<WorkerHttp> http;
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<WorkerRun> current;  // under `mutex`
  Metrics::AtBroker seen;              // under `mutex`
  std::atomic<bool> leaving{false}, stopping{false};
  std::vector<std::thread> threads;
};

// Takes one job after the other. No exception ends the thread.
void Worker::Impl::take() {
  while (!leaving) {
    try {
      if (auto taken = queue.take(take_ms)) run(std::move(*taken));
    } catch (const std::exception& error) {
      if (!stopping) spdlog::error("{}: {}", options.redis.shown(), error.what());
      wait(lost_pause);
    }
  }
}

// What is to be told of a run at its end.
std::function<void()> Worker::Impl::outcome(SharedQueue::Taken& taken, WorkerRun& control) {
  const WorkLease& lease = taken.lease;
  auto failed = [&](std::string kind, std::string what) {
    return [this, &lease, reason = JobReason{std::move(kind), std::move(what)}] {
      queue.fail(lease, reason);
    };
  };
  try {
    FileBytes given = taken_from.files(lease.job, taken.shared.files_attempt);
    auto made = std::make_shared<RunParts::Made>(run_parts(taken.shared, given, self.id, control));
    if (made->needs_whole) return [this, &lease] { queue.needs_whole(lease); };
    return [this, &lease, &control, made, work = taken.shared.job.work] {
      tell(taken_from, control);
      taken_from.put_files(lease.job, lease.attempt, made->files);
      if (made->next) {
        queue.pass_on(lease, *made->next);
        return;
      }
      if (!queue.finish(lease, made->result, made->bytes)) return;
      const WorkerRun::Took took = control.took();
      if (lease.attempt == 1) taken_from.learn(work, took.steps, took.steps_ms, took.other_ms);
    };
  } catch (const BrokerLost&) {
    return [this, &lease] { queue.release(lease); };
  } catch (const Error& error) {
    return failed(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    return failed("OutOfMemory", "the allocator has no more memory");
  } catch (const std::exception& error) {
    return failed("RunFailed", error.what());
  } catch (...) {
    return failed("RunFailed", "the run failed, and did not say why");
  }
}

void Worker::Impl::run(SharedQueue::Taken taken) {
  auto control = std::make_shared<WorkerRun>(taken.lease, taken.shared.job);
  spdlog::info("job {}: attempt {}, {}", taken.lease.job, taken.lease.attempt,
               name_of(taken.shared.part));
  {
    std::scoped_lock lock(mutex);
    current = control;
  }
  const AtEnd over{[this] { no_run(); }};
  std::function<void()> how = outcome(taken, *control);
  if (stopping) how = [this, &taken] { queue.release(taken.lease); };
  end(*control, how);
  files.remove(taken.lease.job);
}

void Worker::Impl::no_run() {
  std::scoped_lock lock(mutex);
  current.reset();
  changed.notify_all();
}

// Until the broker has taken it, or the lease is void: what a run made is kept while Redis
// restarts, has no memory left or takes no writes. One that is cancelled meanwhile ends without its
// files, which takes no memory there.
void Worker::Impl::end(WorkerRun& run, const std::function<void()>& how) {
  const std::string& id = run.lease().job;
  std::string waiting_for;
  for (int refusals = 0;;) {
    try {
      if (!waiting_for.empty() && run.cancel().cancelled() && !stopping)
        queue.fail(run.lease(), {"StoreFailed", "the broker has no room for the result"});
      else
        how();
      return;
    } catch (const BrokerLost& error) {
      if (stopping) return spdlog::error("job {} is not ended: {}", id, error.what());
      if (waiting_for != error.what())
        spdlog::warn("the end of job {} waits: {}", id, error.what());
      waiting_for = error.what();
    } catch (const std::exception& error) {
      spdlog::error("the end of job {}: {}", id, error.what());
      if (fail_instead(run, error.what()) || ++refusals == most_refusals || stopping) return;
    }
    wait(lost_pause);
  }
}

// What it made cannot be kept there; the reason may.
bool Worker::Impl::fail_instead(WorkerRun& run, const std::string& why) {
  try {
    queue.fail(run.lease(), {"StoreFailed", why});
    return true;
  } catch (const std::exception& error) {
    spdlog::error("job {} cannot be failed: {}", run.lease().job, error.what());
    return false;
  }
}

// What happened in a run, at each look and before its end.
void Worker::Impl::tell(RedisBroker& broker, WorkerRun& run) {
  RunNews news = run.news();
  try {
    if (broker.beat(run.lease(), news) != Broker::Standing::held) run.stop();
  } catch (const BrokerLost&) {
    run.put_back(std::move(news));
    throw;
  }
}

void Worker::Impl::beat_run() {
  std::shared_ptr<WorkerRun> run;
  {
    std::scoped_lock lock(mutex);
    run = current;
  }
  if (run) tell(beaten, *run);
}

// Its own thread, whatever a run does: that the worker lives, what happens, who is to be stopped.
void Worker::Impl::beat() {
  double joined_ms = -1e9, ticked_ms = -1e9;
  const auto third = static_cast<double>(options.lease_ms) / 3;
  while (!stopping) {
    bool reachable = true;
    try {
      beat_run();
      if (now_ms() - joined_ms >= third) {
        watched.join(leaving);
        joined_ms = now_ms();
        std::scoped_lock lock(mutex);
        ++seen.heartbeats;
      }
      if (now_ms() - ticked_ms >= look_ms) {
        watched.tick();
        ticked_ms = now_ms();
      }
    } catch (const std::exception& error) {
      reachable = dynamic_cast<const BrokerLost*>(&error) == nullptr;
      if (!stopping) spdlog::debug("{}", error.what());
    }
    {
      std::scoped_lock lock(mutex);
      if (seen.reachable != reachable)
        spdlog::info("Redis {} {}", options.redis.shown(), reachable ? "answers" : "is lost");
      seen.reachable = reachable;
      seen.claims = watched.counts().claims;
      seen.dead_letters = watched.counts().dead_letters;
      seen.connections = beaten.connections();
    }
    wait(std::chrono::milliseconds(std::min<int64_t>(news_ms, options.lease_ms / 3)));
  }
}

Metrics::AtBroker Worker::Impl::figures() {
  std::scoped_lock lock(mutex);
  return seen;
}

WorkerHttp::Condition Worker::Impl::condition() {
  return {.leaving = leaving, .reachable = figures().reachable, .runs = !is_over()};
}

Worker::Worker(Session& session, const WorkerOptions& options)
    : impl_(std::make_unique<Impl>(session, options)) {}

Worker::~Worker() {
  stop();
}

const std::string& Worker::id() const {
  return impl_->self.id;
}

std::vector<std::string> Worker::models() const {
  return {impl_->self.models.begin(), impl_->self.models.end()};
}

int Worker::port() const {
  return impl_->http ? impl_->http->port() : -1;
}

void Worker::start() {
  impl_->names.emplace(names_of_folders(impl_->session, impl_->models));
  impl_->threads.emplace_back([this] { impl_->beat(); });
  impl_->threads.emplace_back([this] { impl_->take(); });
  if (impl_->http) impl_->http->start();
}

bool Worker::drain(int64_t ms) {
  impl_->leaving = true;
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::milliseconds(ms),
                                 [this] { return !impl_->current; });
}

void Worker::hand_back() {
  impl_->leaving = impl_->stopping = true;
  impl_->changed.notify_all();
  WorkLease lease;
  {
    std::scoped_lock lock(impl_->mutex);
    if (!impl_->current) return;
    impl_->current->stop();
    lease = impl_->current->lease();
  }
  try {
    RedisBroker broker(impl_->options.redis, beat_patience_ms);
    SharedQueue(broker, worker_limits(), impl_->self).release(lease);
  } catch (const std::exception& error) {
    spdlog::error("job {} is not handed back: {}", lease.job, error.what());
  }
}

void Worker::stop() {
  if (impl_->threads.empty()) return;
  hand_back();
  impl_->beaten.stop();
  impl_->taken_from.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
  if (impl_->http) impl_->http->stop();
  try {
    RedisBroker(impl_->options.redis, beat_patience_ms).leave(impl_->self.id);
  } catch (const std::exception& error) {
    spdlog::warn("{}", error.what());  // others find it gone
  }
}

}  // namespace omnirt::serve
