#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>

#include "base/clock.hpp"
#include "catalogue/support.hpp"
#include "device/commands.hpp"

namespace omnirt::testing {
namespace {
namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// Records what happens between the ends of two steps.
class StepProfiler {
 public:
  explicit StepProfiler(bool device) {
    if (device) activities_.insert(ActivityType::CUDA);
  }
  // Loads the profiling library, which takes a while the first time.
  void prepare() { profiler::prepareProfiler(config_, activities_); }
  void begin() {
    profiler::enableProfiler(config_, activities_, {at::RecordScope::FUNCTION});
    began_ = now_ms();
  }
  void end() {
    step_ms_ = now_ms() - began_;
    result_ = profiler::disableProfiler();
  }
  bool done() const { return result_ != nullptr; }
  double step_ms() const { return step_ms_; }
  profiler::ProfilerResult& result() const { return *result_; }

 private:
  ProfilerConfig config_{ProfilerState::KINETO, /*report_input_shapes=*/true};
  std::set<ActivityType> activities_{ActivityType::CPU};
  std::unique_ptr<profiler::ProfilerResult> result_;
  double began_ = 0, step_ms_ = 0;
};

struct Total {
  uint64_t calls = 0;
  uint64_t ns = 0;
};

// Calls and time by name and device, the longest first.
Json totals_of(const profiler::ProfilerResult& result) {
  std::map<std::pair<std::string, std::string>, Total> totals;
  for (const profiler::KinetoEvent& event : result.events()) {
    Total& total = totals[{event.name(), c10::DeviceTypeName(event.deviceType(), true)}];
    ++total.calls;
    total.ns += event.durationNs();
  }
  std::vector<Json> rows;
  for (const auto& [key, total] : totals) {
    rows.push_back({{"name", key.first},
                    {"on", key.second},
                    {"calls", total.calls},
                    {"ms", static_cast<double>(total.ns) / 1e6}});
  }
  std::ranges::sort(rows, std::greater<>(),
                    [](const Json& row) { return row["ms"].get<double>(); });
  constexpr size_t most = 200;
  rows.resize(std::min(rows.size(), most));
  return rows;
}

}  // namespace

int run_profile(const ProfileOptions& options) {
  const GenerateRequest request = parse_request(read_json_file(options.request));
  const int64_t steps = request.config.value("num_inference_steps", int64_t{4});
  StepProfiler profiler(request.backend == "cuda");
  profiler.prepare();
  TemporaryFolder folder;
  GenerateRequest written = request;
  written.config["output_dir"] = folder.path().string();
  RunHooks hooks;
  int64_t ended = 0;
  hooks.on_step = [&](const LoopProgress&, const Tensor&) {
    ++ended;
    if (ended == steps - 1) profiler.begin();
    if (ended == steps) profiler.end();
  };
  RunReport report;
  engine().run(written, {}, hooks, report);
  if (!profiler.done()) throw std::runtime_error("the run had fewer steps than it was asked for");
  if (!options.trace.empty()) profiler.result().save(options.trace);
  std::cout << Json{{"step_ms", profiler.step_ms()}, {"ops", totals_of(profiler.result())}}.dump()
            << std::endl;
  return 0;
}

}  // namespace omnirt::testing
