#include "serve/http_load.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "base/clock.hpp"

namespace omnirt::serve {
namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace {

using Tcp = net::ip::tcp;
using Endpoints = Tcp::resolver::results_type;
using Request = http::request<http::string_body>;

constexpr size_t most_answer_bytes = size_t{256} << 20;
constexpr size_t shown_bytes = 2000;

std::chrono::nanoseconds of_ms(double ms) {
  return std::chrono::nanoseconds(static_cast<int64_t>(ms * 1e6));
}

// One request over a connection of its own; `done` is called once, with status 0 where no answer
// came.
class Asking : public std::enable_shared_from_this<Asking> {
 public:
  using Done = std::function<void(int status, std::string body)>;
  Asking(net::io_context& io, Request request, Done done)
      : stream_(io), request_(std::move(request)), done_(std::move(done)) {
    parser_.body_limit(most_answer_bytes);
  }

  void start(const Endpoints& endpoints, double seconds) {
    stream_.expires_after(of_ms(seconds * 1000));
    stream_.async_connect(
        endpoints, [self = shared_from_this()](beast::error_code error, const Tcp::endpoint&) {
          if (error) return self->fail(error);
          self->write();
        });
  }

 private:
  void write() {
    http::async_write(
        stream_, request_, [self = shared_from_this()](beast::error_code error, size_t) {
          // A server that refuses may have answered and closed before all was sent.
          if (error && error != net::error::broken_pipe && error != net::error::connection_reset)
            return self->fail(error);
          self->read();
        });
  }
  void read() {
    http::async_read(stream_, buffer_, parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) {
                       if (error) return self->fail(error);
                       auto& answer = self->parser_.get();
                       self->done_(static_cast<int>(answer.result_int()), std::move(answer.body()));
                     });
  }
  void fail(const beast::error_code& error) { done_(0, error.message()); }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  Request request_;
  http::response_parser<http::string_body> parser_;
  Done done_;
};

// All requests of a load, on one thread.
class Sender {
 public:
  Sender(const HttpTarget& target, const std::vector<TimedRequest>& requests,
         const LoadLimits& limits, const CancelToken& cancel)
      : target_(target), requests_(requests), limits_(limits), cancel_(cancel) {
    beast::error_code error;
    endpoints_ = Tcp::resolver(io_).resolve(target.host, target.port, error);
    if (error)
      throw InvalidRequest({"serve", target.host + ":" + target.port,
                            "is no address that can be reached: " + error.message(),
                            "give http://HOST:PORT of a server that runs"});
    answers_.resize(requests.size());
  }

  std::vector<TimedAnswer> run() {
    begun_ms_ = now_ms();
    watch();
    send_next();
    io_.run();
    cancel_.check();
    return std::move(answers_);
  }

 private:
  // Looks whether it is to stop.
  void watch() {
    watch_.expires_after(std::chrono::milliseconds(50));
    watch_.async_wait([this](beast::error_code error) {
      if (error) return;
      if (cancel_.cancelled()) return io_.stop();
      watch();
    });
  }

  void send_next() {
    if (next_ == requests_.size()) return finish();
    const double left = requests_[next_].at_ms - (now_ms() - begun_ms_);
    timer_.expires_after(of_ms(std::max(left, 0.0)));
    timer_.async_wait([this](beast::error_code error) {
      if (error) return;
      send(next_++);
      send_next();
    });
  }

  void send(size_t index) {
    if (open_ >= limits_.open)
      return take(index, 0, "was not sent: as many connections are open as may be");
    ++open_;
    std::make_shared<Asking>(io_, request_of(requests_[index]),
                             [this, index](int status, std::string body) {
                               --open_;
                               take(index, status, std::move(body));
                               finish();
                             })
        ->start(endpoints_, limits_.answer_seconds);
  }

  Request request_of(const TimedRequest& from) const {
    Request made{http::string_to_verb(from.method), from.path, 11};
    made.set(http::field::host, target_.host);
    made.set(http::field::user_agent, "omnirt bench");
    made.set(http::field::connection, "close");
    if (!target_.key.empty()) made.set(http::field::authorization, "Bearer " + target_.key);
    if (from.body.empty()) return made;
    made.set(http::field::content_type, "application/json");
    made.set(http::field::accept, "image/*");
    made.body() = from.body;
    made.prepare_payload();
    return made;
  }

  void take(size_t index, int status, std::string body) {
    TimedAnswer& answer = answers_[index];
    answer.ms = now_ms() - begun_ms_ - requests_[index].at_ms;
    answer.status = status;
    if (status != 200) answer.body = body.substr(0, shown_bytes);
  }

  void finish() {
    if (next_ == requests_.size() && open_ == 0) watch_.cancel();
  }

  const HttpTarget& target_;
  const std::vector<TimedRequest>& requests_;
  const LoadLimits& limits_;
  const CancelToken& cancel_;
  net::io_context io_{1};
  net::steady_timer timer_{io_}, watch_{io_};
  Endpoints endpoints_;
  std::vector<TimedAnswer> answers_;
  double begun_ms_ = 0;
  size_t next_ = 0, open_ = 0;
};

}  // namespace

std::vector<TimedAnswer> send_all(const HttpTarget& target,
                                  const std::vector<TimedRequest>& requests,
                                  const LoadLimits& limits, const CancelToken& cancel) {
  return Sender(target, requests, limits, cancel).run();
}

}  // namespace omnirt::serve
