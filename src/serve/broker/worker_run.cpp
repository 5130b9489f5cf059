#include "serve/broker/worker_run.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/json.hpp"

namespace omnirt::serve {
namespace {

// While the broker is out of reach; the oldest steps are left out.
constexpr size_t most_events = 256;

}  // namespace

WorkerRun::WorkerRun(WorkLease lease, const Job& job)
    : lease_(std::move(lease)), client_(job.client), since_ms_(now_ms()) {}

void WorkerRun::at(const JobProgress& progress) {
  {
    std::scoped_lock lock(mutex_);
    const double now = now_ms(), ms = now - since_ms_;
    since_ms_ = now;
    const int64_t steps = progress.step - news_.progress.step;
    if (steps > 0) {
      took_.steps += steps;
      took_.steps_ms += ms;
    } else {
      took_.other_ms += ms;
    }
    news_.computed_ms += ms;
    news_.progress = progress;
    const Json json = {{"job", lease_.job},
                       {"stage", progress.stage},
                       {"step", progress.step},
                       {"steps", progress.steps}};
    news_.events.emplace_back("progress", json.dump());
    if (news_.events.size() > most_events) news_.events.erase(news_.events.begin());
  }
  token_.check();
}

// The latest alone.
void WorkerRun::preview(std::string data) {
  std::scoped_lock lock(mutex_);
  std::erase_if(news_.events, [](const auto& each) { return each.first == "preview"; });
  news_.events.emplace_back("preview", std::move(data));
}

RunNews WorkerRun::news() {
  std::scoped_lock lock(mutex_);
  RunNews now = std::move(news_);
  news_ = {};
  news_.progress = now.progress;
  now.client = client_;
  return now;
}

void WorkerRun::put_back(RunNews news) {
  std::scoped_lock lock(mutex_);
  news_.computed_ms += news.computed_ms;
  news.events.insert(news.events.end(), std::make_move_iterator(news_.events.begin()),
                     std::make_move_iterator(news_.events.end()));
  news_.events = std::move(news.events);
  if (news_.events.size() > most_events)
    news_.events.erase(news_.events.begin(),
                       news_.events.end() - static_cast<std::ptrdiff_t>(most_events));
}

WorkerRun::Took WorkerRun::took() const {
  std::scoped_lock lock(mutex_);
  Took took = took_;
  took.other_ms += now_ms() - since_ms_;
  return took;
}

}  // namespace omnirt::serve
