#include "serve/broker/run_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/file.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

constexpr const char* state_name = "state.safetensors";
constexpr const char* state_made = "made.safetensors";  // while the other is read
constexpr const char* parts_name = "parts.json";
constexpr size_t max_parts_bytes = 256 << 10;

// What of a report a later part's report repeats, for the whole run.
Json part_of(const RunReport& report, const std::string& worker) {
  const Json told = report.to_json();
  Json part = {{"worker", worker}};
  for (const char* name : {"workflow", "backend", "timings", "denoise_steps_ms", "fallbacks"}) {
    if (told.contains(name)) part[name] = told[name];
  }
  return part;
}

Json earlier_parts(const FileBytes& given) {
  auto it = given.find(parts_name);
  if (it == given.end()) return Json::array();
  Json parts = parse_json(it->second, "the parts of a run", max_parts_bytes);
  return parts.is_array() ? parts : Json::array();
}

// The stage that a part ends with, as stop_after names it.
const char* last_stage(WorkPart part) {
  return part == WorkPart::encode ? "prepare_latents" : "denoise_loop";
}

}  // namespace

RunParts::RunParts(Session& session, JobFiles& files, const ServedModels& models, Options options)
    : session_(session), files_(files), models_(models), options_(std::move(options)) {}

// The last part that is run here, where another follows elsewhere.
std::optional<WorkPart> RunParts::cut_after(WorkPart part) const {
  if (part == WorkPart::whole) return std::nullopt;
  while (part != WorkPart::decode) {
    const auto next = static_cast<WorkPart>(static_cast<int>(part) + 1);
    if (!options_.parts.contains(next)) return part;
    part = next;
  }
  return std::nullopt;
}

PlacedRequest RunParts::place(const SharedJob& shared, const FileBytes& given) {
  const Job& job = shared.job;
  if (!is_file_name(job.id)) throw InvalidRequest({"id", job.id, "is no id of a job", ""});
  files_.begin(job.id);
  const fs::path folder = files_.folder_of(job.id);
  for (const auto& [name, bytes] : given) {
    if (!is_file_name(name)) throw InvalidRequest({"files", name, "is no name of a file", ""});
    files_.write(job.id, name, bytes);
  }
  PlacedRequest placed = place_request(job.request, folder, models_);
  Json& config = placed.request.config;
  if (given.contains(state_name)) config["resume"] = (folder / state_name).native();
  if (!options_.memory_budget.empty()) config["memory_budget"] = options_.memory_budget;
  std::string& backend = placed.request.backend;
  if (backend.empty() || backend == "auto") backend = options_.device;
  if (auto last = cut_after(shared.part)) {
    config["stop_after"] = last_stage(*last);
    config["state"] = (folder / state_made).native();
  }
  return placed;
}

// All else that is wrong is the run's to say.
bool RunParts::can_be_cut(const PlacedRequest& placed) {
  const CheckReport checked = session_.check(placed.request, placed.strict);
  return std::none_of(checked.errors.begin(), checked.errors.end(),
                      [](const Finding& finding) { return finding.field == "config.stop_after"; });
}

FileBytes RunParts::collect(const std::string& job, const std::vector<std::string>& names) const {
  FileBytes all;
  int64_t left = options_.max_bytes;
  for (const std::string& name : names) {
    const fs::path path = files_.folder_of(job) / name;
    std::error_code error;
    const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
    if (error) throw RunFailed("a file is not where the run left it");
    left -= bytes;
    if (left < 0) {
      throw RunFailed(fmt::format(
          "what the run made is more than the {} bytes that this worker may send (--max-result)",
          options_.max_bytes));
    }
    all[name] = io::read_file(path, static_cast<size_t>(bytes));
  }
  return all;
}

RunParts::Made RunParts::operator()(const SharedJob& shared, const FileBytes& given,
                                    const std::string& worker, RunControl& control) {
  const Job& job = shared.job;
  const PlacedRequest placed = place(shared, given);
  const bool cut = placed.request.config.contains("stop_after");
  Made made;
  if (cut && !can_be_cut(placed)) {
    made.needs_whole = true;
    return made;
  }
  Json parts = earlier_parts(given);
  const auto on_report = [&](const RunReport& report) {
    parts.push_back(part_of(report, worker));
    if (options_.on_report) options_.on_report(report);
  };
  const RunOnSession runs(session_, files_, models_,
                          {.on_report = on_report,
                           .traces = options_.traces,
                           .place = {.worker = worker,
                                     .part = name_of(shared.part),
                                     .continues = given.contains(state_name)}});
  Json result = runs.run(job, placed, control);
  std::vector<std::string> names;
  if (cut) {
    made.next = static_cast<WorkPart>(static_cast<int>(*cut_after(shared.part)) + 1);
    made.files = collect(job.id, {state_made});
    made.files[state_name] = std::move(made.files.extract(state_made).mapped());
    made.files[parts_name] = text_of(parts);
    for (const auto& [name, bytes] : given) {
      if (name != state_name && name != parts_name) made.files[name] = bytes;
    }
    return made;
  }
  for (const Json& artifact : result["artifacts"]) names.push_back(artifact["name"]);
  made.files = collect(job.id, names);
  for (const auto& [name, bytes] : made.files) made.bytes += static_cast<int64_t>(bytes.size());
  if (parts.size() > 1) result["report"]["parts"] = parts;
  made.result = text_of(result);
  return made;
}

}  // namespace omnirt::serve
