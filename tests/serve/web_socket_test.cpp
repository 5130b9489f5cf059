// Jobs over a WebSocket, with a client of Beast's, and with bytes that are no frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>

#include "io/file.hpp"
#include "io/sha256.hpp"
#include "serve/base64.hpp"
#include "serve/running_server.hpp"
#include "serve/stream_message.hpp"
#include "serve/temporary.hpp"

namespace omnirt::serve {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace net = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using Headers = std::vector<std::pair<std::string, std::string>>;

class SocketClient {
 public:
  explicit SocketClient(const Running& running, const Headers& headers = {}) {
    stream_.next_layer().connect({net::ip::address_v4::loopback(), running.server.port()});
    stream_.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
      for (const auto& [name, value] : headers) request.set(name, value);
    }));
    beast::error_code error;
    stream_.handshake(answer, "localhost", "/v1/stream", error);
    open = !error;
  }

  void send(const Json& json) { send_text(json.dump()); }
  void send_text(const std::string& text, bool binary = false) {
    stream_.binary(binary);
    beast::error_code ignored;
    stream_.write(net::buffer(text), ignored);
  }
  // Null where the server closed it.
  Json read() {
    beast::flat_buffer buffer;
    beast::error_code error;
    stream_.read(buffer, error);
    if (error) return nullptr;
    return Json::parse(beast::buffers_to_string(buffer.data()));
  }
  // Up to a message of the type; the last one is it, or null.
  std::vector<Json> read_until(const std::string& type) {
    std::vector<Json> all;
    do all.push_back(read());
    while (!all.back().is_null() && all.back()["type"] != type);
    return all;
  }
  // Why the server closed it.
  int close_code() {
    while (!read().is_null()) {
    }
    return stream_.reason().code;
  }
  void write_raw(const std::string& bytes) { net::write(stream_.next_layer(), net::buffer(bytes)); }

  bool open = false;
  websocket::response_type answer;

 private:
  net::io_context io_;
  websocket::stream<net::ip::tcp::socket> stream_{io_};
};

// The answer to a handshake that is refused.
int refusal_of(const Running& running, const std::string& headers,
               const std::string& path = "/v1/stream") {
  return running
      .get(path,
           "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
               headers)
      .status;
}

Json generate(const Json& request, const std::string& ref = "") {
  Json message = {{"type", "generate"}, {"request", request}};
  if (!ref.empty()) message["ref"] = ref;
  return message;
}

std::string types_of(const std::vector<Json>& messages) {
  std::string types;
  for (const Json& each : messages) {
    const std::string type = each.is_null() ? "closed" : each["type"].get<std::string>();
    if (!types.ends_with(type)) types += (types.empty() ? "" : " ") + type;
  }
  return types;
}

TEST(WebSocket, AJobIsAskedForFollowedAndDelivered) {
  Running running;
  SocketClient client(running);
  ASSERT_TRUE(client.open);
  EXPECT_FALSE(client.answer["X-Request-Id"].empty());
  client.send(generate(apple(4, {{"preview_every", 1}}), "mine"));
  const std::vector<Json> all = client.read_until("result");
  EXPECT_EQ(all.front()["type"], "accepted");
  EXPECT_EQ(all.front()["ref"], "mine");
  EXPECT_THAT(types_of(all),
              AllOf(HasSubstr("state progress"), HasSubstr("preview"), HasSubstr("state result")));
  const Json& result = all.back();
  EXPECT_EQ(result["job"], all.front()["job"]);
  EXPECT_EQ(result["details"]["state"], "done");
  auto png = bytes_of_base64(result["details"]["artifacts"][0]["data"].get<std::string>());
  EXPECT_TRUE(pixels_of(*png) == pixels_alone(apple(4)));
}

TEST(WebSocket, AJobIsCancelledWithinAStep) {
  Running running;
  SocketClient client(running);
  client.send(generate(apple(1, {{"num_inference_steps", 1000}})));
  const std::string id = client.read_until("progress").back()["job"];
  client.send({{"type", "cancel"}, {"job", id}});
  const std::vector<Json> all = client.read_until("result");
  EXPECT_THAT(types_of(all), HasSubstr("cancelling"));
  EXPECT_EQ(all.back()["details"]["state"], "cancelled");
}

TEST(WebSocket, AJobEndsWithItsSocketUnlessItIsAsync) {
  Running running;
  std::string waited_for, async;
  {
    SocketClient client(running);
    Json request = apple(1, {{"num_inference_steps", 1000}});
    client.send(generate(request));
    waited_for = client.read()["job"];
    request["async"] = true;
    client.send(generate(request, "second"));
    Json message;
    do message = client.read();
    while (message.value("ref", "") != "second");
    async = message["job"];
  }
  EXPECT_THAT(running.follow(waited_for), HasSubstr(R"("state":"cancelled")"));
  EXPECT_THAT(running.get("/v1/jobs/" + async).json()["state"].get<std::string>(),
              ::testing::AnyOf("queued", "running"));
  SocketClient again(running);
  again.send({{"type", "follow"}, {"job", async}, {"ref", "r"}});
  EXPECT_EQ(again.read()["ref"], "r");
  again.send({{"type", "cancel"}, {"job", async}});
  EXPECT_EQ(again.read_until("result").back()["details"]["state"], "cancelled");
}

TEST(WebSocket, FollowingIsResumedAfterTheEventThatWasSeenLast) {
  Running running;
  const std::string id = running.post("/v1/generate", apple()).json()["id"];
  SocketClient client(running);
  client.send({{"type", "follow"}, {"job", id}});
  const std::vector<Json> all = client.read_until("result");
  ASSERT_GT(all.size(), 4u);
  const Json& last = all[all.size() - 2];
  EXPECT_EQ(last["state"], "done");
  client.send({{"type", "follow"}, {"job", id}, {"after", all[all.size() - 3]["number"]}});
  EXPECT_EQ(types_of(client.read_until("result")), "accepted state result");
  client.send({{"type", "follow"}, {"job", id}, {"after", last["number"]}});
  EXPECT_EQ(types_of(client.read_until("result")), "accepted result");
}

TEST(WebSocket, WhatIsWrongIsToldAndTheSocketLivesOn) {
  Running running;
  SocketClient client(running);
  auto status_of = [&](const std::string& text) {
    client.send_text(text);
    const Json message = client.read();
    EXPECT_EQ(message["type"], "error") << message;
    return message["problem"].value("status", 0);
  };
  EXPECT_EQ(status_of("{bad"), 400);
  EXPECT_EQ(status_of(std::string(1000, '[')), 400);
  EXPECT_EQ(status_of("[]"), 422);
  EXPECT_EQ(status_of(R"({"type": "nothing"})"), 422);
  EXPECT_EQ(status_of(R"({"type": "generate"})"), 422);
  EXPECT_EQ(status_of(R"({"type": "cancel", "job": "x", "after": 3})"), 422);
  EXPECT_EQ(status_of(R"({"type": "follow", "job": "nothing"})"), 404);
  client.send(generate(apple(1, {{"width", 3}}), "small"));
  const Json invalid = client.read();
  EXPECT_EQ(invalid["ref"], "small");
  EXPECT_EQ(invalid["problem"]["errors"][0]["field"], "config.width");
  Json path = apple();
  path["inputs"]["image"] = "/etc/passwd";
  client.send(generate(path));
  EXPECT_EQ(client.read()["problem"]["status"], 422);
  client.send(generate(apple()));
  EXPECT_EQ(client.read_until("result").back()["details"]["state"], "done");
}

TEST(WebSocket, KeysAndOriginsHoldAsOnOtherRoutes) {
  Temporary folder;
  io::Sha256 digest;
  digest.add("ann-key");
  const Json file = {
      {"keys", {{{"name", "ann"}, {"sha256", digest.hex()}, {"requests_per_minute", 3}}}}};
  io::write_file(folder.path() / "keys.json", file.dump());
  ServerOptions options;
  options.key_file = (folder.path() / "keys.json").string();
  options.api.origins = {"http://app.example"};
  Running running(options);
  EXPECT_EQ(refusal_of(running, ""), 401);
  EXPECT_EQ(refusal_of(running, "X-Api-Key: wrong\r\n"), 401);
  EXPECT_EQ(refusal_of(running, "X-Api-Key: ann-key\r\nOrigin: http://evil.example\r\n"), 403);
  // As a page opens it, which can send no headers of its own.
  SocketClient client(running, {{"Sec-WebSocket-Protocol", "omnirt.v1, omnirt.key.ann-key"},
                                {"Origin", "http://app.example"}});
  ASSERT_TRUE(client.open);
  EXPECT_EQ(client.answer["Sec-WebSocket-Protocol"], "omnirt.v1");
  // The handshake was one of the key's three requests, and each message is one.
  client.send(generate(apple(1, {{"width", 3}})));
  EXPECT_EQ(client.read()["problem"]["status"], 422);
  client.send(generate(apple(1, {{"width", 3}})));
  EXPECT_EQ(client.read()["problem"]["status"], 422);
  client.send(generate(apple()));
  const Json refused = client.read();
  EXPECT_EQ(refused["problem"]["status"], 429);
  EXPECT_GE(refused["retry_after"].get<int>(), 1);
}

TEST(WebSocket, WithoutKeysTheServerAnswersAsLocalhostAlone) {
  Running running;
  EXPECT_EQ(running.get("/v1/stream").status, 426);
  EXPECT_EQ(refusal_of(running, "Host: evil.example\r\n"), 421);
  EXPECT_EQ(refusal_of(running, "Origin: http://evil.example\r\n"), 403);
  // Another route answers as ever.
  EXPECT_EQ(refusal_of(running, "", "/healthz"), 200);
  EXPECT_EQ(refusal_of(running, "", "/nothing"), 404);
}

TEST(WebSocket, WhatBreaksAFrameOrALimitClosesIt) {
  Running running({.http = {.message_bytes = 10'000}});
  auto code_after = [&](const std::function<void(SocketClient&)>& act) {
    SocketClient client(running);
    act(client);
    return client.close_code();
  };
  EXPECT_EQ(code_after([](SocketClient& client) { client.send_text(std::string(20'000, 'x')); }),
            websocket::close_code::too_big);
  EXPECT_EQ(code_after([](SocketClient& client) { client.send_text("{}", /*binary=*/true); }),
            websocket::close_code::unknown_data);
  EXPECT_EQ(code_after([](SocketClient& client) { client.send_text("\xff\xfe"); }),
            websocket::close_code::bad_payload);
  for (const std::string& bytes :
       {std::string("\x81\x02{}", 4),                   // not masked
        std::string("\xf1\x80\0\0\0\0", 6),             // reserved bits
        std::string("\x83\x80\0\0\0\0", 6),             // a reserved kind
        std::string("\x80\x80\0\0\0\0", 6),             // continues nothing
        std::string("\x09\x80\0\0\0\0", 6),             // a ping in pieces
        std::string("\x89\xfe\x01\x00\0\0\0\0", 8)}) {  // a ping of 256 bytes
    EXPECT_EQ(code_after([&](SocketClient& client) { client.write_raw(bytes); }),
              websocket::close_code::protocol_error);
  }
  // A length of 2^63.
  EXPECT_NE(code_after([](SocketClient& client) {
              client.write_raw(std::string("\x81\xff\x80\0\0\0\0\0\0\0\0\0\0\0", 14));
            }),
            0);
  EXPECT_EQ(running.get("/healthz").status, 200);
}

TEST(WebSocket, IsClosedAfterSilenceUnlessAJobIsFollowed) {
  Running running({.http = {.idle_seconds = 1}});
  SocketClient silent(running), busy(running);
  busy.send(generate(apple(1, {{"num_inference_steps", 1000}})));
  EXPECT_EQ(silent.close_code(), websocket::close_code::going_away);
  EXPECT_FALSE(busy.read_until("progress").back().is_null());
}

TEST(WebSocket, AClientThatTakesNothingIsDropped) {
  Running running({.http = {.unsent_bytes = 1000}});
  SocketClient client(running);
  client.send(generate(apple()));  // whose result is longer
  EXPECT_TRUE(client.read_until("result").back().is_null());
  EXPECT_EQ(running.get("/healthz").status, 200);
}

TEST(WebSocket, EndsWithTheServer) {
  auto running = std::make_unique<Running>();
  SocketClient client(*running);
  client.send(generate(apple(1, {{"num_inference_steps", 1000}})));
  client.read_until("progress");
  running.reset();
  while (!client.read().is_null()) {
  }
}

TEST(StreamMessage, HasNothingButWhatItsTypeTakes) {
  const StreamMessage message =
      read_stream_message(R"({"type": "follow", "job": "j", "after": 7, "ref": "r"})");
  EXPECT_EQ(message.type, StreamCall::follow);
  EXPECT_EQ(message.job, "j");
  EXPECT_EQ(message.after, 7);
  EXPECT_EQ(message.ref, "r");
  for (const char* bad :
       {"{}", "3", R"({"type": 3})", R"({"type": "follow"})", R"({"type": "follow", "job": ""})",
        R"({"type": "follow", "job": "j", "after": "x"})",
        R"({"type": "generate", "request": {}, "job": "j"})",
        R"({"type": "generate", "request": []})"})
    EXPECT_THROW(read_stream_message(bad), InvalidRequest) << bad;
  EXPECT_THROW(read_stream_message("{"), InvalidFile);
  EXPECT_THROW(
      read_stream_message(R"({"type": "follow", "job": ")" + std::string(100, 'x') + "\"}"),
      InvalidRequest);
}

}  // namespace
}  // namespace omnirt::serve
