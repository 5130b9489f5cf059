// A Redis does what SharedQueue is promised of a broker (MemoryBroker is the other that does).
#include "serve/broker/redis_broker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "serve/broker/shared_queue.hpp"
#include "serve/records.hpp"
#include "serve/redis_server.hpp"
#include "serve/stored_record.hpp"

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
  SharedJob first = accept(job_id("a")), second = first;
  first.job.steps = 5;
  EXPECT_TRUE(broker->commit(first, Broker::Move::stay));
  second.job.steps = 7;
  EXPECT_FALSE(broker->commit(second, Broker::Move::stay));
  const auto found = broker->find(job_id("a"), true);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->job.steps, 5);
  EXPECT_EQ(found->job.request, "{}");
  EXPECT_EQ(found->version, 2);
  EXPECT_FALSE(broker->find(job_id("b"), false));
}

TEST_F(RedisBrokers, AnEntryIsGivenToOneWorkerAndClaimedOfASilentOne) {
  SharedJob shared = accept(job_id("a"));
  ASSERT_TRUE(broker->commit(shared, Broker::Move::put_in));
  auto entry = broker->next(worker("one"), 0);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->job, job_id("a"));
  EXPECT_EQ(entry->id, shared.entry);
  EXPECT_EQ(entry->stream, shared.stream);
  EXPECT_FALSE(broker->next(worker("two"), 0));
  EXPECT_TRUE(broker->pending(worker("two")).empty());
  ASSERT_EQ(broker->pending(worker("one")).size(), 1u);
  EXPECT_EQ(broker->pending(worker("one"))[0].job, job_id("a"));
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
  SharedJob shared = accept(job_id("a"));
  shared.job.state = JobState::running;
  shared.job.attempts = 1;
  shared.worker = "one";
  ASSERT_TRUE(broker->commit(shared, Broker::Move::put_in));
  broker->next(worker("one"), 0);
  WorkLease lease{job_id("a"), 1, shared.entry, shared.stream, "one"};
  RunNews news{.events = {{"progress", R"({"step":1})"}, {"preview", R"({"data":"image"})"}},
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
    EXPECT_EQ(each.event.data == R"({"data":"image"})", each.event.type == "preview");
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
  SharedJob shared = accept(job_id("a"));
  std::string bytes("\0\xff bytes", 8);
  broker->put_files(job_id("a"), 1, {{"0.png", bytes}});
  EXPECT_GT(raw->call({"TTL", "omnirt:f:" + job_id("a") + ":1"}).integer(), 0);
  shared.job.state = JobState::done;
  shared.job.attempts = 2;
  shared.files_attempt = 1;
  shared.job.bytes = 8;
  shared.job.result = "{}";
  shared.job.ended_ms = 5;
  broker->put_files(job_id("a"), 2, {{"0.png", "other"}});
  ASSERT_TRUE(broker->commit(shared, Broker::Move::take_out));
  EXPECT_EQ(raw->call({"TTL", "omnirt:f:" + job_id("a") + ":1"}).integer(), -1);
  EXPECT_EQ(broker->file(job_id("a"), 1, "0.png"), bytes);
  EXPECT_EQ(broker->file(job_id("a"), 1, "1.png"), std::nullopt);
  EXPECT_TRUE(broker->files(job_id("a"), 2).empty());
  const Snapshot now = broker->snapshot();
  EXPECT_TRUE(now.line.empty());
  EXPECT_EQ(now.ended_bytes, 8);
  ASSERT_EQ(now.oldest.size(), 1u);
  EXPECT_EQ(now.oldest[0].ended_ms, 5);
  broker->remove(job_id("a"));
  EXPECT_FALSE(broker->find(job_id("a"), false));
  EXPECT_TRUE(broker->files(job_id("a"), 1).empty());
  EXPECT_EQ(broker->snapshot().ended_bytes, 0);
}

TEST_F(RedisBrokers, JobsAreListedByClientTheNewestFirst) {
  for (const char* name : {"a", "b", "c"}) accept(job_id(name));
  std::vector<std::string> ids;
  for (const SharedJob& each : broker->list("c", 2)) ids.push_back(each.job.id);
  EXPECT_THAT(ids, ElementsAre(job_id("c"), job_id("b")));
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

// All that servers and workers do with one job.
void live_through(RedisBrokers& test, const std::string& id) {
  RedisBroker& broker = *test.broker;
  const Member one = worker("one");
  broker.join(one);
  SharedJob shared = test.accept(id);
  ASSERT_TRUE(broker.commit(shared, Broker::Move::put_in));
  std::optional<WorkEntry> entry;
  while (!entry) entry = broker.next(one, 10);
  EXPECT_EQ(entry->job, id);
  broker.claim(one, 3'600'000);
  shared.job.state = JobState::running;
  shared.job.attempts = 1;
  shared.worker = "one";
  ASSERT_TRUE(broker.commit(shared, Broker::Move::stay));
  const WorkLease lease{id, 1, shared.entry, shared.stream, "one"};
  EXPECT_EQ(broker.beat(lease, {.client = "c", .computed_ms = 1}), Broker::Standing::held);
  broker.put_files(id, 1, {{"0.png", "bytes"}});
  shared.job.state = JobState::done;
  shared.job.result = one_image_result;
  shared.job.bytes = 5;
  shared.files_attempt = 1;
  ASSERT_TRUE(broker.commit(shared, Broker::Move::take_out));
  broker.learn("w", 4, 400, 50);
  EXPECT_EQ(broker.file(id, 1, "0.png"), "bytes");
  EXPECT_EQ(broker.list("", 9).size(), 1u);
  broker.snapshot();
  broker.remove(id);
  broker.leave("one");
  EXPECT_FALSE(broker.find(id, false));
}

// A key of another type, at any moment, costs what it held and nothing else.
TEST_F(RedisBrokers, KeysOfAnotherTypeStopNobody) {
  const std::string id = job_id("a");
  for (const std::string name :
       {"line", "members", "seen", "shares", "clients", "times", "ended", "jobs", "jobs:c",
        "streams", "events", "dead", "ended_bytes", "work:encode:m"}) {
    SCOPED_TRACE(name);
    raw->call({"FLUSHALL"});
    raw->call({"LPUSH", "omnirt:" + name, "x"});
    live_through(*this, id);
  }
  for (const std::string& name : {"j:" + id, "f:" + id + ":1"}) {
    SCOPED_TRACE(name);
    raw->call({"FLUSHALL"});
    raw->call({"LPUSH", "omnirt:" + name, "x"});
    live_through(*this, id);
  }
}

TEST_F(RedisBrokers, ValuesThatAreNoNumbersStopNobody) {
  const std::string id = job_id("a");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"HSET", "omnirt:shares", "c", "much"},
           {"HSET", "omnirt:shares", "other", "nan"},
           {"HSET", "omnirt:clients", "c", "many"},
           {"SET", "omnirt:ended_bytes", "1e5"},
           {"HSET", "omnirt:times", "w", "nan inf"},
           {"ZADD", "omnirt:ended", "inf", "../../x"},
           {"HSET", "omnirt:seen", "one", "soon"},
           {"SADD", "omnirt:streams", "someone's stream"},
           {"HSET", "omnirt:j:" + id, "n", "x"},
           {"HSET", "omnirt:j:" + id, "e", "1-1", "s", "omnirt:line"}}) {
    SCOPED_TRACE(words[1] + " " + words[2]);
    raw->call({"FLUSHALL"});
    raw->call(RedisConnection::Words(words.begin(), words.end()));
    live_through(*this, id);
  }
}

// Each is noted once, and the jobs around it go on.
TEST_F(RedisBrokers, AJobThatCannotBeReadIsOneDeadLetter) {
  SharedJob good;
  good.job.id = job_id("bad");
  const std::string text = shared_job_text(good), id = good.job.id;
  using Words = std::vector<std::string>;
  const std::vector<std::pair<std::string, Words>> all{
      {"", {"HSET", "omnirt:j:", "v", "1", "d", text}},
      {"/home/x/photos", {"HSET", "omnirt:j:/home/x/photos", "v", "1", "d", text}},
      {"../../x\n", {"HSET", "omnirt:j:../../x\n", "v", "1", "d", text}},
      {id, {"HSET", "omnirt:j:" + id, "v", "one", "d", text}},
      {id, {"HSET", "omnirt:j:" + id, "d", text}},
      {id, {"HSET", "omnirt:j:" + id, "v", "1", "d", "{}"}},
      {id, {"HSET", "omnirt:j:" + id, "v", "1", "d", std::string(100'000, 'x')}},
      {id, {"HSET", "omnirt:j:" + id, "v", "1", "d", text, "e", "1-1", "s", "someone's"}},
      {id, {"SET", "omnirt:j:" + id, "x"}},
      {job_id("other"), {"HSET", "omnirt:j:" + job_id("other"), "v", "1", "d", text}}};
  accept(job_id("a"));
  int64_t letters = 0;
  for (const auto& [bad, words] : all) {
    SCOPED_TRACE(bad + " " + words.back().substr(0, 50));
    raw->call(RedisConnection::Words(words.begin(), words.end()));
    raw->call({"SADD", "omnirt:line", bad});
    raw->call({"ZADD", "omnirt:jobs", "1", bad});
    EXPECT_EQ(broker->list("", 9).size(), 1u);
    EXPECT_EQ(broker->snapshot().line.size(), 1u);
    EXPECT_EQ(broker->snapshot().line.size(), 1u);
    EXPECT_EQ(broker->dead_letters(), ++letters);
    EXPECT_FALSE(broker->find(bad, false));
    raw->call({"DEL", "omnirt:j:" + bad});
  }
}

TEST_F(RedisBrokers, FilesOfAJobAreFewAndNamedAsFiles) {
  const std::string key = "omnirt:f:" + job_id("a") + ":0";
  raw->call({"HSET", key, "../../x", "bytes"});
  EXPECT_THROW(broker->files(job_id("a"), 0), InvalidFile);
  EXPECT_EQ(broker->file(job_id("a"), 0, "../../x"), std::nullopt);
  raw->call({"DEL", key});
  std::vector<std::string> words{"HSET", key};
  for (size_t i = 0; i <= max_job_files; ++i) {
    words.push_back(std::to_string(i) + ".png");
    words.emplace_back("x");
  }
  raw->call(RedisConnection::Words(words.begin(), words.end()));
  EXPECT_THAT([&] { broker->files(job_id("a"), 0); },
              ::testing::ThrowsMessage<InvalidFile>(HasSubstr("1200 files")));
}

TEST_F(RedisBrokers, EventsThatNoServerWritesAreSkipped) {
  const std::string id = job_id("a");
  for (const std::string data : {"", "3", "[]", "{}", "{\"a\":1}\ndata: x"})
    raw->call({"XADD", "omnirt:events", "*", "job", id, "n", "5", "k", "progress", "d", data});
  raw->call({"XADD", "omnirt:events", "*", "job", "../x", "n", "5", "k", "forgotten"});
  raw->call({"XADD", "omnirt:events", "*", "what", "ever"});
  raw->call({"XADD", "omnirt:events", "*", "job", id, "n", "x", "k", "preview", "d", ""});
  raw->call({"LPUSH", "omnirt:preview:" + job_id("b"), "x"});
  raw->call({"XADD", "omnirt:events", "*", "job", job_id("b"), "n", "5", "k", "preview"});
  accept(id);
  std::string after = "0";
  const std::vector<SharedEvent> all = broker->events(after, 10);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].event.type, "state");
  EXPECT_TRUE(broker->events(after, 10).empty());
}

// Full at maxmemory: no new jobs, but processes live on, runs end and jobs are forgotten.
TEST_F(RedisBrokers, AtMaxmemoryOnlyWhatTakesMemoryIsRefused) {
  SharedJob shared = accept(job_id("a"));
  shared.job.state = JobState::running;
  shared.job.attempts = 1;
  shared.worker = "one";
  ASSERT_TRUE(broker->commit(shared, Broker::Move::put_in));
  raw->call({"CONFIG", "SET", "maxmemory", "1"});
  SharedJob more;
  more.job.id = job_id("b");
  EXPECT_THROW(broker->commit(more, Broker::Move::stay), BrokerLost);
  EXPECT_THROW(broker->put_files(job_id("b"), 0, {{"0.png", "bytes"}}), BrokerLost);
  EXPECT_THROW(broker->try_write(), BrokerLost);
  broker->join(worker("one"));
  const WorkLease lease{job_id("a"), 1, shared.entry, shared.stream, "one"};
  EXPECT_EQ(broker->beat(lease, {.events = {{"progress", "{}"}}, .client = "c"}),
            Broker::Standing::held);
  // Others could not beat either: nobody is taken for dead because of that.
  EXPECT_LT(broker->snapshot().up_ms, 1000);
  shared.job.state = JobState::failed;
  EXPECT_TRUE(broker->commit(shared, Broker::Move::take_out));
  broker->remove(job_id("a"));
  EXPECT_FALSE(broker->find(job_id("a"), false));
  raw->call({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(broker->commit(more, Broker::Move::stay));
}

TEST_F(RedisBrokers, AReplicaOrANewPasswordIsABrokerThatMayComeBack) {
  RedisBroker impatient(redis->url(), 30);
  raw->call({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_THROW(impatient.join(worker("one")), BrokerLost);
  EXPECT_THROW(impatient.try_write(), BrokerLost);
  raw->call({"REPLICAOF", "NO", "ONE"});
  broker->try_write();  // reconnects as long as it is patient
  raw->call({"CONFIG", "SET", "requirepass", "new"});
  RedisBroker other(redis->url(), 30);
  EXPECT_THAT([&] { other.now_ms(); }, ::testing::ThrowsMessage<BrokerLost>(HasSubstr("NOAUTH")));
}

TEST_F(RedisBrokers, ARestartIsSurvivedWithAllThatWasAccepted) {
  accept(job_id("a"));
  redis->kill();
  RedisBroker impatient(redis->url(), 50);
  EXPECT_THROW(impatient.snapshot(), BrokerLost);
  redis->start();
  EXPECT_TRUE(broker->find(job_id("a"), false));
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
  } catch (const BrokerLost& error) {
    EXPECT_THAT(error.what(), HasSubstr("WRONGPASS"));
    EXPECT_THAT(error.what(), Not(HasSubstr("the-wrong-one")));
  }
  RedisBroker allowed(guarded.url(), 20'000);
  EXPECT_TRUE(allowed.snapshot().line.empty());
}

}  // namespace
}  // namespace omnirt::serve
