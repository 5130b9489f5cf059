// What is served, and by what.
#include <algorithm>

#include "serve/api.hpp"
#include "serve/problem.hpp"
#include "serve/webui_lists.hpp"

namespace omnirt::serve {

// In this order: where two match, the first is meant.
const std::vector<Api::Route>& Api::routes() {
  static const std::vector<Route> all = [] {
    std::vector<Route> made = server_routes();
    for (const auto& more :
         {run_routes(), adapter_routes(), openai_routes(), video_routes(), webui_routes()})
      made.insert(made.end(), more.begin(), more.end());
    return made;
  }();
  return all;
}

std::vector<Api::Route> Api::server_routes() {
  return {
      {{.method = "GET",
        .path = "/healthz",
        .summary = "that the process answers",
        .access = Access::open,
        .answer = "Status"},
       &Api::health},
      {{.method = "GET",
        .path = "/readyz",
        .summary = "that it accepts jobs; 503 while it drains, or its disk is full",
        .access = Access::open,
        .answer = "Status",
        .others = {503}},
       &Api::ready},
      {{.method = "GET",
        .path = "/",
        .summary = "the web page",
        .access = Access::open,
        .types = {"text/html"}},
       &Api::page},
      {{.method = "GET",
        .path = "/page/{file}",
        .summary = "a file of the web page",
        .access = Access::open,
        .types = {"text/css", "text/html", "text/javascript"}},
       &Api::page},
      {{.method = "GET",
        .path = "/metrics",
        .summary = "Prometheus' text form",
        .access = Access::metrics,
        .types = {"text/plain"}},
       &Api::metrics},
      {{.method = "GET", .path = "/openapi.json", .summary = "this document", .answer = "Document"},
       &Api::openapi},
      {{.method = "GET",
        .path = "/v1/models",
        .summary = "the models that requests may name",
        .answer = "Models"},
       &Api::models},
      {{.method = "GET",
        .path = "/v1/models/{id}",
        .summary = "what a model's tasks take",
        .answer = "Model"},
       &Api::model},
  };
}

std::vector<Api::Route> Api::run_routes() {
  return {
      {{.method = "POST",
        .path = "/v1/generate",
        .summary = "runs a request; with async it answers with a job",
        .body = "GenerateRequest",
        .form = "GenerateForm",
        .answer = "Job",
        .types = {"image/*"},
        .others = {202},
        .runs = true},
       &Api::generate},
      {{.method = "POST",
        .path = "/v1/validate",
        .summary = "checks a request without running it",
        .body = "GenerateRequest",
        .form = "GenerateForm",
        .answer = "Settled"},
       &Api::validate},
      {{.method = "GET",
        .path = "/v1/jobs",
        .summary = "the client's jobs, newest first",
        .answer = "Jobs",
        .query = {"limit"}},
       &Api::list},
      {{.method = "GET",
        .path = "/v1/jobs/{id}/events",
        .summary = "a job's events as they come",
        .types = {"text/event-stream"},
        .others = {204},
        .headers = {"Last-Event-ID"}},
       &Api::job_events},
      {{.method = "GET",
        .path = "/v1/jobs/{id}/artifacts/{number}",
        .summary = "an image or video, from 0; a part of it with Range",
        .types = {"image/*", "video/*", "application/octet-stream"},
        .others = {206, 304},
        .headers = {"Range", "If-Range", "If-None-Match"},
        .refuses = {{416, "the range lies outside of the file"}}},
       &Api::job_artifact},
      {{.method = "GET",
        .path = "/v1/jobs/{id}",
        .summary = "one job: state, progress, artifacts, report",
        .answer = "Job"},
       &Api::job},
      {{.method = "DELETE",
        .path = "/v1/jobs/{id}",
        .summary = "cancels it: one that waits at once, one that runs within a step",
        .answer = "Job",
        .others = {202}},
       &Api::cancel},
      {{.method = "GET",
        .path = "/v1/stream",
        .summary = "jobs over a WebSocket: docs/server.md has its messages",
        .status = 101,
        .headers = {"Sec-WebSocket-Protocol"}},
       &Api::stream},
  };
}

std::vector<Api::Route> Api::adapter_routes() {
  return {
      {{.method = "GET",
        .path = adapters_path,
        .summary = "the adapters that requests may name",
        .answer = "Adapters"},
       &Api::list_adapters},
      {{.method = "POST",
        .path = adapters_path,
        .summary = "keeps a LoRA or a ControlNet under a name",
        .access = Access::adapters,
        .form = "AdapterForm",
        .status = 201,
        .answer = "Adapter",
        .refuses = {{409, "the name is taken"}, {507, "there is no room for it"}}},
       &Api::add_adapter},
      {{.method = "DELETE",
        .path = "/v1/adapters/{name}",
        .summary = "deletes an adapter that was sent",
        .access = Access::adapters,
        .answer = "Adapter",
        .refuses = {{409, "a job uses it"}}},
       &Api::delete_adapter},
  };
}

std::vector<Api::Route> Api::openai_routes() {
  return {
      {{.method = "POST",
        .path = "/v1/images/generations",
        .summary = "OpenAI's",
        .body = "OpenAiGeneration",
        .answer = "OpenAiImages",
        .types = {"text/event-stream"},
        .runs = true},
       &Api::openai_generation},
      {{.method = "POST",
        .path = "/v1/images/edits",
        .summary = "OpenAI's",
        .body = "OpenAiJsonEdit",
        .form = "OpenAiEdit",
        .answer = "OpenAiImages",
        .types = {"text/event-stream"},
        .runs = true},
       &Api::openai_edit},
  };
}

std::vector<Api::Route> Api::video_routes() {
  return {
      {{.method = "POST",
        .path = "/v1/videos",
        .summary = "OpenAI's: a job that makes a video",
        .body = "OpenAiVideoCreate",
        .form = "OpenAiVideoForm",
        .answer = "OpenAiVideo"},
       &Api::create_video},
      {{.method = "GET",
        .path = "/v1/videos",
        .summary = "OpenAI's: the client's videos",
        .answer = "OpenAiVideos",
        .query = {"limit", "after", "order"}},
       &Api::list_videos},
      {{.method = "GET",
        .path = "/v1/videos/{id}/content",
        .summary = "OpenAI's: the video itself",
        .types = {"video/*"},
        .others = {206, 304},
        .query = {"variant"},
        .headers = {"Range", "If-Range", "If-None-Match"},
        .runs = true,
        .refuses = {{416, "the range lies outside of the file"}}},
       &Api::video_content},
      {{.method = "GET",
        .path = "/v1/videos/{id}",
        .summary = "OpenAI's: how far it is",
        .answer = "OpenAiVideo"},
       &Api::video},
      {{.method = "DELETE",
        .path = "/v1/videos/{id}",
        .summary = "OpenAI's: cancels it, and forgets it",
        .answer = "OpenAiVideoDeleted",
        .runs = true},
       &Api::delete_video},
  };
}

std::vector<Api::Route> Api::webui_routes() {
  std::vector<Route> made = {
      {{.method = "POST",
        .path = "/sdapi/v1/txt2img",
        .summary = "stable-diffusion-webui's",
        .body = "WebuiTextToImage",
        .answer = "WebuiImages",
        .runs = true},
       &Api::webui_text2image},
      {{.method = "POST",
        .path = "/sdapi/v1/img2img",
        .summary = "stable-diffusion-webui's",
        .body = "WebuiImageToImage",
        .answer = "WebuiImages",
        .runs = true},
       &Api::webui_image2image},
      {{.method = "GET",
        .path = "/sdapi/v1/progress",
        .summary = "how far the client's first unfinished job of these routes is",
        .answer = "WebuiProgress",
        .query = {"skip_current_image"}},
       &Api::webui_progress},
      {{.method = "POST",
        .path = "/sdapi/v1/interrupt",
        .summary = "cancels the client's first unfinished job of these routes",
        .answer = "Nothing"},
       &Api::webui_interrupt},
      {{.method = "GET",
        .path = "/sdapi/v1/options",
        .summary = "the client's model, and what else these routes have of webui's settings",
        .answer = "WebuiOptions"},
       &Api::webui_options},
      {{.method = "POST",
        .path = "/sdapi/v1/options",
        .summary = "chooses the client's model (sd_model_checkpoint)",
        .body = "WebuiModelChoice",
        .answer = "Null"},
       &Api::webui_set_options},
      {{.method = "POST",
        .path = "/sdapi/v1/png-info",
        .summary = "the generation parameters that an image carries",
        .body = "WebuiImage",
        .answer = "WebuiImageInfo"},
       &Api::webui_image_info},
  };
  for (const WebuiListInfo& list : webui_lists()) {
    made.push_back({{.method = "GET",
                     .path = std::string(webui_prefix) + list.name,
                     .summary = list.summary,
                     .answer = list.schema},
                    &Api::webui_list});
  }
  for (const char* name : {"refresh-checkpoints", "refresh-loras", "refresh-vae"})
    made.push_back({{.method = "POST",
                     .path = std::string(webui_prefix) + name,
                     .summary = "nothing is to be done",
                     .answer = "Null"},
                    &Api::webui_refresh});
  return made;
}

std::vector<RouteInfo> Api::route_infos() {
  std::vector<RouteInfo> infos;
  for (const Route& route : routes()) infos.push_back(route.info);
  return infos;
}

std::string Api::route_of(const std::string& path) {
  for (const Route& route : routes()) {
    if (values_of(route.info.path, path)) return route.info.path;
  }
  return "other";
}

// HEAD is answered where GET is, without the body (RFC 9110, 9.3.2).
bool Api::takes(const Route& route, const std::string& method) {
  return route.info.method == (method == "HEAD" ? "GET" : method);
}

// What is no route needs a key, as most, and so does another method of one.
Access Api::access_of(const HttpRequest& request) {
  std::optional<Access> first;
  for (const Route& route : routes()) {
    if (!values_of(route.info.path, request.path)) continue;
    if (takes(route, request.method)) return route.info.access;
    if (!first) first = route.info.access;
  }
  return first.value_or(Access::generate);
}

void Api::refuse_route(const Exchange& exchange) const {
  respond(exchange,
          problem(404, "no-such-route", "there is no such route", exchange->request().id));
}

void Api::route(const Exchange& exchange) {
  const HttpRequest& request = exchange->request();
  std::string path, methods;
  for (const Route& route : routes()) {
    if (!path.empty() && route.info.path != path) continue;
    auto values = values_of(route.info.path, request.path);
    if (!values) continue;
    if (takes(route, request.method)) return (this->*route.handler)(exchange, *values);
    path = route.info.path;
    methods += (methods.empty() ? "" : ", ") + route.info.method;
    if (route.info.method == "GET") methods += ", HEAD";
  }
  if (request.path == "*") methods = "GET, HEAD, POST, DELETE";
  if (path.empty() && request.path != "*") return refuse_route(exchange);
  HttpResponse response =
      request.method == "OPTIONS"
          ? HttpResponse{.status = 204, .type = ""}
          : problem(405, "wrong-method", "this route takes " + methods, request.id);
  response.headers.emplace_back("Allow", methods);
  respond(exchange, std::move(response));
}

}  // namespace omnirt::serve
