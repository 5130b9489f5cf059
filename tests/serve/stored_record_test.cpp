// What a database or a Redis returns is refused as a whole, by record and field.
#include "serve/stored_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/broker/redis_errors.hpp"
#include "serve/broker/shared_job.hpp"
#include "serve/job_names.hpp"
#include "serve/job_work.hpp"
#include "serve/records.hpp"

namespace omnirt::serve {
namespace {
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A result with one value replaced; null removes it.
std::string changed(const std::string& pointer, const Json& value) {
  Json result = Json::parse(one_image_result);
  result[Json::json_pointer(pointer)] = value;
  return result.dump();
}

TEST(StoredResult, IsWhatThisProgramWritesOrRefused) {
  EXPECT_NO_THROW(read_stored_result(one_image_result));
  for (const std::string& text :
       std::vector<std::string>{"",
                                "3",
                                "[]",
                                "\"x\"",
                                "null",
                                "{}",
                                R"({"artifacts": []})",
                                changed("/artifacts", 3),
                                changed("/artifacts", Json::array()),
                                changed("/artifacts/0", 3),
                                changed("/artifacts/0/name", 3),
                                changed("/artifacts/0/name", "/etc/shadow"),
                                changed("/artifacts/0/name", "../../etc/hostname"),
                                changed("/artifacts/0/name", "a\"; filename=\"b"),
                                changed("/artifacts/0/mime", "text/html"),
                                changed("/artifacts/0/mime", "image/svg+xml"),
                                changed("/artifacts/0/mime", "image/png\r\nX-Evil: 1"),
                                changed("/artifacts/0/mime", nullptr),
                                changed("/artifacts/0/kind", 1),
                                changed("/artifacts/0/width", "8"),
                                changed("/artifacts/0/height", 0.5),
                                changed("/artifacts/0/seed", nullptr),
                                changed("/report", 3),
                                changed("/report/config_resolved", Json::array()),
                                changed("/request", nullptr),
                                changed("/request/inputs", "x")}) {
    EXPECT_THROW(read_stored_result(text), InvalidFile) << text;
    Job job;
    job.state = JobState::done;
    job.result = text;
    settle_stored_result(job);
    EXPECT_EQ(job.state, JobState::dead) << text;
    EXPECT_EQ(job.reason.kind, "StoreFailed");
  }
  for (const char* mime : {"image/jpeg", "video/mp4", "application/x-safetensors", ""})
    EXPECT_NO_THROW(read_stored_result(changed("/artifacts/0/mime", mime))) << mime;
}

TEST(StoredEvent, IsAnObjectOnOneLineOfAKnownType) {
  EXPECT_NO_THROW(check_stored_event({5, "progress", R"({"step":1})", false}));
  for (const char* data :
       {"", " ", "3", "[1]", "{}", "{\"a\":1", "{\"a\":1}\n", "{\"a\":\n1}", "{\"a\":1}\ndata: x"})
    EXPECT_THROW(check_stored_event({5, "progress", data, false}), InvalidFile) << data;
  for (const char* type : {"", "result", "state\nevent: x"})
    EXPECT_THROW(check_stored_event({5, type, R"({"a":1})", false}), InvalidFile) << type;
  EXPECT_THROW(check_stored_event({-1, "state", R"({"a":1})", false}), InvalidFile);
}

TEST(SharedJobText, EveryFieldIsCheckedAgainstWhatIsWritten) {
  SharedJob shared;
  shared.job.id = job_id("a");
  const Json good = Json::parse(shared_job_text(shared));
  EXPECT_NO_THROW(read_shared_job(good.dump()));
  const std::vector<Json> odd{nullptr, 1.5,  -1,   Json::array(),         Json::object(),
                              "odd/",  true, 1e18, 18446744073709551615u, std::string(2000, 'x')};
  for (const auto& [name, value] : good.items()) {
    size_t refused = 0;
    for (const Json& each : odd) {
      Json text = good;
      text[name] = each;
      try {
        read_shared_job(text.dump());
      } catch (const InvalidFile&) {
        ++refused;
      }
    }
    // One of them may be a text or a flag, and a reason may be long.
    EXPECT_GE(refused, odd.size() - 2) << name;
    Json missing = good;
    missing.erase(name);
    EXPECT_THROW(read_shared_job(missing.dump()), InvalidFile) << name;
  }
  Json many = good;
  many["attempts"] = max_job_attempts + 1;  // files of each are removed one by one
  EXPECT_THAT([&] { read_shared_job(many.dump()); },
              ThrowsMessage<InvalidFile>(HasSubstr("attempts")));
}

TEST(SharedJobText, NoMemberLivesForEver) {
  Member member{.id = "one", .works = true, .lease_ms = 3'600'000};
  EXPECT_NO_THROW(read_member(member_text(member)));
  member.lease_ms = int64_t{1} << 50;
  EXPECT_THROW(read_member(member_text(member)), InvalidFile);
}

TEST(JobWork, IsReadWithinWhatIsCalculatedWith) {
  EXPECT_TRUE(JobWork::read("m|text2image|8x8x1x0x0"));
  EXPECT_FALSE(JobWork::read("m|text2image|9223372036854775807x8x1x0x0"));
  EXPECT_FALSE(JobWork::read("m|text2image|-8x8x1x0x0"));
}

TEST(ShownName, NoRecordBreaksALineOfTheLog) {
  EXPECT_EQ(shown_name("a\r\nb\x7f").find_first_of("\r\n\x7f"), std::string::npos);
  EXPECT_EQ(shown_name(std::string(1000, 'x')).size(), 100u);
}

// Each error of Redis' documentation, as a command and as a script's command returns it.
TEST(RedisErrors, EachHasItsAnswer) {
  using enum RedisError::Answer;
  const std::vector<std::pair<std::string, RedisError::Answer>> all{
      {"LOADING Redis is loading the dataset in memory", retry},
      {"BUSY Redis is busy running a script. You can only call SCRIPT KILL.", retry},
      {"TRYAGAIN Multiple keys request during rehashing of slot", retry},
      {"CLUSTERDOWN The cluster is down", retry},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
       reconnect},
      {"READONLY You can't write against a read only replica.", reconnect},
      {"UNBLOCKED force unblock from blocking operation, instance state changed", reconnect},
      {"ERR max number of clients reached", reconnect},
      {"OOM command not allowed when used memory > 'maxmemory'.", wait},
      {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to", wait},
      {"NOREPLICAS Not enough good replicas to write.", wait},
      {"NOAUTH Authentication required.", wait},
      {"WRONGPASS invalid username-password pair or user is disabled.", wait},
      {"NOPERM this user has no permissions to run the 'set' command", wait},
      {"DENIED Redis is running in protected mode because", wait},
      {"MOVED 3999 127.0.0.1:6381", wait},
      {"ASK 3999 127.0.0.1:6381", wait},
      {"CROSSSLOT Keys in request don't hash to the same slot", wait},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", refused},
      {"NOSCRIPT No matching script. Please use EVAL.", refused},
      {"NOGROUP No such key 'x' or consumer group 'workers'", refused},
      {"BUSYGROUP Consumer Group name already exists", refused},
      {"EXECABORT Transaction discarded because of previous errors.", refused},
      {"ERR value is not an integer or out of range", refused},
  };
  for (const auto& [text, answer] : all) {
    const std::string code = text.substr(0, text.find(' '));
    for (const std::string& each :
         {text, text + " script: 13f0e5, on @user_script:23.",
          "ERR Error running script (call to f_13f0e5): @user_script:23: -" + text}) {
      if (code == "ERR" && each.starts_with("ERR Error")) continue;
      EXPECT_EQ(read_redis_error(each).answer, answer) << each;
      EXPECT_EQ(read_redis_error(each).code, code) << each;
      EXPECT_EQ(without_script(each), text) << each;
    }
  }
}

}  // namespace
}  // namespace omnirt::serve
