#include "serve/broker/redis_url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace omnirt::serve {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(const std::string& text) {
  try {
    parse_redis_url(text);
  } catch (const InvalidRequest& error) {
    return error.what();
  }
  return "";
}

TEST(RedisUrl, NamesHostPortDatabaseAndUser) {
  const RedisUrl url = parse_redis_url("redis://ann:p%40ss@example.org:7000/3");
  EXPECT_EQ(url.host, "example.org");
  EXPECT_EQ(url.port, 7000);
  EXPECT_EQ(url.database, 3);
  EXPECT_EQ(url.user, "ann");
  EXPECT_EQ(url.password, "p@ss");
  EXPECT_EQ(url.shown(), "redis://example.org:7000/3");
  const RedisUrl plain = parse_redis_url("redis://localhost");
  EXPECT_EQ(plain.port, 6379);
  EXPECT_EQ(parse_redis_url("redis://[::1]:7000").host, "::1");
  EXPECT_EQ(parse_redis_url("redis://:secret@host").password, "secret");
  EXPECT_EQ(parse_redis_url("unix:///run/redis.sock").socket, "/run/redis.sock");
}

TEST(RedisUrl, WhatIsNoneIsRefusedWithoutItsPassword) {
  for (const char* text :
       {"", "localhost", "redis://", "redis://host:port", "redis://host:70000", "redis://host/x",
        "http://host", "unix://", "redis://ann:secret@:6379", "redis://ann:secret@host:1x",
        "rediss://ann:secret@host", "ann:secret@host"}) {
    const std::string why = refusal(text);
    EXPECT_THAT(why, HasSubstr("--redis")) << text;
    EXPECT_THAT(why, Not(HasSubstr("secret"))) << text;
  }
  EXPECT_THAT(refusal("rediss://host"), HasSubstr("TLS"));
}

}  // namespace
}  // namespace omnirt::serve
