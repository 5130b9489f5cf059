#include "catalogue/golden_parity.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;

constexpr double equal_db = 200;  // stands for equal tensors, whose PSNR has no number

// The plainest run of a model first; others by name.
bool comes_before(const GoldenCase& a, const GoldenCase& b) {
  auto rank = [](const GoldenCase& golden) {
    const bool plain = golden.name.ends_with("/text2image") || golden.name.ends_with("/stock");
    return std::tuple(golden.model, !plain, golden.name);
  };
  return rank(a) < rank(b);
}

void add_runs(const fs::path& model, std::vector<GoldenCase>& all) {
  const std::string name = model.filename().string();
  for (const auto& entry : fs::directory_iterator(model)) {
    const fs::path& run = entry.path();
    if (fs::exists(run / "request.json") && fs::exists(run / "golden.safetensors"))
      all.push_back({name, name + "/" + run.filename().string(), run});
  }
}

// Sorted, the first of each model apart from its others.
std::pair<std::vector<GoldenCase>, std::vector<GoldenCase>> sorted_cases() {
  std::vector<GoldenCase> all, first, others;
  for (const char* kind : {"tests/goldens/pipelines", "tests/goldens/videos"}) {
    if (!fs::exists(source_path(kind))) continue;
    for (const auto& model : fs::directory_iterator(source_path(kind))) {
      if (fs::is_directory(model.path() / "model")) add_runs(model.path(), all);
    }
  }
  std::ranges::sort(all, comes_before);
  for (GoldenCase& golden : all) {
    const bool again = !first.empty() && first.back().model == golden.model;
    (again ? others : first).push_back(std::move(golden));
  }
  return {std::move(first), std::move(others)};
}

struct Compared {
  std::string what;
  double psnr_db = 0;
};

Compared compare(const Outcome& outcome, const std::map<std::string, Tensor>& golden) {
  auto image = golden.find("image");
  if (image != golden.end() && outcome.image.defined())
    return {"image", psnr(outcome.image, image->second, 1.0)};
  const size_t last = outcome.latents_after.size();
  auto latents = golden.find("latents_after_step_" + std::to_string(last - 1));
  if (last == 0 || latents == golden.end())
    throw std::runtime_error("the golden has neither an image nor the last latents");
  const Tensor& wanted = latents->second;
  const double range = (wanted.max() - wanted.min()).item<double>();
  return {"latents", psnr(outcome.latents_after.back(), wanted, range)};
}

Json levels_of(const RunReport& report) {
  Json levels = Json::object();
  for (const TimelineReport& timeline : report.backend_timeline) {
    for (const AttemptReport& attempt : timeline.attempts) {
      if (attempt.selected) levels[timeline.component] = attempt.level;
    }
  }
  return levels;
}

Json fallbacks_of(const RunReport& report) {
  Json all = Json::array();
  for (const FallbackReport& each : report.fallbacks) {
    all.push_back({{"component", each.component},
                   {"level", each.level},
                   {"kind", each.kind},
                   {"count", each.count}});
  }
  return all;
}

GenerateRequest request_of(const GoldenCase& golden, const ParitySetting& setting) {
  GenerateRequest request = folder_request(golden.folder);
  request.backend = setting.backend;
  request.config["level"] = setting.level;
  request.config["dtype"] = setting.dtype;
  if (request.task == "image2video") request.config["output_format"] = "frames";
  return request;
}

void run_into(Json& record, const GoldenCase& golden, const ParitySetting& setting) {
  const Outcome outcome = run(request_of(golden, setting));
  const Compared compared = compare(outcome, read_tensors(golden.folder / "golden.safetensors"));
  record["compared"] = compared.what;
  record["psnr_db"] = std::min(compared.psnr_db, equal_db);
  record["levels"] = levels_of(outcome.report);
  record["fallbacks"] = fallbacks_of(outcome.report);
  if (outcome.report.memory.tensor_peak_bytes)
    record["peak_bytes"] = *outcome.report.memory.tensor_peak_bytes;
  // A NaN passes no comparison.
  record["passed"] =
      compared.psnr_db >= parity_floor_db(setting.dtype) && outcome.report.fallbacks.empty();
}

}  // namespace

std::vector<GoldenCase> golden_cases() {
  auto [all, others] = sorted_cases();
  std::ranges::move(others, std::back_inserter(all));
  return all;
}

std::vector<GoldenCase> one_of_each_model() {
  return sorted_cases().first;
}

double parity_floor_db(const std::string& dtype) {
  return dtype == "fp32" ? 50 : 35;
}

Json golden_parity(const GoldenCase& golden, const ParitySetting& setting) {
  Json record = {{"golden", golden.name},
                 {"backend", setting.backend},
                 {"level", setting.level},
                 {"dtype", setting.dtype},
                 {"floor_db", parity_floor_db(setting.dtype)},
                 {"passed", false}};
  const double start = now_ms();
  try {
    run_into(record, golden, setting);
  } catch (const std::exception& thrown) {
    record["error"] = thrown.what();
  }
  record["seconds"] = std::round(now_ms() - start) / 1e3;
  return record;
}

}  // namespace omnirt::testing
