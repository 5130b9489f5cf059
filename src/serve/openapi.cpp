#include "serve/openapi.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "serve/openai.hpp"
#include "serve/webui.hpp"

namespace omnirt::serve {
namespace {

constexpr const char* problem_type = "application/problem+json";

Json component_ref(const std::string& kind, const std::string& name) {
  return {{"$ref", "#/components/" + kind + "/" + name}};
}

Json content_of(const std::string& type, const std::string& schema) {
  return {{type, {{"schema", component_ref("schemas", schema)}}}};
}

bool takes_body(const RouteInfo& route) {
  return !route.body.empty() || !route.form.empty();
}

// A status that refuses, and the routes that may answer with it.
struct Refusal {
  int status;
  const char* what;
  bool (*may)(const RouteInfo& route, bool keyed);
};

bool always(const RouteInfo&, bool) {
  return true;
}
bool with_key(const RouteInfo& route, bool keyed) {
  return keyed && route.access != Access::open;
}
bool with_body(const RouteInfo& route, bool) {
  return takes_body(route);
}
bool with_job(const RouteInfo& route, bool) {
  return route.runs;
}
bool with_key_or_job(const RouteInfo& route, bool keyed) {
  return with_key(route, keyed) || with_job(route, keyed);
}

constexpr std::array refusals{
    Refusal{400, "no HTTP, no JSON; of OpenAI's routes an invalid request", always},
    Refusal{401, "no key, or one that is not known", with_key},
    Refusal{403, "a key that may not do this, or a page of another origin", always},
    Refusal{404, "there is no such thing",
            [](const RouteInfo& route, bool) { return !names_of_path(route.path).empty(); }},
    Refusal{408, "the body did not come in time", with_body},
    Refusal{409, "the job was cancelled while the request waited", with_job},
    Refusal{411, "a body without Content-Length", with_body},
    Refusal{413, "the body is too large", with_body},
    Refusal{415, "another Content-Type than the route takes", with_body},
    Refusal{421, "without keys the server answers as localhost alone",
            [](const RouteInfo&, bool keyed) { return !keyed; }},
    Refusal{422, "the request is invalid, or its deadline cannot be met",
            [](const RouteInfo& route, bool) {
              return (takes_body(route) && !is_openai(route.path)) || !route.query.empty();
            }},
    Refusal{426, "the route is a WebSocket",
            [](const RouteInfo& route, bool) { return route.status == 101; }},
    Refusal{429,
            "the queue is full, or too long for the deadline; the key has had its requests of the "
            "minute, or has as many jobs as it may",
            with_key_or_job},
    Refusal{431, "the header is too large", always},
    Refusal{500, "the run failed, or the server did", always},
    Refusal{503,
            "there are too many connections, or too many answers that clients have not taken; the "
            "server drains",
            always},
    Refusal{504, "the deadline passed", with_job},
    Refusal{507, "the server's disk is full", with_body},
};

// Clients of other programs' routes read errors in those programs' forms; what is refused before
// the path is known is a problem everywhere.
Json refusal_content(const RouteInfo& route) {
  Json content = content_of(problem_type, "Problem");
  if (is_openai(route.path)) content.update(content_of("application/json", "OpenAiError"));
  if (is_webui(route.path)) content.update(content_of("application/json", "WebuiError"));
  return content;
}

Json header_schema(const char* what, const char* type) {
  return {{"description", what}, {"schema", {{"type", type}}}};
}

Json with_headers(Json response, int status) {
  response["headers"]["X-Request-Id"] = header_schema("the request, in the server's log", "string");
  if (status == 429 || status == 503 || status == 507)
    response["headers"]["Retry-After"] = header_schema("seconds", "integer");
  if (status == 202) response["headers"]["Location"] = header_schema("of the job", "string");
  return response;
}

Json success(const RouteInfo& route, int status) {
  Json response = {{"description", route.summary}};
  if (status == 204 || status == 304 || status == 101) return response;
  Json content = Json::object();
  if (!route.answer.empty()) content.update(content_of("application/json", route.answer));
  if (status == route.status || status == 206) {
    for (const std::string& type : route.types) content[type] = Json::object();
  }
  response["content"] = content;
  return response;
}

Json responses_of(const RouteInfo& route, bool keyed) {
  Json all = Json::object();
  const std::string own = std::to_string(route.status);
  all[own] = with_headers(success(route, route.status), route.status);
  for (int status : route.others)
    all[std::to_string(status)] = with_headers(success(route, status), status);
  for (const Refusal& each : refusals) {
    if (!each.may(route, keyed)) continue;
    Json& response = all[std::to_string(each.status)];
    const Json before = response.is_null() ? Json::object() : response["content"];
    response = with_headers({{"description", each.what}}, each.status);
    response["content"] = refusal_content(route);
    response["content"].update(before);
  }
  for (const auto& [status, what] : route.refuses) {
    Json& response = all[std::to_string(status)];
    response = with_headers({{"description", what}, {"content", refusal_content(route)}}, status);
  }
  return all;
}

Json parameter_of(const std::string& name, const char* in, Json schema) {
  Json made = {{"name", name}, {"in", in}, {"required", std::string_view(in) == "path"}};
  made["schema"] = std::move(schema);
  return made;
}

Json query_schema(const std::string& path, const std::string& name) {
  if (name == "limit")
    return {{"type", "integer"},
            {"minimum", 1},
            {"maximum", is_openai(path) ? most_listed_videos : most_listed_jobs}};
  if (name == "order") return {{"enum", {"desc", "asc"}}};
  if (name == "variant") return {{"const", "video"}};
  if (name == "after") return {{"type", "string"}};
  return {{"type", "boolean"}};
}

Json parameters_of(const RouteInfo& route) {
  Json all = Json::array();
  for (const std::string& name : names_of_path(route.path))
    all.push_back(parameter_of(name, "path", {{"type", "string"}, {"minLength", 1}}));
  for (const std::string& name : route.query)
    all.push_back(parameter_of(name, "query", query_schema(route.path, name)));
  for (const std::string& name : route.headers)
    all.push_back(parameter_of(name, "header", {{"type", "string"}}));
  return all;
}

Json body_of(const RouteInfo& route) {
  Json content = Json::object();
  if (!route.body.empty()) content.update(content_of("application/json", route.body));
  if (!route.form.empty()) content.update(content_of("multipart/form-data", route.form));
  if (content.contains("multipart/form-data") && !route.body.empty())
    content["multipart/form-data"]["encoding"]["request"]["contentType"] = "application/json";
  return {{"required", true}, {"content", content}};
}

// "post_v1_jobs_id_events".
std::string operation_id(const RouteInfo& route) {
  std::string made;
  for (char each : route.method + route.path) {
    const auto letter = static_cast<unsigned char>(each);
    if (std::isalnum(letter))
      made += static_cast<char>(std::tolower(letter));
    else if (!made.empty() && made.back() != '_')
      made += '_';
  }
  while (made.ends_with('_')) made.pop_back();
  return made;
}

const char* tag_of(const RouteInfo& route) {
  if (is_openai(route.path)) return "OpenAI";
  if (is_webui(route.path)) return "stable-diffusion-webui";
  return route.path.starts_with("/v1/") ? "OmniRT" : "server";
}

Json operation(const RouteInfo& route, bool keyed) {
  Json made = {{"operationId", operation_id(route)},
               {"summary", route.summary},
               {"tags", Json::array({tag_of(route)})}};
  if (Json parameters = parameters_of(route); !parameters.empty())
    made["parameters"] = std::move(parameters);
  if (takes_body(route)) made["requestBody"] = body_of(route);
  made["responses"] = responses_of(route, keyed);
  if (keyed && route.access != Access::open) {
    made["security"] = Json::array();
    for (const char* scheme : {"bearer", "apiKey", "basic"})
      made["security"].push_back({{scheme, Json::array()}});
  }
  return made;
}

Json security_schemes() {
  return {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
          {"apiKey", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-Api-Key"}}},
          {"basic",
           {{"type", "http"}, {"scheme", "basic"}, {"description", "the key is the password"}}}};
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return text;
}

}  // namespace

Json openapi_document(const OpenApiFacts& facts) {
  Json paths = Json::object();
  for (const RouteInfo& route : facts.routes)
    paths[route.path][in_small_letters(route.method)] = operation(route, facts.keyed);
  Json schemas = openapi_answers();
  schemas.update(openapi_requests(facts));
  return {{"openapi", "3.1.0"},
          {"jsonSchemaDialect", "https://json-schema.org/draft/2020-12/schema"},
          {"info",
           {{"title", "OmniRT"},
            {"summary", "images and videos from diffusion models"},
            {"description", "docs/server.md explains the routes, docs/requests.md the requests."},
            {"version", "1"}}},
          {"servers", Json::array({{{"url", "/"}}})},
          {"paths", paths},
          {"components", {{"schemas", schemas}, {"securitySchemes", security_schemes()}}}};
}

}  // namespace omnirt::serve
