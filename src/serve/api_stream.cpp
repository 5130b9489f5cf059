// Jobs over a WebSocket: asked for, followed and cancelled, as by the routes.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <map>

#include "serve/api.hpp"
#include "serve/problem.hpp"
#include "serve/stream_message.hpp"

namespace omnirt::serve {
namespace {

constexpr size_t most_followed = 32;
// Of artifacts within a result; others are fetched by their URLs.
constexpr size_t stream_inline_bytes = size_t{8} << 20;
constexpr const char* stream_protocol = "omnirt.v1";

// `data` is a JSON object, and is not parsed to be sent on; a store may hold other texts.
std::string message_of(const JobEvent& event, std::string_view data) {
  const bool is_object = data.size() > 2 && data.starts_with('{') && data.ends_with('}');
  return fmt::format(R"({{"type":{},"number":{}{})", text_of(event.type), event.number,
                     is_object ? "," + std::string(data.substr(1)) : "}");
}

bool offers(std::string_view protocols, std::string_view name) {
  while (!protocols.empty()) {
    const size_t comma = protocols.find(',');
    std::string_view each = protocols.substr(0, comma);
    while (each.starts_with(' ')) each.remove_prefix(1);
    while (each.ends_with(' ')) each.remove_suffix(1);
    if (each == name) return true;
    protocols.remove_prefix(comma == std::string_view::npos ? protocols.size() : comma + 1);
  }
  return false;
}

}  // namespace

// One client's socket, and the jobs that it follows.
class Api::Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Api& api, HttpRequest request, std::shared_ptr<HttpSocket> socket)
      : api_(api), request_(std::move(request)), socket_(std::move(socket)) {}

  void message(const std::string& text) {
    std::string ref;
    try {
      if (auto refused = api_.refuse_key(request_)) return refuse(ref, *refused);
      const StreamMessage message = read(text);
      ref = message.ref;
      take(message);
    } catch (...) {
      refuse(ref, api_.problem_now(request_.id));
    }
  }

  // Jobs that were asked for as one waits for them end with the socket.
  void closed() {
    std::map<std::string, Followed> followed;
    {
      std::scoped_lock lock(mutex_);
      followed.swap(followed_);
    }
    for (const auto& [id, each] : followed) {
      api_.parts_.jobs.leave(each.listener);
      if (each.waited_for) api_.cancel_left(id);
    }
  }

 private:
  struct Followed {
    int64_t listener = 0;
    bool waited_for = false;
  };

  static StreamMessage read(const std::string& text) {
    try {
      return read_stream_message(text);
    } catch (const InvalidFile& error) {
      throw HttpRefusal(400, "NoJson",
                        "the message is no JSON: " + error.findings().front().message);
    }
  }

  void take(const StreamMessage& message) {
    if (message.type == StreamCall::generate) return generate(message);
    const JobView view = api_.named(request_, message.job);
    if (message.type == StreamCall::follow) {
      begin(view.job.id, /*waited_for=*/false);
      tell("accepted", message.ref, view.job.id, api_.job_json(view, false));
      return listen(view.job.id, message.after);
    }
    const auto now = api_.parts_.jobs.cancel(view.job.id);
    tell("cancelling", message.ref, view.job.id, api_.job_json(now.value_or(view), false));
  }

  void generate(const StreamMessage& message) {
    require_place();
    const ServedRequest served =
        read_served_request(text_of(message.request), {}, api_.parts_.models);
    api_.check_priority(request_, served);
    const Accepted accepted = api_.accept(request_, served);
    const std::string& id = accepted.job.job.id;
    begin(id, !accepted.async);
    tell("accepted", message.ref, id, api_.job_json(accepted.job, false));
    listen(id, -1);
  }

  void require_place() {
    std::scoped_lock lock(mutex_);
    if (followed_.size() >= most_followed)
      throw HttpRefusal(429, "TooManyJobs",
                        fmt::format("one socket follows at most {} jobs", most_followed));
  }

  void begin(const std::string& id, bool waited_for) {
    require_place();
    std::scoped_lock lock(mutex_);
    if (!followed_.emplace(id, Followed{.waited_for = waited_for}).second)
      throw HttpRefusal(409, "AlreadyFollowed", "this socket follows the job already");
    socket_->set_busy(true);
  }

  void listen(const std::string& id, int64_t after) {
    auto see = [self = shared_from_this(), id](const JobEvent& event) {
      std::string message = message_of(event, event.data);
      if (event.type == "preview")
        self->socket_->offer(std::move(message));
      else
        self->socket_->send(std::move(message));
      if (event.last) self->api_.later([self, id] { self->finish(id); });
    };
    const int64_t listener = api_.parts_.jobs.listen(id, after, see);
    std::scoped_lock lock(mutex_);
    auto it = followed_.find(id);
    if (it != followed_.end()) it->second.listener = listener;
    // One that had seen all of an ended job's events is told how it ended all the same.
    if (listener == 0 && it != followed_.end())
      api_.later([self = shared_from_this(), id] { self->finish(id); });
  }

  // With the job's end, once.
  void finish(const std::string& id) {
    {
      std::scoped_lock lock(mutex_);
      if (followed_.erase(id) == 0) return;
      socket_->set_busy(!followed_.empty());
    }
    try {
      if (auto view = api_.parts_.jobs.find(id))
        return tell("result", "", id, api_.with_data(*view, stream_inline_bytes));
      refuse("", problem(500, "internal-error", "the job is gone", request_.id));
    } catch (...) {
      refuse("", api_.problem_now(request_.id));
    }
  }

  void tell(const char* type, const std::string& ref, const std::string& id, Json job) {
    Json message = {{"type", type}, {"job", id}, {"details", std::move(job)}};
    if (!ref.empty()) message["ref"] = ref;
    socket_->send(text_of(message));
  }

  void refuse(const std::string& ref, const HttpResponse& response) {
    Json message = {{"type", "error"}, {"problem", parse_json(response.body, "the problem")}};
    if (!ref.empty()) message["ref"] = ref;
    for (const auto& [name, value] : response.headers) {
      if (name == "Retry-After") message["retry_after"] = std::stoll(value);
    }
    socket_->send(text_of(message));
  }

  Api& api_;
  const HttpRequest request_;
  const std::shared_ptr<HttpSocket> socket_;
  std::mutex mutex_;
  std::map<std::string, Followed> followed_;
};

void Api::stream(const Exchange& exchange, const Values&) {
  const HttpRequest& request = exchange->request();
  if (!request.upgrade) {
    HttpResponse response =
        problem(426, "no-web-socket", "this route is a WebSocket (RFC 6455)", request.id);
    response.headers.emplace_back("Upgrade", "websocket");
    return respond(exchange, std::move(response));
  }
  const bool named = offers(request.header("sec-websocket-protocol"), stream_protocol);
  exchange->open_socket(named ? stream_protocol : "",
                        [this, exchange](std::shared_ptr<HttpSocket> socket) -> SocketProgram {
                          auto stream = std::make_shared<Stream>(*this, exchange->request(),
                                                                 std::move(socket));
                          return {[stream](const std::string& text) { stream->message(text); },
                                  [stream] { stream->closed(); }};
                        });
}

}  // namespace omnirt::serve
