#pragma once
#include <string>

#include "engine/session.hpp"
#include "serve/http_client.hpp"
#include "serve/server.hpp"

namespace omnirt::serve {

// Of the whole program, made once.
Session& test_session();

// A server on a port of its own, with the embedded models unless `options` name others.
struct Running {
  explicit Running(const ServerOptions& options = {}, Session& session = test_session());
  HttpClient client() const { return HttpClient(server.port()); }
  HttpClient::Answer get(const std::string& path, const std::string& headers = "") const {
    return client().get(path, headers);
  }
  HttpClient::Answer post(const std::string& path, const Json& json) const {
    return client().post(path, json.dump());
  }
  // Follows a job to its end.
  std::string follow(const std::string& id, const std::string& headers = "") const;
  Server server;
};
ServerOptions quiet(ServerOptions options = {});

// A request for the embedded model.
Json apple(int64_t seed = 3, const Json& config = Json::object());
// The pixels of its image, without a server.
std::string pixels_alone(const Json& request);
std::string pixels_of(const std::string& png);

}  // namespace omnirt::serve
