// stable-diffusion-webui's routes: the same jobs under other names.
#include <algorithm>

#include "io/image.hpp"
#include "serve/api.hpp"
#include "serve/problem.hpp"
#include "serve/webui.hpp"
#include "serve/webui_answer.hpp"
#include "serve/webui_image.hpp"
#include "serve/webui_lists.hpp"
#include "serve/webui_settings.hpp"

namespace omnirt::serve {
namespace {

Json json_of(const HttpRequest& request) {
  require_type(request, {json_media});
  try {
    return parse_json(request.body, "request", request.body.size());
  } catch (const InvalidFile& error) {
    throw HttpRefusal(400, "NoJson", "the request is no JSON: " + error.findings().front().message);
  }
}

bool has_key(const Json& described, std::string_view key) {
  for (const Json& task : described["tasks"]) {
    for (const Json& each : task["keys"]) {
      if (each["name"] == key) return true;
    }
  }
  return false;
}

// The steps of a request that names none.
int64_t steps_of(const Json& described) {
  for (const Json& task : described["tasks"]) {
    const Json steps = task["default_config"].value("num_inference_steps", Json());
    if (steps.is_number_integer()) return steps.get<int64_t>();
  }
  return 1;
}

// The generation parameters that a file carries; "" of one that carries none.
std::string infotext_of(const std::filesystem::path& file) {
  try {
    const io::ImageMetadata texts = io::read_image_metadata(file);
    auto it = texts.find(io::parameters_metadata_key);
    return it == texts.end() ? "" : it->second;
  } catch (const InvalidRequest&) {
    return "";  // a video
  }
}

// Of a request's query; false where it is not there.
bool flag_of(const HttpRequest& request, const char* name) {
  auto it = request.query.find(name);
  if (it == request.query.end() || it->second == "false" || it->second == "0") return false;
  if (it->second == "true" || it->second == "1") return true;
  throw InvalidRequest({name, it->second.substr(0, 100), "true or false is expected", ""});
}

}  // namespace

void Api::webui_text2image(const Exchange& exchange, const Values&) {
  webui(exchange, WebuiRoute::text2image);
}

void Api::webui_image2image(const Exchange& exchange, const Values&) {
  webui(exchange, WebuiRoute::image2image);
}

// The client's choice, or the server's first.
std::string Api::webui_model(const HttpRequest& request) const {
  const std::string chosen = webui_clients_.model(client_of(request));
  return chosen.empty() ? parts_.models.first : chosen;
}

void Api::webui(const Exchange& exchange, WebuiRoute route) {
  const HttpRequest& request = exchange->request();
  require_type(request, {json_media});
  auto described = [this](const std::string& model) {
    return parts_.session.model(parts_.models.models.at(model));
  };
  const WebuiSetting setting{
      .models = parts_.models,
      .model = webui_model(request),
      .has_key = [&](const std::string& model,
                     const std::string& key) { return has_key(described(model), key); },
      .default_steps = [&](const std::string& model) { return steps_of(described(model)); }};
  auto read = std::make_shared<WebuiRequest>();
  try {
    *read = read_webui_request(request.body, route, setting);
  } catch (const InvalidFile& error) {
    throw HttpRefusal(400, "NoJson", "the request is no JSON: " + error.findings().front().message);
  }
  const std::string client = client_of(request);
  const std::string id = accept(request, read->served).job.job.id;
  read->served = {};
  webui_clients_.begin(client, id);
  wait_for(exchange, id, [this, exchange, client, read](const JobView& view) {
    webui_clients_.end(client, view.job.id);
    if (view.job.state != JobState::done)
      return respond(exchange, problem_of_job(view.job, exchange->request().id));
    webui_answer(exchange, view, *read);
  });
}

void Api::webui_answer(const Exchange& exchange, const JobView& view, const WebuiRequest& asked) {
  const Json job = with_data(view);
  std::vector<std::string> infotexts;
  for (const Json& artifact : job["artifacts"])
    infotexts.push_back(
        infotext_of(parts_.files.path_of(view.job.id, artifact["name"].get<std::string>())));
  try {
    respond(exchange, json_response(200, webui_result(asked, job, infotexts)));
  } catch (const Error&) {
    respond(exchange, problem_now(exchange->request().id));
  }
}

// The client's oldest one that has not ended, those that run first.
std::optional<JobView> Api::webui_job(const HttpRequest& request) const {
  std::optional<JobView> found;
  for (const std::string& id : webui_clients_.jobs(client_of(request))) {
    auto view = parts_.jobs.find(id);
    if (!view || has_ended(view->job.state)) continue;
    if (view->job.state == JobState::running) return view;
    if (!found) found = std::move(view);
  }
  return found;
}

// In base64; "" where there is none yet.
std::string Api::latest_preview(const std::string& id) {
  auto latest = std::make_shared<std::string>();
  const int64_t listener = parts_.jobs.listen(id, -1, [latest](const JobEvent& event) {
    if (event.type == "preview") *latest = event.data;
  });
  if (listener != 0) parts_.jobs.leave(listener);
  if (latest->empty()) return "";
  return parse_json(*latest, "the event").value("data", "");
}

void Api::webui_progress(const Exchange& exchange, const Values&) {
  const HttpRequest& request = exchange->request();
  auto view = webui_job(request);
  const bool wanted = !flag_of(request, "skip_current_image");
  const std::string preview = view && wanted ? latest_preview(view->job.id) : "";
  // As far as the preview is, or farther.
  auto now = view ? parts_.jobs.find(view->job.id) : std::nullopt;
  if (now && !has_ended(now->job.state)) view = std::move(now);
  const size_t jobs = webui_clients_.jobs(client_of(request)).size();
  respond(exchange,
          json_response(200, serve::webui_progress(view ? &*view : nullptr, jobs, preview)));
}

void Api::webui_interrupt(const Exchange& exchange, const Values&) {
  if (auto view = webui_job(exchange->request())) parts_.jobs.cancel(view->job.id);
  respond(exchange, json_response(200, Json::object()));
}

void Api::webui_options(const Exchange& exchange, const Values&) {
  respond(exchange, json_response(200, {{"sd_model_checkpoint", webui_model(exchange->request())},
                                        {"CLIP_stop_at_last_layers", 1},
                                        {"samples_format", "png"},
                                        {"show_progress_every_n_steps", 0}}));
}

// Clients send all options that they were given, with another model.

void Api::webui_set_options(const Exchange& exchange, const Values&) {
  const HttpRequest& request = exchange->request();
  const Json options = json_of(request);
  if (!options.is_object())
    throw InvalidRequest({"body", shown(options), "an object is expected", "docs/server.md"});
  std::string model;
  std::vector<Finding> findings;
  for (const auto& [name, value] : options.items()) {
    if (value.is_null()) continue;
    if (name == "sd_model_checkpoint" && value.is_string())
      model = webui_model_of(value.get<std::string>(), parts_.models);
    if (name == "sd_model_checkpoint" && model.empty())
      findings.push_back(
          {name, shown(value), "is not served here", "GET /sdapi/v1/sd-models lists what is"});
    if (name != "sd_model_checkpoint" && !webui_setting_does_nothing(name, value))
      findings.push_back({name.substr(0, 200), shown(value), "is not set for all requests here",
                          "give it in a request's override_settings, or omit it"});
  }
  if (!findings.empty()) throw InvalidRequest(findings);
  if (!model.empty()) webui_clients_.choose(client_of(request), model);
  respond(exchange, json_response(200, nullptr));
}

void Api::webui_image_info(const Exchange& exchange, const Values&) {
  const Json body = json_of(exchange->request());
  auto image = body.is_object() ? body.find("image") : body.end();
  if (!body.is_object() || image == body.end() || !image->is_string())
    throw InvalidRequest({"image", "", "an image in base64 is expected", "send one"});
  respond(exchange, json_response(200, serve::webui_image_info(image->get<std::string>())));
}

void Api::webui_list(const Exchange& exchange, const Values&) {
  const std::string name = exchange->request().path.substr(webui_prefix.size());
  for (const WebuiListInfo& list : webui_lists()) {
    if (list.name == name) return respond(exchange, json_response(200, list.make(parts_.models)));
  }
  refuse_route(exchange);
}

// What is there is looked up at each request.
void Api::webui_refresh(const Exchange& exchange, const Values&) {
  respond(exchange, json_response(200, nullptr));
}

}  // namespace omnirt::serve
