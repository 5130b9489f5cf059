// The parts of HTTP that are texts: hosts, origins, ranges, events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/byte_range.hpp"
#include "serve/event_piece.hpp"
#include "serve/file_answer.hpp"
#include "serve/http.hpp"
#include "serve/multipart.hpp"

namespace omnirt::serve {
namespace {

TEST(HttpText, OnlyThisMachinesAddressesAreLoopback) {
  for (const char* host : {"localhost", "LOCALHOST", "127.0.0.1", "127.255.0.3", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host :
       {"127.evil.example", "127.0.0.1.evil.example", "127.x", "127.", "127", "127.1", "0.0.0.0",
        "128.0.0.1", "localhost.", "localhost.evil.example", "::2", "::ffff:127.0.0.1", "", "[::1]",
        "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1 ", "127.0.0.256", "1127.0.0.1"})
    EXPECT_FALSE(is_loopback(host)) << host;
  EXPECT_EQ(address_of_host("[::1]"), "::1");
  EXPECT_EQ(address_of_host("Localhost"), "127.0.0.1");
}

TEST(HttpText, AHostIsReadWhole) {
  EXPECT_EQ(parse_authority("LocalHost:8000"), (Authority{"localhost", 8000}));
  EXPECT_EQ(parse_authority("127.0.0.1"), (Authority{"127.0.0.1", 0}));
  EXPECT_EQ(parse_authority("[::1]:80"), (Authority{"::1", 80}));
  for (const char* text : {"", ":80", "localhost:", "localhost:x", "localhost:99999",
                           "127.0.0.1:80@evil", "127.0.0.1:8000:1", "[::1].evil", "[::1", "::1",
                           "[127.0.0.1]", "a b", "a/b", "localhost\t"})
    EXPECT_FALSE(parse_authority(text)) << text;
}

TEST(HttpText, AnOriginIsASchemeAHostAndAPort) {
  EXPECT_EQ(parse_origin("HTTP://App.Example:80")->text(), "http://app.example");
  EXPECT_EQ(parse_origin("https://app.example:8443")->text(), "https://app.example:8443");
  EXPECT_EQ(parse_origin("http://[::1]:3000")->text(), "http://[::1]:3000");
  EXPECT_EQ(parse_origin("chrome-extension://abcdef")->text(), "chrome-extension://abcdef");
  for (const char* text : {"null", "*", "", "http://a b", "http://a/", "http://a/b", "a", "//a",
                           "http://", "http:a", "http://*.example", "1http://a", "http://a?x"})
    EXPECT_FALSE(parse_origin(text)) << text;
}

TEST(HttpText, ARangeIsOnePartOfTheBody) {
  auto range = [](const char* header) {
    const auto read = read_byte_range(header, 100);
    return read ? std::pair(read->from, read->bytes) : std::pair<uint64_t, uint64_t>(999, 999);
  };
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(range("bytes=0-9"), Pair(0, 10));
  EXPECT_EQ(range("bytes=90-"), Pair(90, 10));
  EXPECT_EQ(range("bytes=90-1000"), Pair(90, 10));
  EXPECT_EQ(range("bytes=-7"), Pair(93, 7));
  EXPECT_EQ(range("bytes=-1000"), Pair(0, 100));
  EXPECT_EQ(range("bytes=0-99999999999999999999999"), Pair(0, 100));
  for (const char* outside :
       {"bytes=100-", "bytes=100-200", "bytes=99999999999999999999-", "bytes=-0"})
    EXPECT_EQ(range(outside).second, 0u) << outside;
  for (const char* ignored : {"", "bytes=", "bytes=-", "bytes=5-4", "bytes=0-1,3-4", "items=0-1",
                              "bytes=a-b", "bytes=0x1-2", "bytes= 0-1"})
    EXPECT_EQ(range(ignored), Pair(999, 999)) << ignored;
  EXPECT_EQ(read_byte_range("bytes=0-0", 0)->bytes, 0u);
}

TEST(HttpText, DataWithLineEndsMakesNoOtherFieldOfAnEvent) {
  EXPECT_EQ(event_piece(3, "state", "{}"), "id: 3\nevent: state\ndata: {}\n\n");
  EXPECT_EQ(event_piece(3, "a\nretry: 1", "x\nevent: y\r\n\r\nid: 9\rz"),
            "id: 3\nevent: aretry: 1\ndata: x\ndata: event: y\ndata: \ndata: id: 9\ndata: z\n\n");
}

TEST(HttpText, AHeaderEndsInNoValue) {
  EXPECT_TRUE(is_header_value("image/png; q=1\t\xc3\xa4"));
  for (const char* text : {"a\r\nX: 1", "a\n", "\r", "\x1b[31m", "\x7f"})
    EXPECT_FALSE(is_header_value(text)) << text;
  EXPECT_FALSE(is_header_value(std::string("a\0b", 3)));
  EXPECT_EQ(media_type("Application/JSON ; charset=utf-8"), "application/json");
  EXPECT_EQ(media_type_of_file("image-0.png"), std::string("image/png"));
  EXPECT_EQ(media_type_of_file("x.html"), std::string("application/octet-stream"));
}

}  // namespace
}  // namespace omnirt::serve
