#include <algorithm>
#include <array>
#include <iostream>

#include "catalogue/catalogue.hpp"
#include "catalogue/golden_parity.hpp"
#include "device/commands.hpp"

namespace omnirt::testing {
namespace {

constexpr int device_lost = 86;

// After these CUDA refuses all that a process asks.
bool is_lost(const Json& record) {
  constexpr std::array words{"illegal memory access", "misaligned address", "device-side assert",
                             "unspecified launch failure", "illegal instruction"};
  const std::string error = record.value("error", "");
  return std::ranges::any_of(
      words, [&](const char* word) { return error.find(word) != std::string::npos; });
}

void say(const Json& line) {
  std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

std::string refusal_of(const std::string& backend) {
  for (const BackendInfo& info : builtin_catalogue().backends) {
    if (info.name != backend) continue;
    const Availability found = availability(info);
    return found.available ? "" : found.reason;
  }
  return "there is no such backend";
}

struct Run {
  GoldenCase golden;
  ParitySetting setting;
};

void add(std::vector<Run>& runs, const GoldenCase& golden, const GoldensOptions& options) {
  if (golden.name.find(options.filter) == std::string::npos) return;
  for (const std::string& dtype : options.dtypes) {
    for (const std::string& level : options.levels)
      runs.push_back({golden, {options.backend, level, dtype}});
  }
}

// One run of each model at every setting, then the others.
std::vector<Run> runs_of(const GoldensOptions& options) {
  std::vector<Run> runs;
  for (const GoldenCase& golden : options.first ? one_of_each_model() : golden_cases())
    add(runs, golden, options);
  return runs;
}

}  // namespace

int run_goldens(const GoldensOptions& options) {
  if (const std::string reason = refusal_of(options.backend); !reason.empty()) {
    say({{"skipped", reason}, {"backend", options.backend}});
    return 0;
  }
  const std::vector<Run> all = runs_of(options);
  size_t place = 0;
  for (size_t i = options.shard; i < all.size(); i += options.shards) {
    if (place++ < options.after) continue;
    const auto& [golden, setting] = all[i];
    say({{"begins", golden.name}, {"level", setting.level}, {"dtype", setting.dtype}});
    const Json record = golden_parity(golden, setting);
    say(record);
    if (is_lost(record)) return device_lost;
  }
  return 0;
}

}  // namespace omnirt::testing
