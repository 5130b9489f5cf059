// The document of all routes, for what this server serves.
#include "serve/api.hpp"
#include "serve/openapi.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {

Json Api::openapi_of_server() const {
  OpenApiFacts facts{
      .routes = route_infos(), .keys = parts_.session.keys(), .keyed = !parts_.keys.empty()};
  for (const auto& [id, given] : parts_.models.models) {
    facts.models.push_back(id);
    const Json described = parts_.session.model(given);
    for (const Json& task : described["tasks"]) {
      for (const char* list : {"required_inputs", "optional_inputs"}) {
        for (const Json& input : task[list]) facts.inputs.insert(input.get<std::string>());
      }
    }
  }
  // Of a ControlNet that is sent.
  if (parts_.adapters)
    facts.inputs.insert({"control_image", "control_image_1", "control_image_2", "control_image_3"});
  return openapi_document(facts);
}

// The models of a server stay what they are.
void Api::openapi(const Exchange& exchange, const Values&) {
  std::call_once(described_, [this] { document_ = text_of(openapi_of_server()) + "\n"; });
  respond(exchange, {.body = document_});
}

}  // namespace omnirt::serve
