#include "serve/stored_record.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "serve/job_names.hpp"

namespace omnirt::serve {
namespace {

constexpr std::array<std::string_view, 3> event_types{"state", "progress", "preview"};
// A preview's image in base64, and its fields.
constexpr size_t max_event_bytes = size_t{1} << 20;

[[noreturn]] void refuse(const char* record, const std::string& field, const std::string& value) {
  throw InvalidFile({record + ("." + field), shown_name(value), "is not what this program writes",
                     "remove the record"});
}

// A media type that no browser runs as a page: SVG would be image/svg+xml. "" is sent as bytes.
bool is_media_type(std::string_view text) {
  if (text.empty() || text == "application/x-safetensors") return true;
  const size_t slash = text.find('/');
  const std::string_view kind = text.substr(0, slash);
  if (slash == std::string_view::npos || (kind != "image" && kind != "video" && kind != "audio"))
    return false;
  const std::string_view format = text.substr(slash + 1);
  return !format.empty() && format.size() < 32 && std::ranges::all_of(format, [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '-';
  });
}

void check_number(const char* field, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most) refuse("job", field, fmt::to_string(value));
}

void check_word(const char* field, const std::string& word) {
  if (word.size() > max_job_word_bytes) refuse("job", field, word);
}

bool is_number(const Json& artifact, const char* name) {
  auto it = artifact.find(name);
  return it != artifact.end() && it->is_number_integer();
}

// What a file of the job may be named and sent as follows from this.
void check_artifact(const Json& artifact) {
  if (!artifact.is_object()) refuse("result", "artifacts", artifact.type_name());
  const Json name = artifact.value("name", Json()), mime = artifact.value("mime", Json());
  if (!name.is_string() || !is_file_name(name.get_ref<const std::string&>()))
    refuse("result", "artifacts.name", shown(name));
  if (!mime.is_string() || !is_media_type(mime.get_ref<const std::string&>()))
    refuse("result", "artifacts.mime", shown(mime));
  if (!artifact.value("kind", Json()).is_string()) refuse("result", "artifacts.kind", "");
  for (const char* each : {"width", "height", "seed", "bytes"}) {
    if (!is_number(artifact, each)) refuse("result", std::string("artifacts.") + each, "");
  }
}

// Members that answers in the forms of other programs read.
void check_objects(const Json& parent, const std::string& path,
                   std::initializer_list<const char*> names) {
  for (const char* name : names) {
    auto it = parent.find(name);
    if (it == parent.end() || !it->is_object()) refuse("result", path + name, "");
  }
}

}  // namespace

void check_stored_job(const Job& job) {
  if (!is_job_id(job.id)) refuse("job", "id", job.id);
  check_word("client", job.client);
  check_word("model", job.model);
  check_word("work", job.work);
  check_word("reason_kind", job.reason.kind);
  check_number("steps", job.steps, 1, max_job_steps);
  check_number("attempts", job.attempts, 0, max_job_attempts);
  check_number("crashes", job.crashes, 0, max_job_attempts);
  check_number("number", job.number, 0, max_stored_number);
  check_number("created_ms", job.created_ms, 0, max_stored_number);
  check_number("deadline_ms", job.deadline_ms, 0, max_stored_number);
  check_number("started_ms", job.started_ms, 0, max_stored_number);
  check_number("ended_ms", job.ended_ms, 0, max_stored_number);
  check_number("bytes", job.bytes, 0, max_stored_number);
}

Json read_stored_result(const std::string& text) {
  Json result = parse_json(text, "result", max_job_result_bytes);
  if (!result.is_object()) refuse("result", "type", result.type_name());
  const Json& artifacts = result["artifacts"];
  if (!artifacts.is_array() || artifacts.empty() || artifacts.size() > max_job_files)
    refuse("result", "artifacts", artifacts.type_name());
  for (const Json& each : artifacts) check_artifact(each);
  check_objects(result, "", {"report", "request"});
  check_objects(result["report"], "report.", {"config_resolved"});
  check_objects(result["request"], "request.", {"inputs"});
  return result;
}

void settle_stored_result(Job& job) {
  if (job.state != JobState::done) return;
  try {
    read_stored_result(job.result);
  } catch (const InvalidFile& error) {
    spdlog::error("job {}: {}", shown_name(job.id), error.what());
    job.state = JobState::dead;
    job.reason = {"StoreFailed", "the stored result of this job cannot be read"};
    job.result.clear();
  }
}

void check_stored_event(const JobEvent& event) {
  if (std::ranges::find(event_types, event.type) == event_types.end())
    refuse("event", "k", event.type);
  if (event.number < 0 || event.number > max_stored_number)
    refuse("event", "n", fmt::to_string(event.number));
  if (event.last && event.type != "state") refuse("event", "l", event.type);
  const bool one_line =
      std::ranges::none_of(event.data, [](unsigned char each) { return each < ' '; });
  if (event.data.size() > max_event_bytes || !one_line) refuse("event", "d", event.data);
  const Json data = parse_json(event.data, "event.d", max_event_bytes);
  if (!data.is_object() || data.empty()) refuse("event", "d", event.data);
}

}  // namespace omnirt::serve
