#include <algorithm>
#include <cmath>
#include <map>

#include "serve/load.hpp"

namespace omnirt::serve {
namespace {

constexpr int answered_status = 200;

struct Counts {
  size_t requests = 0, met = 0;
  std::vector<double> times;  // of answered ones

  void add(const LoadOutcome& outcome, double limit_ms) {
    ++requests;
    if (outcome.status != answered_status) return;
    times.push_back(outcome.ms);
    if (outcome.ms <= limit_ms) ++met;
  }
};

double share(size_t part, size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json of_kind(const LoadKind& kind, const Counts& counts) {
  return {{"name", kind.name},
          {"own_ms", kind.own_ms},
          {"requests", counts.requests},
          {"answered", counts.times.size()},
          {"attainment", share(counts.met, counts.requests)},
          {"p50_ms", quantile(counts.times, 0.5)},
          {"p99_ms", quantile(counts.times, 0.99)}};
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto count = static_cast<double>(values.size());
  const auto rank = static_cast<size_t>(std::max(std::ceil(share * count), 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                   values.end());
  return values[rank];
}

Json load_figures(const std::vector<LoadKind>& kinds, const std::vector<LoadOutcome>& outcomes,
                  double factor) {
  std::vector<Counts> counts(kinds.size());
  std::map<std::string, size_t> statuses;
  size_t met = 0, answered = 0;
  double last_ms = 0;
  for (const LoadOutcome& each : outcomes) {
    const size_t kind = each.arrival.kind;
    counts[kind].add(each, factor * kinds[kind].own_ms);
    ++statuses[each.status == 0 ? "none" : std::to_string(each.status)];
    last_ms = std::max(last_ms, each.arrival.at_ms + each.ms);
  }
  Json of_kinds = Json::array();
  for (size_t i = 0; i < kinds.size(); ++i) {
    met += counts[i].met;
    answered += counts[i].times.size();
    of_kinds.push_back(of_kind(kinds[i], counts[i]));
  }
  const double seconds = last_ms / 1000;
  return {{"requests", outcomes.size()},
          {"statuses", statuses},
          {"seconds", seconds},
          {"per_second", seconds > 0 ? static_cast<double>(answered) / seconds : 0.0},
          {"attainment", share(met, outcomes.size())},
          {"answered_attainment", share(met, answered)},
          {"kinds", of_kinds}};
}

}  // namespace omnirt::serve
