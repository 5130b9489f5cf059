#include "serve/run_job.hpp"

#include <algorithm>

#include "io/image.hpp"
#include "request/request_text.hpp"
#include "serve/base64.hpp"
#include "serve/disk_room.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

// Larger previews are left to who fetches the artifacts.
constexpr size_t max_preview_bytes = 512 << 10;
constexpr io::EncodeOptions preview_encoding{.quality = 80};

Json read_stored(const std::string& text) {
  return parse_json(text, "the stored request", max_job_request_bytes);
}

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

std::string job_request_text(const GenerateRequest& request, bool strict,
                             const std::string& traceparent) {
  Json stored = {{"request", request.to_json()}, {"strict", strict}};
  if (!traceparent.empty()) stored["traceparent"] = traceparent;
  return stored.dump(-1, ' ', false, Json::error_handler_t::replace);
}

PathHider::PathHider(std::vector<fs::path> roots, std::vector<std::string> addresses)
    : addresses_(std::move(addresses)) {
  for (const fs::path& root : roots) {
    std::error_code error;
    for (const fs::path& form : {fs::absolute(root, error), fs::weakly_canonical(root, error)}) {
      std::string text = form.lexically_normal().string();
      while (text.size() > 1 && text.back() == '/') text.pop_back();
      if (text.size() > 1) roots_.push_back(text + "/");
    }
  }
  std::sort(roots_.begin(), roots_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  roots_.erase(std::unique(roots_.begin(), roots_.end()), roots_.end());
}

std::string PathHider::hide(std::string text) const {
  constexpr std::string_view in_place = "the broker";
  for (const std::string& address : addresses_) {
    for (size_t at = text.find(address); at != std::string::npos; at = text.find(address, at))
      text.replace(at, address.size(), in_place);
  }
  for (const std::string& root : roots_) {
    for (size_t at = text.find(root); at != std::string::npos; at = text.find(root, at))
      text.erase(at, root.size());
  }
  return text;
}

Json PathHider::hide(Json json) const {
  if (json.is_string()) return hide(json.get<std::string>());
  if (json.is_structured()) {
    for (auto& [name, value] : json.items()) value = hide(std::move(value));
  }
  return json;
}

std::vector<Finding> PathHider::hide(std::vector<Finding> findings) const {
  for (Finding& finding : findings) {
    for (std::string* text : {&finding.field, &finding.value, &finding.message, &finding.way_out})
      *text = hide(std::move(*text));
  }
  return findings;
}

JobOutcome RunOnSession::operator()(const Job& job, RunControl& control) const {
  const Json stored = read_stored(job.request);
  RunTrace trace(traces_, stored.value("traceparent", ""), job, place_);
  try {
    JobOutcome made = run(job, stored, control, trace);
    trace.end("");
    return made;
  } catch (const Error& error) {
    const std::string text = hider_.hide(std::string(error.what()));
    trace.end(text);
    if (text == error.what()) throw;
    throw Error(error.kind(), text, error.exit_code());
  } catch (const std::exception& error) {
    trace.end(hider_.hide(std::string(error.what())));
    throw;
  }
}

JobOutcome RunOnSession::run(const Job& job, const Json& stored, RunControl& control,
                             RunTrace& trace) const {
  const GenerateRequest request = parse_request(stored.at("request"));
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
  RunReport report;
  try {
    session_.run(request, stored.at("strict").get<bool>(), control.cancel(), hooks, report);
  } catch (const InvalidRequest& error) {
    if (on_report_) on_report_(report);
    const std::vector<Finding> findings = hider_.hide(error.findings());
    throw_servers_own(findings, files_.folder_of(job.id));
    throw InvalidRequest(findings);
  } catch (...) {
    if (on_report_) on_report_(report);
    throw;
  }
  if (on_report_) on_report_(report);
  return outcome(job, report);
}

// The report says where this machine keeps things in few places, which go; what is left in texts is
// hidden.
JobOutcome RunOnSession::outcome(const Job& job, const RunReport& report) const {
  files_.sync(job.id);
  Json artifacts = Json::array();
  JobOutcome made;
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
  Json told = report.to_json();
  for (const char* name : {"model_path", "inputs_resolved", "previews", "artifacts", "state",
                           "resumed_from", "backends_passed_over"})
    told.erase(name);
  for (const char* name : {"output_dir", "preview_dir", "preview_name"})
    told["config_resolved"].erase(name);
  // As its client may send it again: what the server added is the server's.
  Json asked = read_stored(job.request).at("request");
  for (const char* name : {"memory_budget", "output_dir", "preview_dir", "preview_name", "resume",
                           "state", "stop_after"})
    asked["config"].erase(name);
  const Json result = {{"artifacts", artifacts},
                       {"report", hider_.hide(std::move(told))},
                       {"request", hider_.hide(std::move(asked))}};
  made.result = result.dump(-1, ' ', false, Json::error_handler_t::replace);
  made.bytes = files_.bytes_of(job.id);
  return made;
}

}  // namespace omnirt::serve
