#include "serve/job_events.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/json.hpp"

namespace omnirt::serve {
namespace {

constexpr int64_t per_attempt = 1'000'000;

// To what is kept, once one more has come: no previews of a job that has ended.
void trim(std::vector<JobEvent>& events) {
  const bool ended = events.back().last;
  if (ended || events.back().type == "preview") {
    const int64_t newest = events.back().number;
    std::erase_if(events, [&](const JobEvent& event) {
      return event.type == "preview" && (ended || event.number < newest);
    });
  }
  if (events.size() > JobEvents::most_kept) events.erase(events.begin());
}

void keep_states(std::vector<JobEvent>& events) {
  std::erase_if(events, [](const JobEvent& event) { return event.type != "state" && !event.last; });
  events.shrink_to_fit();
}

}  // namespace

std::string state_event(const Job& job) {
  Json json = {{"job", job.id}, {"state", name_of(job.state)}};
  if (job.cancelling && !has_ended(job.state)) json["cancelling"] = true;
  if (!job.reason.kind.empty())
    json["error"] = {{"kind", job.reason.kind}, {"message", job.reason.message}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t first_event_number(int64_t attempt) {
  return attempt * per_attempt;
}

int64_t last_event_number(int64_t attempt) {
  return attempt * per_attempt + per_attempt - 1;
}

void JobEvents::add(const std::string& job, int64_t attempt, std::string type, std::string data,
                    bool last) {
  const std::vector<JobEvent>& events = events_[job];
  int64_t number = first_event_number(attempt);
  if (!events.empty()) number = std::max(number, events.back().number + 1);
  // The same number whether the server restarted since or not.
  if (last) number = std::max(number, last_event_number(attempt));
  put(job, {number, std::move(type), std::move(data), last});
}

// A listener that fails takes nothing from the others, nor from the job.
void JobEvents::tell(const Listening& listening, const JobEvent& event) {
  try {
    listening.listener(event);
  } catch (const std::exception& error) {
    spdlog::error("an event of job {} is not sent: {}", listening.job, error.what());
  }
}

void JobEvents::put(const std::string& job, JobEvent event) {
  std::vector<JobEvent>& events = events_[job];
  if (!events.empty() && events.back().number >= event.number) return;
  const bool last = event.last;
  events.push_back(std::move(event));
  trim(events);
  for (const auto& [id, listening] : listeners_) {
    if (listening.job == job) tell(listening, events.back());
  }
  if (!last) return;
  std::erase_if(listeners_, [&](const auto& each) { return each.second.job == job; });
  note_end(job);
}

// A server has ended jobs by the thousand, of which few are asked for again, and soon.
void JobEvents::note_end(const std::string& job) {
  ended_.push_back(job);
  if (ended_.size() <= most_whole) return;
  if (auto oldest = events_.find(ended_.front()); oldest != events_.end())
    keep_states(oldest->second);
  ended_.pop_front();
}

int64_t JobEvents::listen(const std::string& job, int64_t after, Listener listener) {
  const int64_t id = next_listener_++;
  bool over = false;
  auto it = events_.find(job);
  if (it != events_.end()) {
    for (const JobEvent& event : it->second) {
      if (event.number > after) listener(event);
      over = over || event.last;
    }
  }
  if (over) return 0;
  listeners_.emplace(id, Listening{job, std::move(listener)});
  return id;
}

void JobEvents::leave(int64_t listener) {
  listeners_.erase(listener);
}

std::vector<std::string> JobEvents::listened() const {
  std::vector<std::string> jobs;
  for (const auto& [id, listening] : listeners_) jobs.push_back(listening.job);
  return jobs;
}

void JobEvents::forget(const std::string& job) {
  events_.erase(job);
}

}  // namespace omnirt::serve
