// Adapters that clients send: kept, listed and deleted.
#include <fmt/format.h>

#include <algorithm>

#include "io/file.hpp"
#include "io/image.hpp"
#include "io/mapped_file.hpp"
#include "serve/adapter_store.hpp"
#include "serve/api.hpp"
#include "serve/problem.hpp"
#include "serve/request_files.hpp"
#include "serve/request_words.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

constexpr size_t most_findings = 8;
constexpr const char* probe_image = "probe.png";

// A request of a task with what it requires and the adapter; a ControlNet is compared with a model
// where there is an image for it.
GenerateRequest probe(const Json& task, const fs::path& path, bool controlnet) {
  const std::string image = (path.parent_path() / probe_image).string();
  GenerateRequest request;
  request.task = task["task"].get<std::string>();
  for (const Json& each : task["required_inputs"]) {
    const std::string name = each.get<std::string>();
    request.inputs[name] = is_text_input(name) ? "an image" : image;
  }
  if (controlnet) {
    request.inputs["control_image"] = image;
    request.components["controlnet"] = path.string();
  } else {
    request.adapters.push_back({{"path", path.string()}});
  }
  return request;
}

// What the model says of the adapter, or else the first of what it says.
Finding against(const std::vector<Finding>& errors, bool controlnet) {
  const char* field = controlnet ? "components.controlnet" : "adapters[0]";
  auto it = std::find_if(errors.begin(), errors.end(),
                         [&](const Finding& each) { return each.field.starts_with(field); });
  return it == errors.end() ? errors.front() : *it;
}

// Nothing where a task of the model takes it; else why not.
std::optional<Finding> refuse_adapter(Session& session, const std::string& model,
                                      const fs::path& path, bool controlnet) {
  std::optional<Finding> why;
  const Json described = session.model(model);
  for (const Json& task : described["tasks"]) {
    GenerateRequest request = probe(task, path, controlnet);
    request.model = model;
    const auto checked = session.check(request, false, Files::where_named);
    if (checked.ok) return std::nullopt;
    if (!why) why = against(checked.errors, controlnet);
  }
  return why.value_or(Finding{"model", model, "has no tasks", ""});
}

std::string kind_of(const Json& recognised) {
  const Json& kinds = recognised["adapter"]["kinds"];
  return kinds.empty() ? "lora" : kinds[0].get<std::string>();
}

}  // namespace

HttpProgram::BodyPlace Api::place_body(const HttpRequest& request, uint64_t bytes) const {
  if (!parts_.adapters || request.method != "POST" || request.path != adapters_path) return {};
  try {
    return {.file = parts_.adapters->place(bytes)};
  } catch (...) {
    return {.refused = in_form(request, problem_now(request.id))};
  }
}

// By the checks of requests: {kind, models}, the models that take it.
Json Api::describe_adapter(const fs::path& path, const AdapterUpload& upload) const {
  const bool controlnet = upload.is_controlnet();
  io::write_file(path.parent_path() / probe_image,
                 io::encode_image(io::Image::zeros(64, 64, 3), io::ImageFormat::png));
  Json models = Json::array();
  std::vector<Finding> findings;
  for (const auto& [name, given] : parts_.models.models) {
    const auto why = refuse_adapter(parts_.session, given, path, controlnet);
    if (!why)
      models.push_back(name);
    else if (findings.size() < most_findings)
      findings.push_back(
          {"file", upload.name, "model " + name + ": " + why->message, why->way_out});
  }
  if (models.empty()) throw InvalidRequest(findings);
  const std::string kind =
      controlnet ? "controlnet" : kind_of(parts_.session.recognise(path.string()));
  return {{"kind", kind}, {"models", models}};
}

void Api::add_adapter(const Exchange& exchange, const Values&) {
  const HttpRequest& request = exchange->request();
  if (!parts_.adapters)
    throw InvalidRequest(
        {"file", "", "a server with --redis keeps no adapters",
         "put the file into a folder that servers and workers have as --lora-dir"});
  const std::string& type = request.header("content-type");
  require_type(request, {form_media});
  if (!request.file) throw HttpRefusal(411, "NoLength", "a body is sent with Content-Length");
  const auto body = io::MappedFile::open(request.file->path);
  const AdapterUpload upload = read_adapter_upload(
      type, {reinterpret_cast<const char*>(body->bytes().data()), body->bytes().size()});
  const auto others = served_lora_names(parts_.models);
  if (std::find(others.begin(), others.end(), upload.name) != others.end())
    throw HttpRefusal(409, "NameTaken", "an adapter of this name is there");
  const Json about = parts_.adapters->add(upload, parts_.clock.now_ms(), [&](const fs::path& path) {
    return describe_adapter(path, upload);
  });
  respond(exchange, json_response(201, about));
}

// Those of the server's folders by their names alone.
void Api::list_adapters(const Exchange& exchange, const Values&) {
  Json all = Json::array();
  std::set<std::string> uploaded;
  if (parts_.adapters) {
    for (Json& each : parts_.adapters->list()) {
      uploaded.insert(each["name"].get<std::string>());
      all.push_back(std::move(each));
    }
  }
  for (const std::string& name : served_lora_names(parts_.models)) {
    if (!uploaded.contains(name)) all.push_back({{"name", name}, {"uploaded", false}});
  }
  respond(exchange, json_response(200, {{"adapters", all}}));
}

void Api::refuse_used(const std::string& name) const {
  for (const std::string& job : parts_.files.users_of(name)) {
    auto view = parts_.jobs.find(job);
    // One that is not known is being accepted.
    if (!view || !has_ended(view->job.state))
      throw HttpRefusal(409, "InUse",
                        fmt::format("job {} uses it: cancel it, or wait for its end", job));
  }
}

void Api::delete_adapter(const Exchange& exchange, const Values& values) {
  const std::string name = url_decoded(values[0]);
  Json about;
  if (parts_.adapters) about = parts_.adapters->remove(name, [&] { refuse_used(name); });
  if (about.is_null()) throw HttpRefusal(404, "NoSuchAdapter", "no such adapter was uploaded here");
  respond(exchange, json_response(200, about));
}

// The adapters of a request stay as long as its job has not ended.
void Api::hold_adapters(const GenerateRequest& request, const std::string& job) {
  if (!parts_.adapters) return;
  std::vector<std::string> paths;
  for (const auto& [name, path] : request.locations) paths.push_back(path);
  parts_.adapters->hold(paths, parts_.files, job);
}

}  // namespace omnirt::serve
