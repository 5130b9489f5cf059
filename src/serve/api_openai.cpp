// OpenAI's image routes: the same jobs under other names.
#include <spdlog/spdlog.h>

#include "serve/api.hpp"
#include "serve/openai.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

std::string piece_of(const Json& event) {
  return "event: " + event["type"].get<std::string>() + "\ndata: " + text_of(event) + "\n\n";
}

}  // namespace

void Api::openai_generation(const Exchange& exchange, const Values&) {
  openai(exchange, /*edit=*/false);
}

void Api::openai_edit(const Exchange& exchange, const Values&) {
  openai(exchange, /*edit=*/true);
}

void Api::openai(const Exchange& exchange, bool edit) {
  const HttpRequest& request = exchange->request();
  const std::string& type = request.header("content-type");
  if (!type.starts_with(edit ? "multipart/form-data" : "application/json"))
    throw HttpRefusal(415, "WrongType",
                      edit ? "send multipart/form-data" : "send application/json");
  OpenAiRequest read;
  try {
    read = edit ? read_openai_edit(type, request.body, parts_.models)
                : read_openai_generation(request.body, parts_.models);
  } catch (const InvalidFile& error) {
    throw HttpRefusal(400, "NoJson",
                      "the request cannot be read: " + error.findings().front().message);
  }
  check_priority(request, read.served);
  const std::string id = accept(request, read.served).job.job.id;
  const std::string name = edit ? "image_edit" : "image_generation";
  if (!read.stream) return openai_answer(exchange, id);
  openai_stream(exchange, id, name, read.partial_images);
}

void Api::openai_answer(const Exchange& exchange, const std::string& id) {
  wait_for(exchange, id, [this, exchange](const JobView& view) {
    const HttpRequest& request = exchange->request();
    if (view.job.state != JobState::done)
      return respond(exchange, problem_of_job(view.job, request.id));
    respond(exchange, json_response(200, openai_result(with_data(view))));
  });
}

// Partial images are previews of the first image, as JPEG; the last event holds it as it is.
void Api::openai_stream(const Exchange& exchange, const std::string& id, const std::string& name,
                        int64_t partial_images) {
  HttpResponse head;
  add_cors(exchange->request(), head);
  exchange->begin_events(std::move(head));
  auto partial = [exchange, name, partial_images](const JobEvent& event) {
    if (event.type != "preview") return;
    const Json preview = parse_json(event.data, "the event");
    const int64_t index = partial_index(preview["step"].get<int64_t>(),
                                        preview["steps"].get<int64_t>(), partial_images);
    if (index < 0 || preview["index"] != 0) return;
    exchange->send(piece_of({{"type", name + ".partial_image"},
                             {"b64_json", preview["data"]},
                             {"partial_image_index", index},
                             {"output_format", "jpeg"}}));
  };
  auto ended = [this, exchange, name](const JobView& view) {
    if (view.job.state == JobState::done) {
      const Json result = openai_result(with_data(view));
      for (const Json& image : result["data"])
        exchange->send(piece_of({{"type", name + ".completed"},
                                 {"b64_json", image["b64_json"]},
                                 {"created_at", result["created"]},
                                 {"size", result["size"]},
                                 {"output_format", result["output_format"]}}));
    } else {
      const HttpResponse failed = openai_error(problem_of_job(view.job, exchange->request().id));
      Json event = parse_json(failed.body, "the error");
      event["type"] = "error";
      exchange->send(piece_of(event));
    }
    exchange->end();
  };
  wait_for(exchange, id, ended, partial);
}

}  // namespace omnirt::serve
