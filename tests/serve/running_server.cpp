#include "serve/running_server.hpp"

#include <spdlog/spdlog.h>

#include "catalogue/make_session.hpp"
#include "io/image.hpp"
#include "request/request.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {

Session& test_session() {
  static const std::unique_ptr<Session> made = make_session();
  return *made;
}

ServerOptions quiet(ServerOptions options) {
  options.port = 0;
  if (!options.models.empty()) return options;
  options.models = {"emoji=" + source_path("models/emoji").string(),
                    "emoji-sd=" + source_path("models/emoji-sd").string()};
  return options;
}

Running::Running(const ServerOptions& options, Session& session) : server(session, quiet(options)) {
  spdlog::set_level(spdlog::level::err);
  server.start();
}

std::string Running::follow(const std::string& id, const std::string& headers) const {
  HttpClient reader(server.port());
  reader.send("GET /v1/jobs/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  return reader.read_all();
}

Json apple(int64_t seed, const Json& config) {
  Json json = {{"model", "emoji"}, {"inputs", {{"prompt", "a red apple"}}}};
  json["config"] = {{"seed", seed}, {"num_inference_steps", 2}};
  json["config"].update(config);
  return json;
}

std::string pixels_alone(const Json& request) {
  GenerateRequest direct = parse_request(request);
  direct.model = source_path("models/").string() + direct.model;
  std::string pixels;
  SessionHooks hooks{.on_artifact =
                         [&](const Artifact& artifact) {
                           const auto& image = artifact.images.front();
                           pixels.assign(image.pixels.begin(), image.pixels.end());
                         },
                     .files = Files::where_named};
  RunReport report;
  test_session().run(direct, false, CancelToken(), hooks, report);
  return pixels;
}

std::string pixels_of(const std::string& png) {
  const io::Image image = io::decode_image(png, "the artifact");
  return {image.pixels.begin(), image.pixels.end()};
}

}  // namespace omnirt::serve
