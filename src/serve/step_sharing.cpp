#include "serve/step_sharing.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace omnirt::serve {
namespace {

// By how much the jobs in line end earlier, in sum, for each step that `runs` of them have together
// and that takes `gain` times less than one after the other; in steps of one run. Those behind wait
// less; those in it end all at once, which is later for those that would have gone first.
double ends_earlier(size_t runs, double gain, size_t in_line) {
  const auto n = static_cast<double>(runs);
  const double together = n / gain;
  const double behind = static_cast<double>(in_line) - n;
  return behind * (n - together) + n * (n + 1) / 2 - n * together;
}

}  // namespace

std::optional<double> StepSharing::Entry::ms() const {
  if (measured < samples) return std::nullopt;
  return least;
}

const StepSharing::Entry* StepSharing::find(const std::string& work, size_t runs) const {
  auto it = works_.find(work);
  if (it == works_.end()) return nullptr;
  auto entry = it->second.by_runs.find(runs);
  return entry == it->second.by_runs.end() ? nullptr : &entry->second;
}

StepSharing::Entry& StepSharing::entry(const std::string& work, size_t runs) {
  if (!works_.contains(work) && works_.size() >= most_works) {
    works_.erase(std::ranges::min_element(
        works_, [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  Work& of = works_[work];
  of.used = ++uses_;
  return of.by_runs[runs];
}

size_t StepSharing::runs(const std::string& work, size_t ready, size_t in_line) const {
  if (how_ == ShareSteps::off || ready < 2) return 1;
  auto refused = [&](size_t runs) {
    const Entry* of = find(work, runs);
    return of && of->refused;
  };
  if (how_ == ShareSteps::on) return refused(ready) ? 1 : ready;
  const Entry* alone = find(work, 1);
  if (!alone || !alone->ms()) return 1;
  const Entry* all = find(work, ready);
  if (!all || (!all->ms() && !all->refused)) return ready;
  size_t best = 1;
  double most = 0;
  for (size_t runs = 2; runs <= ready; ++runs) {
    const double gained = gain(work, runs).value_or(0);
    if (gained < pays_from) continue;
    const double earlier = ends_earlier(runs, gained, in_line);
    if (earlier <= most) continue;
    most = earlier;
    best = runs;
  }
  return best;
}

void StepSharing::learn(const std::string& work, size_t runs, double ms) {
  if (how_ != ShareSteps::automatic) return;
  Entry& of = entry(work, runs);
  if (of.ms() || of.refused) return;
  of.least = std::min(of.least, ms);
  if (++of.measured < samples) return;
  if (const auto gained = gain(work, runs); gained && runs > 1)
    spdlog::info("steps of {} runs of {} together: {:.2f} times as many per second", runs, work,
                 *gained);
}

void StepSharing::refuse(const std::string& work, size_t runs) {
  entry(work, runs).refused = true;
}

std::optional<double> StepSharing::gain(const std::string& work, size_t runs) const {
  const Entry *alone = find(work, 1), *together = find(work, runs);
  if (!alone || !alone->ms() || !together || !together->ms() || together->refused)
    return std::nullopt;
  return static_cast<double>(runs) * *alone->ms() / *together->ms();
}

}  // namespace omnirt::serve
