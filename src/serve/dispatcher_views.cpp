// What others see of the jobs, and ask of them.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "serve/dispatcher_run.hpp"
#include "serve/stored_record.hpp"

namespace omnirt::serve {

JobView Dispatcher::view_without_result(const Job& job) const {
  JobView view;
  view.job = job;
  view.job.request.clear();
  if (const JobProgress* progress = queue_.progress_of(job.id)) view.progress = *progress;
  view.remaining_ms = queue_.remaining_ms(job.id);
  return view;
}

// A store that does not have it any more is as one that has something else.
void Dispatcher::read_result(Job& job) const {
  try {
    job.result = queue_.result(job.id);
  } catch (const std::exception& error) {
    spdlog::error("the result of job {}: {}", job.id, error.what());
  }
  settle_stored_result(job);
}

JobView Dispatcher::view(const Job& job) const {
  JobView view = view_without_result(job);
  if (job.state == JobState::done) read_result(view.job);
  return view;
}

JobView Dispatcher::submit(const Submission& submission) {
  std::scoped_lock lock(mutex_);
  if (!accepts_) throw QueueRefusal("Draining", "the server is about to end", 10'000);
  const Job& job = queue_.submit(submission);
  JobView made = view(job);
  dispatch();
  return made;
}

std::optional<JobView> Dispatcher::find(const std::string& id) const {
  std::scoped_lock lock(mutex_);
  const Job* job = queue_.find(id);
  if (!job) return std::nullopt;
  return view(*job);
}

std::vector<JobView> Dispatcher::newest(const std::string& client, size_t most) const {
  std::scoped_lock lock(mutex_);
  std::vector<const Job*> found;
  for (const auto& [id, job] : queue_.jobs()) {
    if (client.empty() || job.client == client) found.push_back(&job);
  }
  std::sort(found.begin(), found.end(),
            [](const Job* a, const Job* b) { return a->number > b->number; });
  found.resize(std::min(found.size(), most));
  std::vector<JobView> views;
  for (const Job* job : found) views.push_back(view_without_result(*job));
  return views;
}

// Runs take their turns between the results that are read. What was forgotten meanwhile is left
// out.
std::vector<JobView> Dispatcher::list(const std::string& client, size_t most) const {
  std::vector<JobView> views = newest(client, most);
  std::erase_if(views, [&](JobView& each) {
    if (each.job.state != JobState::done) return false;
    std::scoped_lock lock(mutex_);
    const bool forgotten = !queue_.find(each.job.id);
    if (!forgotten) read_result(each.job);
    return forgotten;
  });
  return views;
}

std::set<std::string> Dispatcher::ids() const {
  std::scoped_lock lock(mutex_);
  std::set<std::string> all;
  for (const auto& [id, job] : queue_.jobs()) all.insert(id);
  return all;
}

std::optional<JobView> Dispatcher::cancel(const std::string& id) {
  std::scoped_lock lock(mutex_);
  const Job* job = queue_.cancel(id);
  if (!job) return std::nullopt;
  pass_on_cancels();
  return view(*job);
}

bool Dispatcher::forget(const std::string& id) {
  {
    std::scoped_lock lock(mutex_);
    if (!queue_.forget(id)) return false;
    events_.forget(id);
  }
  if (on_forgotten) on_forgotten(id);
  return true;
}

int64_t Dispatcher::listen(const std::string& id, int64_t after, JobEvents::Listener listener) {
  std::scoped_lock lock(mutex_);
  return events_.listen(id, after, std::move(listener));
}

void Dispatcher::leave(int64_t listener) {
  std::scoped_lock lock(mutex_);
  events_.leave(listener);
}

Dispatcher::Counts Dispatcher::counts() const {
  std::scoped_lock lock(mutex_);
  size_t computing = 0;
  for (const auto& each : executors_) computing += each->computing;
  return {queue_.waiting(), queue_.running(), computing};
}

std::string Dispatcher::refuses() const {
  std::scoped_lock lock(mutex_);
  return accepts_ ? "" : "draining";
}

}  // namespace omnirt::serve
