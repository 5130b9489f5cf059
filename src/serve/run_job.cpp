#include "serve/run_job.hpp"

#include <filesystem>

#include "io/image.hpp"
#include "serve/base64.hpp"
#include "serve/disk_room.hpp"
#include "serve/problem.hpp"
#include "serve/request_words.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

// Larger previews are left to who fetches the artifacts.
constexpr size_t max_preview_bytes = 512 << 10;
constexpr io::EncodeOptions preview_encoding{.quality = 80};

JobProgress progress_of(const SessionProgress& at) {
  return {at.stage, static_cast<int64_t>(at.step), static_cast<int64_t>(at.steps)};
}

std::string preview_of(const Job& job, const SessionPreview& preview) {
  const std::string bytes =
      io::encode_image(io::to_rgb(preview.image), io::ImageFormat::jpeg, {}, preview_encoding);
  if (bytes.size() > max_preview_bytes) return "";
  return Json{{"job", job.id},          {"step", preview.step}, {"steps", preview.steps},
              {"index", preview.place}, {"mime", "image/jpeg"}, {"data", base64_of(bytes)}}
      .dump();
}

}  // namespace

Json public_report(Json report) {
  for (const char* name : {"model_path", "inputs_resolved", "previews", "artifacts", "state",
                           "resumed_from", "backends_passed_over"})
    report.erase(name);
  for (const char* config : {"config", "config_resolved"}) {
    if (!report.contains(config)) continue;
    for (const std::string& name : refused_config_keys()) report[config].erase(name);
  }
  return report;
}

JobOutcome RunOnSession::operator()(const Job& job, RunControl& control) const {
  PlacedRequest placed = place_request(job.request, files_.folder_of(job.id), models_);
  if (!options_.memory_budget.empty())
    placed.request.config["memory_budget"] = options_.memory_budget;
  if (const DeviceId* device = control.device()) placed.request.backend = device->text();
  return {text_of(run(job, placed, control)), files_.bytes_of(job.id)};
}

Json RunOnSession::run(const Job& job, const PlacedRequest& placed, RunControl& control) const {
  RunTrace trace(options_.traces, placed.traceparent, job, options_.place);
  RunReport report;
  try {
    run_traced(job, placed, control, trace, report);
    Json made = result_of(job, placed, report);
    trace.end("");
    return made;
  } catch (const std::exception& error) {
    trace.end(error.what());
    if (const auto* invalid = dynamic_cast<const InvalidRequest*>(&error))
      throw_servers_own(invalid->findings(), files_.folder_of(job.id));
    throw;
  }
}

void RunOnSession::run_traced(const Job& job, const PlacedRequest& placed, RunControl& control,
                              RunTrace& trace, RunReport& report) const {
  SessionHooks hooks;
  hooks.on_progress = [&](const SessionProgress& at) {
    const JobProgress progress = progress_of(at);
    trace.at(progress);
    control.at(progress);
    trace.resumes();
  };
  hooks.on_preview = [&](const SessionPreview& preview) {
    std::string data = preview_of(job, preview);
    if (!data.empty()) control.preview(std::move(data));
  };
  hooks.shared_turn = [&] { return control.shared_turn(); };
  if (options_.validated) hooks.validated = options_.validated->take(job.id);
  const auto tell = [&] {
    if (options_.on_report) options_.on_report(report);
  };
  try {
    session_.run(placed.request, placed.strict, control.cancel(), hooks, report);
  } catch (...) {
    tell();
    throw;
  }
  tell();
}

Json RunOnSession::result_of(const Job& job, const PlacedRequest& placed,
                             const RunReport& report) const {
  files_.sync(job.id);
  Json artifacts = Json::array();
  for (const ArtifactReport& artifact : report.artifacts) {
    std::error_code error;
    const auto bytes = static_cast<int64_t>(fs::file_size(artifact.path, error));
    if (error) throw RunFailed("an artifact is not where the run left it");
    artifacts.push_back({{"name", fs::path(artifact.path).filename().string()},
                         {"mime", artifact.mime},
                         {"kind", artifact.kind},
                         {"width", artifact.width},
                         {"height", artifact.height},
                         {"seed", artifact.seed},
                         {"bytes", bytes}});
  }
  // As its client may send it again: what the server added is the server's.
  GenerateRequest sent = placed.request;
  sent.backend = placed.backend;
  Json asked = sent.to_json();
  asked["model"] = placed.model;
  if (placed.backend.empty()) asked.erase("backend");
  asked["config"].erase("memory_budget");
  for (const std::string& name : refused_config_keys()) asked["config"].erase(name);
  return {
      {"artifacts", artifacts}, {"report", public_report(report.to_json())}, {"request", asked}};
}

}  // namespace omnirt::serve
