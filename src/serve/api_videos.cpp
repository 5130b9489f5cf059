// OpenAI's /v1/videos: jobs whose artifact is a video, under other names.
#include <algorithm>

#include "serve/api.hpp"
#include "serve/openai_video.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

constexpr size_t usual_videos = 20;

std::string query_of(const HttpRequest& request, const char* name, const std::string& otherwise) {
  auto it = request.query.find(name);
  return it == request.query.end() ? otherwise : it->second;
}

void require_one_of(const char* name, const std::string& value,
                    const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw InvalidRequest({name, value.substr(0, 100), "is not served", "give " + known.front()});
}

}  // namespace

// `model` as the engine is given it.
bool Api::makes_videos(const std::string& model) const {
  const Json described = parts_.session.model(model);
  const Json& tasks = described["tasks"];
  return std::any_of(tasks.begin(), tasks.end(),
                     [](const Json& task) { return task.value("artifact_kind", "") == "video"; });
}

// A request that names no model means the first that makes videos.
ServedModels Api::video_models() const {
  ServedModels models = parts_.models;
  for (const auto& [name, model] : models.models) {
    if (makes_videos(models.models.at(models.first))) break;
    if (makes_videos(model)) models.first = name;
  }
  return models;
}

// The frames that make so many seconds: at the model's rate unless the request names one.
void Api::settle_seconds(ServedRequest& served, int64_t seconds) const {
  if (seconds == 0) return;
  int64_t fps = 0;
  for (const KeyInfo* key : parts_.session.keys()) {
    if (std::string_view(key->name) == "fps") fps = key->fallback_json().get<int64_t>();
  }
  const Json given = served.request.config.value("fps", Json());
  if (given.is_number_integer() && given >= 1 && given <= 1000) fps = given.get<int64_t>();
  served.request.config["num_frames"] = seconds * fps;
}

void Api::create_video(const Exchange& exchange, const Values&) {
  const HttpRequest& request = exchange->request();
  const std::string& type = request.header("content-type");
  require_type(request, {json_media, form_media});
  OpenAiVideoRequest read;
  try {
    read = read_openai_video(type, request.body, video_models());
  } catch (const InvalidFile& error) {
    throw HttpRefusal(400, "NoJson",
                      "the request cannot be read: " + error.findings().front().message);
  }
  if (!makes_videos(read.served.model))
    throw InvalidRequest({"model", read.served.request.model, "makes no videos",
                          "name a model whose task is image2video (GET /v1/models)"});
  settle_seconds(read.served, read.seconds);
  const JobView view = accept(request, read.served).job;
  respond(exchange, json_response(200, video_json(view)));
}

Json Api::video_json(const JobView& view) const {
  return openai_video(view, JobWork::read(view.job.work).value_or(JobWork{}), parts_.clock.now_ms(),
                      limits_.keep_ms);
}

// Jobs that make images are as good as not there.
JobView Api::named_video(const HttpRequest& request, const std::string& id) const {
  JobView view = named(request, id);
  const auto work = JobWork::read(view.job.work);
  if (!work || !work->is_video())
    throw HttpRefusal(404, "NoSuchJob", "the job of this id makes no video");
  return view;
}

void Api::list_videos(const Exchange& exchange, const Values&) {
  const HttpRequest& request = exchange->request();
  const size_t most = limit_of(request, usual_videos, most_listed_videos);
  const std::string order = query_of(request, "order", "desc");
  require_one_of("order", order, {"desc", "asc"});
  std::vector<Json> videos;
  for (const JobView& view : parts_.jobs.list(client_or_all(request), SIZE_MAX)) {
    const auto work = JobWork::read(view.job.work);
    if (work && work->is_video()) videos.push_back(video_json(view));
  }
  if (order == "asc") std::reverse(videos.begin(), videos.end());
  auto begin = videos.begin();
  if (const std::string after = query_of(request, "after", ""); !after.empty()) {
    begin =
        std::find_if(begin, videos.end(), [&](const Json& each) { return each["id"] == after; });
    if (begin == videos.end())
      throw InvalidRequest({"after", after.substr(0, 100), "there is no such video", "omit it"});
    ++begin;
  }
  const auto left = static_cast<size_t>(videos.end() - begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(std::min(left, most));
  const Json data(std::vector<Json>(begin, end));
  respond(exchange, json_response(200, {{"object", "list"},
                                        {"data", data},
                                        {"first_id", data.empty() ? Json() : data.front()["id"]},
                                        {"last_id", data.empty() ? Json() : data.back()["id"]},
                                        {"has_more", left > most}}));
}

void Api::video(const Exchange& exchange, const Values& values) {
  respond(exchange, json_response(200, video_json(named_video(exchange->request(), values[0]))));
}

void Api::video_content(const Exchange& exchange, const Values& values) {
  const HttpRequest& request = exchange->request();
  require_one_of("variant", query_of(request, "variant", "video"), {"video"});
  const JobView view = named_video(request, values[0]);
  if (!has_ended(view.job.state))
    throw HttpRefusal(404, "NotYet", "the video is not made yet; its status says when it is");
  if (view.job.state != JobState::done)
    return respond(exchange, problem_of_job(view.job, request.id));
  respond(exchange, artifact(request, job_json(view, false), "0"));
}

// One that is being made is cancelled first.
void Api::delete_video(const Exchange& exchange, const Values& values) {
  const std::string id = named_video(exchange->request(), values[0]).job.id;
  auto forget = [this, exchange, id] {
    try {
      if (!parts_.jobs.forget(id) && parts_.jobs.find(id))
        throw HttpRefusal(409, "KeptByBroker",
                          "the video is not being made any more; Redis forgets it when its time is "
                          "over (--keep-hours)");
      respond(exchange,
              json_response(200, {{"id", id}, {"object", "video.deleted"}, {"deleted", true}}));
    } catch (...) {
      respond(exchange, problem_now(exchange->request().id));
    }
  };
  parts_.jobs.cancel(id);
  parts_.jobs.listen(id, -1, [this, forget](const JobEvent& event) {
    if (event.last) later(forget);
  });
}

}  // namespace omnirt::serve
