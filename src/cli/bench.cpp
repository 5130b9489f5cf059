#include "cli/bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/clock.hpp"

namespace omnirt::cli {
namespace {

// A folder for what the runs write; gone with the measurement.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "omnirt-bench-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw RunFailed("no folder could be made in " + pattern + " for the images");
    path_ = pattern;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// `count` runs, `concurrency` at a time.
std::vector<RunReport> run_many(Session& session, const GenerateRequest& request, bool strict,
                                int64_t count, int64_t concurrency) {
  std::vector<RunReport> reports(static_cast<size_t>(count));
  std::atomic<int64_t> next{0};
  std::exception_ptr failed;
  std::mutex mutex;
  auto worker = [&] {
    for (int64_t i; (i = next.fetch_add(1)) < count;) {
      try {
        session.run(request, strict, CancelToken{}, {}, reports[static_cast<size_t>(i)]);
      } catch (...) {
        std::scoped_lock lock(mutex);
        if (!failed) failed = std::current_exception();
        next.store(count);
      }
    }
  };
  std::vector<std::jthread> threads;
  for (int64_t i = 1; i < std::min(concurrency, count); ++i) threads.emplace_back(worker);
  worker();
  threads.clear();
  if (failed) std::rethrow_exception(failed);
  return reports;
}

Json spread(std::vector<double> values) {
  std::ranges::sort(values);
  auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {{"min", values.front()}, {"median", at(0.5)}, {"p95", at(0.95)}, {"max", values.back()}};
}

template <class Read>
Json spread_of(const std::vector<RunReport>& reports, Read&& read) {
  std::vector<double> values;
  for (const RunReport& report : reports) values.push_back(read(report));
  return spread(std::move(values));
}

double step_ms(const RunReport& report) {
  const ConfigValue* steps = report.config_resolved.find("num_inference_steps");
  double count = steps && steps->value.is_number() ? steps->value.get<double>() : 1.0;
  return report.timings.denoise_loop_ms / std::max(count, 1.0);
}

// The level that each component ran at.
Json levels_of(const RunReport& report) {
  Json levels = Json::object();
  for (const TimelineReport& entry : report.backend_timeline) {
    for (const AttemptReport& attempt : entry.attempts) {
      if (attempt.selected) levels[entry.component] = attempt.level;
    }
  }
  return levels;
}

}  // namespace

Json BenchResult::to_json(const BenchPlan& plan) const {
  size_t images = 0;
  uint64_t peak = 0;
  for (const RunReport& report : reports) {
    images += report.artifacts.size();
    peak = std::max(peak, report.memory.peak_rss_bytes);
  }
  auto stage = [&](double StageTimings::*member) {
    return spread_of(reports, [member](const RunReport& r) { return r.timings.*member; });
  };
  Json json = {
      {"model", reports.front().model},
      {"backend", reports.front().backend},
      {"device", reports.front().device},
      {"task", reports.front().task},
      {"total", plan.total},
      {"concurrency", plan.concurrency},
      {"warmup", plan.warmup},
      {"wall_ms", wall_ms},
      {"images_per_second", static_cast<double>(images) * 1000.0 / wall_ms},
      {"peak_rss_bytes", peak},
      {"total_ms", spread_of(reports, [](const RunReport& r) { return r.total_ms; })},
      {"load_ms", spread_of(reports, [](const RunReport& r) { return r.load_ms; })},
      {"step_ms", spread_of(reports, step_ms)},
      {"stages",
       {{"prepare_conditions_ms", stage(&StageTimings::prepare_conditions_ms)},
        {"prepare_latents_ms", stage(&StageTimings::prepare_latents_ms)},
        {"denoise_loop_ms", stage(&StageTimings::denoise_loop_ms)},
        {"decode_ms", stage(&StageTimings::decode_ms)},
        {"export_ms", stage(&StageTimings::export_ms)}}},
      {"levels", levels_of(reports.front())},
      {"config", reports.front().config_resolved.to_json()},
  };
  if (!warmup_reports.empty()) json["cold_total_ms"] = warmup_reports.front().total_ms;
  return json;
}

BenchResult run_bench(Session& session, const GenerateRequest& request, bool strict,
                      const BenchPlan& plan) {
  ScratchFolder folder;
  GenerateRequest measured = request;
  measured.config.erase("output");
  measured.config["output_dir"] = folder.path();
  BenchResult result;
  result.warmup_reports = run_many(session, measured, strict, plan.warmup, 1);
  double start = now_ms();
  result.reports = run_many(session, measured, strict, plan.total, plan.concurrency);
  result.wall_ms = now_ms() - start;
  return result;
}

}  // namespace omnirt::cli
