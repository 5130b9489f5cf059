// How answers reach clients that are slow, silent or half gone, from a server without a session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <condition_variable>

#include "io/file.hpp"
#include "serve/file_answer.hpp"
#include "serve/http_answer.hpp"
#include "serve/http_client.hpp"
#include "serve/problem.hpp"
#include "serve/temporary.hpp"

namespace omnirt::serve {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Exchange = std::shared_ptr<HttpExchange>;

// Answers by the path, and keeps what is logged.
class Bare {
 public:
  explicit Bare(const HttpLimits& limits = {}) : server_("127.0.0.1", 0, limits, program()) {
    spdlog::set_level(spdlog::level::off);
    io::write_file(folder_.path() / "a.png", content);
    server_.start();
  }
  ~Bare() {
    server_.stop();
    spdlog::set_level(spdlog::level::err);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  HttpClient client() const { return HttpClient(server_.port()); }
  HttpClient::Answer get(const std::string& path, const std::string& headers = "") const {
    return client().get(path, headers);
  }
  // The exchange of GET /wait, once it is here.
  Exchange waiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ != nullptr; });
    return std::exchange(waiting_, nullptr);
  }
  // The statuses that were logged, once there are so many.
  std::vector<int> statuses(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return statuses_.size() >= count; });
    return statuses_;
  }
  void wait_until_left() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return left_; });
  }
  static inline const std::string content = std::string(300'000, 'x') + "end";

 private:
  HttpProgram program() {
    return {.admit = [](const HttpRequest&) { return std::nullopt; },
            .handle = [this](const Exchange& exchange) { handle(exchange); },
            .log =
                [this](const HttpRequest&, int status, size_t bytes, double) {
                  std::scoped_lock lock(mutex_);
                  statuses_.push_back(status);
                  bytes_ = bytes;
                  changed_.notify_all();
                },
            .refuse =
                [](const HttpRequest& request, int status, const std::string& detail) {
                  return problem(status, "refused", detail, request.id);
                }};
  }

  void handle(const Exchange& exchange) {
    const HttpRequest& request = exchange->request();
    if (request.path == "/wait") return keep(exchange);
    if (request.path == "/big")
      return exchange->respond({.type = "text/plain", .body = std::string(24 << 20, 'x')});
    if (request.path == "/file")
      return exchange->respond(file_answer(request, folder_.path() / "a.png", "\"tag\""));
    if (request.path == "/split")
      return exchange->respond({.type = "text/html\r\nX-Evil: 1\r\n\r\n<script>"});
    if (request.path == "/throws") throw std::runtime_error("of no handler");
    exchange->respond({.type = "text/plain", .body = request.path + " " + request.header("host")});
  }

  void keep(const Exchange& exchange) {
    exchange->on_closed([this] {
      std::scoped_lock lock(mutex_);
      left_ = true;
      changed_.notify_all();
    });
    std::scoped_lock lock(mutex_);
    waiting_ = exchange;
    changed_.notify_all();
  }

  Temporary folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Exchange waiting_;
  std::vector<int> statuses_;
  size_t bytes_ = 0;
  bool left_ = false;
  HttpServer server_;
};

constexpr const char* wait_request = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(HttpAnswers, AFileIsSentWholeOrInParts) {
  Bare bare;
  const auto whole = bare.get("/file");
  EXPECT_EQ(whole.status, 200);
  EXPECT_TRUE(whole.body == Bare::content);
  EXPECT_THAT(whole.headers, AllOf(HasSubstr("Content-Type: image/png"), HasSubstr("ETag: \"tag\""),
                                   HasSubstr("Accept-Ranges: bytes")));
  const auto part = bare.get("/file", "Range: bytes=299998-\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "xxend");
  EXPECT_THAT(part.headers, HasSubstr("Content-Range: bytes 299998-300002/300003"));
  const auto outside = bare.get("/file", "Range: bytes=300003-\r\n");
  EXPECT_EQ(outside.status, 416);
  EXPECT_THAT(outside.headers, HasSubstr("Content-Range: bytes */300003"));
  EXPECT_EQ(bare.get("/file", "Range: bytes=-3\r\nIf-Range: \"tag\"\r\n").body, "end");
  EXPECT_EQ(bare.get("/file", "Range: bytes=-3\r\nIf-Range: \"other\"\r\n").status, 200);
  EXPECT_EQ(bare.get("/file", "If-None-Match: \"x\", \"tag\"\r\n").status, 304);
}

TEST(HttpAnswers, HeadHasTheLengthAndNoBody) {
  Bare bare;
  for (const char* path : {"/file", "/big", "/other"}) {
    HttpClient client = bare.client();
    client.send(std::string("HEAD ") + path +
                " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const std::string all = client.read_all();
    EXPECT_THAT(all, AllOf(HasSubstr(" 200 OK"), HasSubstr("Content-Length: "))) << path;
    EXPECT_TRUE(all.ends_with("\r\n\r\n")) << path;
  }
}

TEST(HttpAnswers, AnAddressIsTakenAsClientsWriteIt) {
  Bare bare;
  EXPECT_EQ(bare.get("http://other.example:81/x").body, "/x other.example:81");
  EXPECT_EQ(bare.get("HTTP://other.example").body, "/ other.example");
  EXPECT_EQ(bare.get("//x/y//").body, "/x/y localhost");
  EXPECT_EQ(bare.get("/").body, "/ localhost");
  EXPECT_EQ(bare.get("/x", "Host: a\r\nHost: b\r\n").status, 400);
}

TEST(HttpAnswers, NoHeaderSplitsAnAnswerAndNoHandlerEndsTheServer) {
  Bare bare;
  const auto split = bare.get("/split");
  EXPECT_EQ(split.status, 500);
  EXPECT_THAT(split.headers + split.body, Not(HasSubstr("X-Evil")));
  EXPECT_EQ(bare.get("/throws").status, 500);
  EXPECT_EQ(bare.get("/x").status, 200);
}

// The time for a client to take an answer is of each piece.
TEST(HttpAnswers, AnAnswerIsWrittenInPieces) {
  const HttpRequest request{.method = "GET", .path = "/", .id = "1"};
  HttpAnswer answer({.type = "text/plain", .body = std::string(150'000, 'x')}, request, true);
  EXPECT_EQ(answer.next().size(), answer_piece_bytes);
  EXPECT_EQ(answer.next().size(), answer_piece_bytes);
  EXPECT_EQ(answer.next().size(), 150'000 - 2 * answer_piece_bytes);
  EXPECT_EQ(answer.next().size(), 0u);
  Bare bare;
  EXPECT_EQ(bare.get("/big").body.size(), size_t{24} << 20);
  EXPECT_EQ(bare.statuses(1), std::vector<int>{200});
}

TEST(HttpAnswers, AnAnswerThatIsCutIsLoggedOnce) {
  Bare bare;
  {
    HttpClient client = bare.client();
    client.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.read_until("xxxx");
  }
  bare.statuses(1);
  bare.get("/x");
  EXPECT_EQ(bare.statuses(2), (std::vector<int>{499, 200}));
}

TEST(HttpAnswers, MoreThanTheServerHoldsIsRefused) {
  Bare bare({.all_answers_bytes = 36 << 20});
  HttpClient silent = bare.client();
  silent.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
  silent.read_until("xxxx");
  const auto refused = bare.get("/big");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.headers, HasSubstr("Retry-After"));
  // A file holds none of it.
  EXPECT_EQ(bare.get("/file").status, 200);
  silent.close();
  bare.statuses(3);
  EXPECT_EQ(bare.get("/big").status, 200);
}

TEST(HttpAnswers, AClientThatOnlyReadsIsAnswered) {
  Bare bare;
  for (const char* version : {"1.1", "1.0"}) {
    HttpClient client = bare.client();
    client.send(std::string("GET /wait HTTP/") + version + "\r\nHost: localhost\r\n\r\n");
    client.end_sending();
    bare.waiting()->respond({.type = "text/plain", .body = "here"});
    EXPECT_THAT(client.read_all(), HasSubstr("\r\n\r\nhere")) << version;
  }
}

TEST(HttpAnswers, AClientThatIsGoneIsSeen) {
  Bare bare;
  HttpClient client = bare.client();
  client.send(wait_request);
  const Exchange exchange = bare.waiting();
  // What it sends ahead hides its end no more.
  client.send("G");
  client.close();
  bare.wait_until_left();
  EXPECT_EQ(bare.statuses(1), std::vector<int>{499});
}

TEST(HttpAnswers, RequestsSentAheadAreAllAnswered) {
  Bare bare;
  HttpClient client = bare.client();
  client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  client.end_sending();
  EXPECT_THAT(client.read_all(), AllOf(HasSubstr("/a h"), HasSubstr("/b h")));
}

TEST(HttpAnswers, ASilentConnectionMakesRoomForAnother) {
  Bare bare({.connections = 2});
  HttpClient silent = bare.client(), half = bare.client();
  half.send("GET /x HTTP/1.1\r\nHost: local");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bare.get("/x").status, 200) << i;
}

TEST(HttpAnswers, ConnectionsThatAreAnsweredAreKept) {
  Bare bare({.connections = 1});
  HttpClient busy = bare.client();
  busy.send(wait_request);
  const Exchange exchange = bare.waiting();
  EXPECT_EQ(bare.client().read().status, 503);
  exchange->respond({.type = "text/plain", .body = "here"});
  EXPECT_EQ(busy.read().body, "here");
}

TEST(HttpAnswers, OneAddressHasAShareOfTheConnections) {
  Bare bare({.connections_per_peer = 1});
  HttpClient busy = bare.client();
  busy.send(wait_request);
  const Exchange exchange = bare.waiting();
  const auto refused = bare.client().read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("this address"));
  // 127.0.0.2 is another.
  EXPECT_EQ(HttpClient(busy.server_port(), "127.0.0.2").get("/x").status, 200);
  exchange->respond({.type = "text/plain"});
}

}  // namespace
}  // namespace omnirt::serve
