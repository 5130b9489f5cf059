// Requests that are run: checked, accepted as jobs, and waited for.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>

#include <algorithm>

#include "io/file.hpp"
#include "serve/api.hpp"
#include "serve/base64.hpp"
#include "serve/disk_room.hpp"
#include "serve/job_work.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

// A seed that is not given is drawn now, so that a job that is run again makes the same image.
void settle_seed(GenerateRequest& request) {
  auto it = request.config.find("seed");
  const bool given = it != request.config.end() && !it->is_null() && *it != "random" && *it != -1;
  if (given) return;
  uint32_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != sizeof seed)
    throw RunFailed("the system has no random numbers");
  request.config["seed"] = seed;
}

// What cannot be read at all is a request of no form.
ServedRequest read_body(const std::string& type, const std::string& body,
                        const ServedModels& models) {
  try {
    return read_served_body(type, body, models);
  } catch (const InvalidFile& error) {
    throw HttpRefusal(400, "NoJson", "the request is no JSON: " + error.findings().front().message);
  }
}

// Removes what is kept of a job unless it was accepted.
class FilesUntilAccepted {
 public:
  FilesUntilAccepted(JobFiles& files, ValidatedJobs* validated, std::string id)
      : files_(files), validated_(validated), id_(std::move(id)) {}
  ~FilesUntilAccepted() {
    if (accepted) return;
    files_.remove(id_);
    if (validated_) validated_->take(id_);
  }
  FilesUntilAccepted(const FilesUntilAccepted&) = delete;
  FilesUntilAccepted& operator=(const FilesUntilAccepted&) = delete;
  bool accepted = false;

 private:
  JobFiles& files_;
  ValidatedJobs* validated_;
  std::string id_;
};

// The warnings about keys that the run does not take, but for those in `may`.
std::vector<Finding> without_effect(const CheckReport& checked, const std::set<std::string>& may) {
  constexpr std::string_view section = "config.";
  std::vector<Finding> found;
  for (const Finding& warning : checked.warnings) {
    if (!warning.field.starts_with(section)) continue;
    const std::string key = warning.field.substr(section.size());
    const bool nested = key.find('.') != std::string::npos;
    if (nested || may.contains(key)) continue;
    if (!checked.config_resolved.find(key)) found.push_back(warning);
  }
  return found;
}

}  // namespace

ServedRequest Api::read(const HttpRequest& request) const {
  require_type(request, {json_media, form_media});
  ServedRequest served = read_body(request.header("content-type"), request.body, parts_.models);
  check_priority(request, served);
  return served;
}

void Api::check_priority(const HttpRequest& request, const ServedRequest& served) const {
  const ApiKey* key = key_of(request);
  if (key && served.priority > key->priority)
    throw InvalidRequest({"priority", name_of(served.priority), "is more than this key may ask for",
                          fmt::format("give {} or lower", name_of(key->priority))});
}

GenerateRequest Api::placed(const ServedRequest& served, const std::string& id) const {
  GenerateRequest request = served.in_folder(parts_.files.folder_of(id));
  if (!limits_.memory_budget.empty()) request.config["memory_budget"] = limits_.memory_budget;
  // Requests are checked for the first device: the others are of the same backend.
  if (!limits_.devices.empty()) request.backend = limits_.devices.front().text();
  return request;
}

void Api::refuse_device(const GenerateRequest& request) const {
  if (limits_.devices.empty()) return;
  constexpr const char* why = "the server chooses the device of each job";
  if (!request.backend.empty() && request.backend != "auto")
    throw InvalidRequest({"backend", request.backend, why, "omit it"});
  if (request.config.contains("device_map"))
    throw InvalidRequest(
        {"config.device_map", shown(request.config["device_map"]), why, "omit it"});
}

// Settles what is the server's to say, and writes the files that came with the request.
void Api::receive(ServedRequest& served, const std::string& id) {
  const Json& config = served.request.config;
  if (!limits_.memory_budget.empty() && config.contains("memory_budget"))
    throw InvalidRequest({"config.memory_budget", shown(config["memory_budget"]),
                          "is the server's to say", "omit it"});
  refuse_device(served.request);
  settle_seed(served.request);
  parts_.files.begin(id);
  for (const SentFile& file : served.files) parts_.files.write(id, file.name, file.bytes);
  hold_adapters(served.request, id);
}

// The errors of a request whose config were another one.
std::vector<Finding> Api::errors_with(const ServedRequest& served, const std::string& id,
                                      const Json& config) const {
  GenerateRequest probe = placed(served, id);
  probe.config.update(config);
  return parts_.session.check(probe, /*strict=*/false).errors;
}

// A distilled model refuses every scale but its own. What is out of range stays an error.
void Api::drop_guidance(ServedRequest& served, const std::string& id) const {
  constexpr const char* key = "guidance_scale";
  if (!served.request.config.contains(key)) return;
  const auto errors = errors_with(served, id, {{key, 2.0}});
  const bool refused = std::any_of(errors.begin(), errors.end(), [](const Finding& error) {
    return error.field == std::string("config.") + key;
  });
  if (refused) served.request.config.erase(key);
}

// To the finest grid of those that models have which the model takes.
void Api::round_sizes(ServedRequest& served, const std::string& id) const {
  for (int64_t grid : {8, 16, 32, 64}) {
    Json rounded = served.request.config;
    bool is_whole = true;
    for (const char* key : {"width", "height", "hires_width", "hires_height"}) {
      auto it = rounded.find(key);
      if (it == rounded.end() || !it->is_number_integer() || *it < grid) continue;
      const auto side = it->get<int64_t>();
      is_whole = is_whole && side % 64 == 0;
      *it = side - side % grid;
    }
    if (is_whole) return;
    const auto errors = errors_with(served, id, rounded);
    const bool refused = std::any_of(errors.begin(), errors.end(), [](const Finding& error) {
      return error.field.ends_with("width") || error.field.ends_with("height");
    });
    if (refused) continue;
    served.request.config = std::move(rounded);
    return;
  }
}

void Api::check_size(const ConfigValues& config) const {
  std::vector<Finding> findings;
  const int64_t pixels = settled_number(config, "width", 0) * settled_number(config, "height", 0);
  if (pixels > limits_.max_pixels)
    findings.push_back({"config.width, config.height", fmt::format("{} pixels", pixels),
                        fmt::format("this server makes at most {}", limits_.max_pixels),
                        "give a smaller size"});
  const int64_t images = settled_number(config, "num_images_per_prompt", 1);
  if (images > limits_.max_images)
    findings.push_back({"config.num_images_per_prompt", fmt::format("{}", images),
                        fmt::format("this server makes at most {}", limits_.max_images),
                        "send several requests"});
  if (!findings.empty()) throw InvalidRequest(findings);
}

// The validation of the command line, with its findings; then the server's own limits.
Submission Api::check(const ServedRequest& served, const std::string& id,
                      const HttpRequest& asked) {
  std::shared_ptr<const ValidatedRequest> validated;
  const CheckReport checked =
      parts_.session.check(placed(served, id), served.strict, Files::always, &validated);
  refuse_errors(checked);
  if (served.all_take_effect) {
    if (auto unused = without_effect(checked, served.may_lack_effect); !unused.empty())
      throw InvalidRequest(unused);
  }
  const ConfigValues& config = checked.config_resolved;
  check_size(config);
  Submission submission;
  submission.id = id;
  submission.model = served.request.model;
  submission.work = JobWork::of(checked).text();
  submission.request = job_request_text(
      served, traceparent_of({asked.trace.trace_id, asked.span, asked.trace.sampled}));
  submission.priority = served.priority;
  submission.steps = settled_number(config, "num_inference_steps", 1);
  submission.deadline_in_ms = served.deadline_in_ms;
  if (parts_.validated) parts_.validated->keep(id, std::move(validated));
  return submission;
}

void Api::refuse_errors(const CheckReport& checked) const {
  if (checked.ok) return;
  throw_servers_own(checked.errors, parts_.state);
  throw InvalidRequest(checked.errors);
}

bool Api::has_room(uint64_t bytes) const {
  return has_disk_room(parts_.state, limits_.reserved_disk_bytes + bytes);
}

void Api::require_room(const HttpRequest& request) const {
  if (!has_room(request.body.size())) throw DiskFull();
}

Api::Accepted Api::accept(const HttpRequest& request, ServedRequest served) {
  require_room(request);
  const std::string id = random_id();
  FilesUntilAccepted files(parts_.files, parts_.validated, id);
  receive(served, id);
  if (served.rounds_sizes) round_sizes(served, id);
  if (served.may_lack_effect.contains("guidance_scale")) drop_guidance(served, id);
  Submission submission = check(served, id, request);
  submission.client = client_of(request);
  const ApiKey* key = key_of(request);
  submission.client_jobs = key ? key->jobs : 0;
  submission.bytes = parts_.files.bytes_of(id);
  submission.waited_for = !served.async;
  Accepted accepted{parts_.jobs.submit(submission), served.async};
  files.accepted = true;
  return accepted;
}

void Api::generate(const Exchange& exchange, const Values&) {
  const Accepted accepted = accept(exchange->request(), read(exchange->request()));
  const std::string& id = accepted.job.job.id;
  if (!accepted.async) {
    return wait_for(exchange, id, [this, exchange](const JobView& view) {
      respond(exchange, result_of(exchange->request(), view));
    });
  }
  HttpResponse response = json_response(202, job_json(accepted.job, false));
  response.headers.emplace_back("Location", "/v1/jobs/" + id);
  respond(exchange, std::move(response));
}

void Api::cancel_left(const std::string& id) {
  try {
    parts_.jobs.cancel(id);
  } catch (const std::exception& error) {
    spdlog::error("job {} is not cancelled: {}", id, error.what());
  }
}

// The job ends with its connection, and the connection waits for the job.
void Api::wait_for(const Exchange& exchange, const std::string& id,
                   std::function<void(const JobView&)> ended, JobEvents::Listener other) {
  exchange->on_closed([this, id] { later([this, id] { cancel_left(id); }); });
  auto finish = [this, exchange, id, ended = std::move(ended)] {
    const std::string& request = exchange->request().id;
    try {
      if (auto view = parts_.jobs.find(id)) return ended(*view);
      respond(exchange, problem(500, "internal-error", "the job is gone", request));
    } catch (const std::exception& error) {
      spdlog::error("request {}: {}", request, error.what());
      respond(exchange, problem(500, "internal-error", "the result cannot be read", request));
    }
  };
  parts_.jobs.listen(
      id, -1, [this, finish = std::move(finish), other = std::move(other)](const JobEvent& event) {
        if (event.last)
          later(finish);
        else if (other)
          other(event);
      });
}

// With each artifact's bytes, as far as they may be within an answer.
Json Api::with_data(const JobView& view, size_t most_bytes) const {
  Json json = job_json(view, true);
  if (!json.contains("artifacts")) return json;
  size_t left = most_bytes;
  for (Json& each : json["artifacts"]) {
    const auto bytes = each["bytes"].get<size_t>();
    if (bytes > left) continue;
    left -= bytes;
    const auto path = parts_.files.path_of(view.job.id, each["name"].get<std::string>());
    each["data"] = base64_of(io::read_file(path, bytes));
  }
  return json;
}

// The image itself where the client takes images and there is one; else all with their data.
HttpResponse Api::result_of(const HttpRequest& request, const JobView& view) const {
  if (view.job.state != JobState::done) return problem_of_job(view.job, request.id);
  const bool takes_images = request.header("accept").starts_with("image/");
  if (takes_images) {
    const Json json = job_json(view, false);
    if (json.contains("artifacts") && json["artifacts"].size() == 1)
      return artifact(request, json, "0");
  }
  return json_response(200, with_data(view));
}

void Api::validate(const Exchange& exchange, const Values&) {
  ServedRequest served = read(exchange->request());
  require_room(exchange->request());
  const std::string id = random_id();
  FilesUntilAccepted files(parts_.files, parts_.validated, id);
  receive(served, id);
  const CheckReport checked = parts_.session.check(placed(served, id), served.strict);
  refuse_errors(checked);
  check_size(checked.config_resolved);
  respond(exchange, json_response(200, public_report(checked.to_json())));
}

}  // namespace omnirt::serve
