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

// As the client named this server; a proxy says whether it was by https.
std::string address_of(const HttpRequest& request) {
  const bool secure = request.header("x-forwarded-proto") == "https";
  return (secure ? "https://" : "http://") + request.header("host");
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
  if (edit)
    require_type(request, {form_media, json_media});
  else
    require_type(request, {json_media});
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
  // What follows needs what was asked, and not what was sent.
  read.served = {};
  if (!read.stream) return openai_answer(exchange, id, read);
  openai_stream(exchange, id, edit ? "image_edit" : "image_generation", read);
}

void Api::openai_answer(const Exchange& exchange, const std::string& id,
                        const OpenAiRequest& asked) {
  wait_for(exchange, id, [this, exchange, asked](const JobView& view) {
    const HttpRequest& request = exchange->request();
    if (view.job.state != JobState::done)
      return respond(exchange, problem_of_job(view.job, request.id));
    const Json job = asked.url ? job_json(view, false) : with_data(view);
    respond(exchange, json_response(200, openai_result(job, asked, address_of(request))));
  });
}

// Partial images are previews of the first image, as JPEG; the last event holds it as it is.
void Api::openai_stream(const Exchange& exchange, const std::string& id, const std::string& name,
                        const OpenAiRequest& asked) {
  HttpResponse head;
  add_cors(exchange->request(), head);
  exchange->begin_events(std::move(head));
  auto partial = [exchange, name, asked](const JobEvent& event) {
    if (event.type != "preview") return;
    const Json preview = parse_json(event.data, "the event");
    const int64_t index = partial_index(preview["step"].get<int64_t>(),
                                        preview["steps"].get<int64_t>(), asked.partial_images);
    if (index < 0 || preview["index"] != 0) return;
    exchange->send(piece_of({{"type", name + ".partial_image"},
                             {"b64_json", preview["data"]},
                             {"partial_image_index", index},
                             {"background", "opaque"},
                             {"quality", asked.quality},
                             {"output_format", "jpeg"}}));
  };
  auto ended = [this, exchange, name, asked](const JobView& view) {
    if (view.job.state == JobState::done) {
      const Json result = openai_result(with_data(view), asked, "");
      for (const Json& image : result["data"])
        exchange->send(piece_of({{"type", name + ".completed"},
                                 {"b64_json", image["b64_json"]},
                                 {"created_at", result["created"]},
                                 {"background", result["background"]},
                                 {"size", result["size"]},
                                 {"quality", result["quality"]},
                                 {"output_format", result["output_format"]},
                                 {"usage", result["usage"]}}));
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
