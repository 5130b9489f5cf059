// A Redis does what SharedQueue is promised of a broker (MemoryBroker is the other that does).
#include "serve/broker/redis_broker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "serve/broker/shared_queue.hpp"
#include "serve/redis_server.hpp"

namespace omnirt::serve {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Member worker(const std::string& id) {
  return {.id = id,
          .works = true,
          .parts = {WorkPart::encode, WorkPart::denoise, WorkPart::decode, WorkPart::whole},
          .models = {"m"},
          .lease_ms = 60'000};
}

struct RedisBrokers : ::testing::Test {
  void SetUp() override {
    if (!RedisServer::installed()) GTEST_SKIP() << RedisServer::missing;
    spdlog::set_level(spdlog::level::off);
    redis.emplace();
    broker.emplace(redis->url(), 20'000);
    raw.emplace(redis->url(), 20'000);
  }
  void TearDown() override { spdlog::set_level(spdlog::level::err); }
  SharedJob accept(const std::string& id) {
    SharedJob shared;
    shared.job.id = id;
    shared.job.model = "m";
    shared.job.client = "c";
    shared.job.request = "{}";
    shared.job.number = ++numbers;
    EXPECT_TRUE(broker->commit(shared, Broker::Move::stay));
    return shared;
  }
  std::optional<RedisServer> redis;
  std::optional<RedisBroker> broker;
  std::optional<RedisConnection> raw;
  int64_t numbers = 0;
};

TEST_F(RedisBrokers, AChangeTakesEffectOnTheVersionThatItWasMadeFromAlone) {
  SharedJob first = accept("a"), second = first;
  first.job.steps = 5;
  EXPECT_TRUE(broker->commit(first, Broker::Move::stay));
  second.job.steps = 7;
  EXPECT_FALSE(broker->commit(second, Broker::Move::stay));
  const auto found = broker->find("a", true);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->job.steps, 5);
  EXPECT_EQ(found->job.request, "{}");
  EXPECT_EQ(found->version, 2);
  EXPECT_FALSE(broker->find("b", false));
}

TEST_F(RedisBrokers, AnEntryIsGivenToOneWorkerAndClaimedOfASilentOne) {
  SharedJob shared = accept("a");
  ASSERT_TRUE(broker->commit(shared, Broker::Move::put_in));
  auto entry = broker->next(worker("one"), 0);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->job, "a");
  EXPECT_EQ(entry->id, shared.entry);
  EXPECT_EQ(entry->stream, shared.stream);
  EXPECT_FALSE(broker->next(worker("two"), 0));
  EXPECT_TRUE(broker->pending(worker("two")).empty());
  ASSERT_EQ(broker->pending(worker("one")).size(), 1u);
  EXPECT_EQ(broker->pending(worker("one"))[0].job, "a");
  EXPECT_TRUE(broker->claim(worker("two"), 3'600'000).empty());
  const auto claimed = broker->claim(worker("two"), 0);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].id, entry->id);
  EXPECT_THAT(broker->present({*entry, {"omnirt:work:decode:m", "1-1", ""}}),
              ElementsAre(true, false));
  ASSERT_TRUE(broker->commit(shared, Broker::Move::take_out));
  EXPECT_THAT(broker->present({*entry}), ElementsAre(false));
  EXPECT_TRUE(broker->claim(worker("one"), 0).empty());
}

TEST_F(RedisBrokers, ABeatHoldsTheLeaseAndTellsWhatHappened) {
  SharedJob shared = accept("a");
  shared.job.state = JobState::running;
  shared.job.attempts = 1;
  shared.worker = "one";
  ASSERT_TRUE(broker->commit(shared, Broker::Move::put_in));
  broker->next(worker("one"), 0);
  WorkLease lease{"a", 1, shared.entry, shared.stream, "one"};
  RunNews news{.events = {{"progress", "{}"}, {"preview", "image"}},
               .client = "c",
               .computed_ms = 12.5,
               .progress = {"denoise_loop", 2, 4}};
  EXPECT_EQ(broker->beat(lease, news), Broker::Standing::held);
  const Snapshot now = broker->snapshot();
  ASSERT_EQ(now.line.size(), 1u);
  EXPECT_EQ(now.line[0].progress.step, 2);
  EXPECT_EQ(now.line[0].progress.stage, "denoise_loop");
  EXPECT_NEAR(now.shares.at("c"), 12.5, 1e-6);
  std::string after = "0";
  std::vector<std::string> types;
  std::vector<int64_t> numbers;
  for (const SharedEvent& each : broker->events(after, 10)) {
    types.push_back(each.event.type);
    numbers.push_back(each.event.number);
    EXPECT_EQ(each.event.data == "image", each.event.type == "preview");
  }
  EXPECT_THAT(types, ElementsAre("state", "progress", "preview"));
  EXPECT_THAT(numbers, ElementsAre(0, 1'000'000, 1'000'001));
  shared.job.cancelling = true;
  ASSERT_TRUE(broker->commit(shared, Broker::Move::stay));
  EXPECT_EQ(broker->beat(lease, {}), Broker::Standing::cancelling);
  lease.attempt = 2;
  EXPECT_EQ(broker->beat(lease, {}), Broker::Standing::lost);
}

TEST_F(RedisBrokers, FilesLastWithTheChangeThatNamesThem) {
  SharedJob shared = accept("a");
  std::string bytes("\0\xff bytes", 8);
  broker->put_files("a", 1, {{"0.png", bytes}});
  EXPECT_GT(raw->call({"TTL", "omnirt:f:a:1"}).integer(), 0);
  shared.job.state = JobState::done;
  shared.job.attempts = 2;
  shared.files_attempt = 1;
  shared.job.bytes = 8;
  shared.job.result = "{}";
  shared.job.ended_ms = 5;
  broker->put_files("a", 2, {{"0.png", "other"}});
  ASSERT_TRUE(broker->commit(shared, Broker::Move::take_out));
  EXPECT_EQ(raw->call({"TTL", "omnirt:f:a:1"}).integer(), -1);
  EXPECT_EQ(broker->file("a", 1, "0.png"), bytes);
  EXPECT_EQ(broker->file("a", 1, "1.png"), std::nullopt);
  EXPECT_TRUE(broker->files("a", 2).empty());
  const Snapshot now = broker->snapshot();
  EXPECT_TRUE(now.line.empty());
  EXPECT_EQ(now.ended_bytes, 8);
  ASSERT_EQ(now.oldest.size(), 1u);
  EXPECT_EQ(now.oldest[0].ended_ms, 5);
  broker->remove("a");
  EXPECT_FALSE(broker->find("a", false));
  EXPECT_TRUE(broker->files("a", 1).empty());
  EXPECT_EQ(broker->snapshot().ended_bytes, 0);
}

TEST_F(RedisBrokers, JobsAreListedByClientTheNewestFirst) {
  for (const char* id : {"a", "b", "c"}) accept(id);
  std::vector<std::string> ids;
  for (const SharedJob& each : broker->list("c", 2)) ids.push_back(each.job.id);
  EXPECT_THAT(ids, ElementsAre("c", "b"));
  EXPECT_EQ(broker->list("", 10).size(), 3u);
  EXPECT_TRUE(broker->list("other", 10).empty());
}

TEST_F(RedisBrokers, TimesAreLearntAsStepTimesLearnsThem) {
  broker->learn("w", 4, 400, 50);
  broker->learn("w", 4, 800, 90);
  const Snapshot now = broker->snapshot();
  EXPECT_NEAR(*now.times.measured("w", 1, false), 112.5, 1e-3);
  EXPECT_NEAR(*now.times.measured("w", 0, true), 60, 1e-3);
  EXPECT_NEAR(now.times.estimate("other", 1, false), 112.5, 1e-3);
}

// Whoever reaches Redis can write what it likes.
TEST_F(RedisBrokers, MalformedEntriesAndJobsAreDeadLettersAndNoMore) {
  SharedQueue queue(*broker, {}, worker("one"));
  queue.join();
  queue.take(0);  // makes nothing
  const std::string stream = "omnirt:work:encode:m";
  raw->call({"XGROUP", "CREATE", stream, "workers", "0", "MKSTREAM"});
  raw->call({"SADD", "omnirt:streams", stream});
  raw->call({"XADD", stream, "*", "what", "ever"});
  raw->call({"XADD", stream, "*", "job", "nothing"});
  raw->call({"XADD", stream, "*", "job", std::string(100'000, 'x')});
  raw->call({"HSET", "omnirt:j:odd", "v", "1", "d", "{\"id\": 3}"});
  raw->call({"SADD", "omnirt:line", "odd"});
  raw->call({"XADD", stream, "*", "job", "odd"});
  raw->call({"HSET", "omnirt:members", "someone", "no member"});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(queue.take(0));
  EXPECT_EQ(queue.counts().dead_letters, 4);
  EXPECT_EQ(broker->dead_letters(), 5);
  EXPECT_TRUE(broker->snapshot().line.empty());
  EXPECT_EQ(broker->snapshot().members.size(), 1u);
  EXPECT_EQ(raw->call({"XLEN", stream}).integer(), 0);
}

TEST_F(RedisBrokers, ARestartIsSurvivedWithAllThatWasAccepted) {
  accept("a");
  redis->kill();
  RedisBroker impatient(redis->url(), 50);
  EXPECT_THROW(impatient.snapshot(), BrokerLost);
  redis->start();
  EXPECT_TRUE(broker->find("a", false));
  EXPECT_EQ(broker->connections(), 2);
  const Snapshot now = broker->snapshot();
  EXPECT_LT(now.up_ms, 60'000);
}

TEST_F(RedisBrokers, AWrongPasswordIsRefusedAndInNoError) {
  RedisServer guarded("the-right-one");
  RedisUrl url = guarded.url();
  url.password = "the-wrong-one";
  RedisBroker refused(url, 1000);
  try {
    refused.snapshot();
    FAIL();
  } catch (const RunFailed& error) {
    EXPECT_THAT(error.what(), HasSubstr("WRONGPASS"));
    EXPECT_THAT(error.what(), Not(HasSubstr("the-wrong-one")));
  }
  RedisBroker allowed(guarded.url(), 20'000);
  EXPECT_TRUE(allowed.snapshot().line.empty());
}

}  // namespace
}  // namespace omnirt::serve
