#include "serve/job_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "serve/job_files.hpp"
#include "serve/records.hpp"
#include "serve/sqlite_store.hpp"
#include "serve/state_folder.hpp"
#include "serve/temporary.hpp"
#include "serve/temporary_store.hpp"

namespace omnirt::serve {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Job full_job() {
  Job job;
  job.id = job_id("j1");
  job.number = 7;
  job.client = "a";
  job.model = "m";
  job.work = "w";
  job.request = "{\"prompt\": \"\u00e9\"}";
  job.priority = Priority::high;
  job.steps = 9;
  job.created_ms = 1;
  job.deadline_ms = 2;
  job.waited_for = true;
  return job;
}

TEST(SqliteJobStore, KeepsJobsBeyondTheProcess) {
  Temporary folder;
  Job job = full_job();
  {
    SqliteJobStore store(folder.path() / "jobs.sqlite");
    store.insert(job);
    job.state = JobState::running;
    job.started_ms = 3;
    job.attempts = 2;
    job.crashes = 1;
    job.cancelling = true;
    job.reason = {"Cancelled", "why"};
    store.update(job);
  }
  SqliteJobStore store(folder.path() / "jobs.sqlite");
  const std::vector<Job> all = store.load();
  ASSERT_EQ(all.size(), 1u);
  const Job& read = all.front();
  EXPECT_EQ(read.id, job.id);
  EXPECT_EQ(read.number, 7);
  EXPECT_EQ(read.client, "a");
  EXPECT_EQ(read.request, job.request);
  EXPECT_EQ(read.priority, Priority::high);
  EXPECT_EQ(read.steps, 9);
  EXPECT_EQ(read.deadline_ms, 2);
  EXPECT_EQ(read.started_ms, 3);
  EXPECT_EQ(read.attempts, 2);
  EXPECT_EQ(read.crashes, 1);
  EXPECT_EQ(read.state, JobState::running);
  EXPECT_TRUE(read.cancelling);
  EXPECT_TRUE(read.waited_for);
  EXPECT_EQ(read.reason, job.reason);
}

TEST(SqliteJobStore, GivesTheResultOfAJobWhenAsked) {
  Temporary folder;
  SqliteJobStore store(folder.path() / "jobs.sqlite");
  Job job = full_job();
  store.insert(job);
  job.state = JobState::done;
  job.result = R"({"artifacts": []})";
  store.update(job);
  EXPECT_EQ(store.load().at(0).result, "");
  EXPECT_EQ(store.result(job_id("j1")), job.result);
  EXPECT_EQ(store.result(job_id("j1")), job.result);
  EXPECT_EQ(store.result(job_id("none")), "");
}

TEST(TemporaryJobStore, KeepsResultsAsFilesOfItsFolder) {
  Temporary folder;
  TemporaryJobStore store(folder.path() / "results");
  Job job = full_job();
  store.insert(job);
  job.state = JobState::done;
  job.result = "{}";
  store.update(job);
  EXPECT_EQ(store.result(job_id("j1")), "{}");
  store.remove(job_id("j1"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "results"));
  EXPECT_THROW(store.result(job_id("j1")), Error);
  // Of a folder that was tidied up, and of one that cannot be written to.
  std::filesystem::remove_all(folder.path() / "results");
  store.update(job);
  EXPECT_EQ(store.result(job_id("j1")), "{}");
  std::filesystem::create_directories(folder.path() / "results" / job_id("j2"));
  job.id = job_id("j2");
  EXPECT_THROW(store.update(job), RunFailed);
}

TEST(SqliteJobStore, ForgetsWhatIsRemoved) {
  Temporary folder;
  SqliteJobStore store(folder.path() / "jobs.sqlite");
  store.insert(full_job());
  store.remove(job_id("j1"));
  store.remove(job_id("j1"));
  EXPECT_THAT(store.load(), IsEmpty());
}

TEST(SqliteJobStore, IsOpenOnce) {
  Temporary folder;
  SqliteJobStore store(folder.path() / "jobs.sqlite");
  EXPECT_THAT([&] { SqliteJobStore(folder.path() / "jobs.sqlite"); },
              ::testing::ThrowsMessage<InvalidRequest>(HasSubstr("another server")));
}

TEST(SqliteJobStore, RefusesAFileThatIsNoDatabase) {
  Temporary folder;
  std::ofstream(folder.path() / "jobs.sqlite") << std::string(5000, 'x');
  EXPECT_THROW(SqliteJobStore(folder.path() / "jobs.sqlite"), InvalidFile);
}

TEST(SqliteJobStore, TextsAreBoundedByTheDatabase) {
  Temporary folder;
  SqliteJobStore store(folder.path() / "jobs.sqlite");
  Job job = full_job();
  job.request = std::string(max_job_request_bytes + 1, 'x');
  EXPECT_THROW(store.insert(job), RunFailed);
  EXPECT_THAT(store.load(), IsEmpty());
}

TEST(SqliteJobStore, AStateThatIsUnknownIsADeadJob) {
  Temporary folder;
  const std::string file = (folder.path() / "jobs.sqlite").string();
  {
    SqliteJobStore store(file);
    store.insert(full_job());
  }
  sqlite3* handle = nullptr;
  sqlite3_open(file.c_str(), &handle);
  sqlite3_exec(handle, "UPDATE jobs SET state = 'odd', priority = 99", nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  EXPECT_EQ(SqliteJobStore(file).load().at(0).state, JobState::dead);
}

// Rows that another program has written. Each in turn is left alone, and the others are read.
TEST(SqliteJobStore, ARowThatThisProgramWouldNotWriteIsIgnored) {
  for (const std::string change :
       {"id = '/home/x/photos'", "id = '../../dir'", "id = ''", "id = upper(id) || 'G'", "id = 'a'",
        "attempts = 1e15", "attempts = -1", "crashes = 99999", "number = -3",
        "ended_ms = 9223372036854775807", "created_ms = -9223372036854775807",
        "bytes = 9223372036854775807", "steps = 9223372036854775807"}) {
    Temporary folder(Temporary::in_memory());
    const std::string file = (folder.path() / "jobs.sqlite").string();
    {
      SqliteJobStore store(file);
      Job job = full_job();
      store.insert(job);
      job.id = job_id("j2");
      store.insert(job);
    }
    sqlite3* handle = nullptr;
    sqlite3_open(file.c_str(), &handle);
    const std::string sql = "UPDATE jobs SET " + change + " WHERE id = '" + job_id("j1") + "'";
    ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    sqlite3_close(handle);
    const std::vector<Job> all = SqliteJobStore(file).load();
    ASSERT_EQ(all.size(), 1u) << change;
    EXPECT_EQ(all[0].id, job_id("j2")) << change;
  }
}

// The umask of the process is the usual one here.
TEST(StateFolder, IsReadByItsUserOnly) {
  Temporary scratch;
  const auto mode = [](const std::filesystem::path& path) {
    return std::filesystem::status(path).permissions();
  };
  const std::filesystem::path made = scratch.path() / "above" / "state";
  const StateFolder folder(made.string());
  SqliteJobStore store(made / "jobs.sqlite");
  store.insert(full_job());
  EXPECT_EQ(mode(made), std::filesystem::perms(0700));
  EXPECT_EQ(mode(made / "jobs.sqlite"), std::filesystem::perms(0600));
  EXPECT_EQ(mode(made / "jobs.sqlite-wal"), std::filesystem::perms(0600));
}

TEST(StateFolder, OneOfAnEarlierVersionIsClosedToOthers) {
  namespace fs = std::filesystem;
  for (const bool shared : {false, true}) {
    Temporary scratch;
    const fs::path old = scratch.path();
    fs::permissions(old, fs::perms(0755));
    for (const char* name : {"jobs.sqlite", "jobs.sqlite-wal"}) {
      std::ofstream(old / name) << "";
      fs::permissions(old / name, fs::perms(0644));
    }
    fs::create_directories(old / "jobs");
    // Of a folder that others use too, only the server's own files are closed.
    if (shared) std::ofstream(old / "notes.txt") << "";
    const StateFolder folder(old.string() + "/");
    EXPECT_EQ(fs::status(old).permissions(), fs::perms(shared ? 0755 : 0700));
    EXPECT_EQ(fs::status(old / "jobs.sqlite").permissions(), fs::perms(0600));
    EXPECT_EQ(fs::status(old / "jobs.sqlite-wal").permissions(), fs::perms(0600));
    EXPECT_EQ(fs::status(old / "jobs").permissions(), fs::perms(0700));
    const auto notes = fs::status(old / "notes.txt");
    EXPECT_TRUE(!shared || (notes.permissions() & fs::perms::others_read) != fs::perms::none);
  }
}

TEST(JobFiles, AreWholeAndGoWithTheirJob) {
  Temporary folder;
  JobFiles files(folder.path() / "jobs");
  files.begin(job_id("a"));
  files.write(job_id("a"), "0.png", "bytes");
  files.begin(job_id("b"));
  EXPECT_EQ(files.bytes_of(job_id("a")), 5);
  EXPECT_EQ(std::filesystem::file_size(files.folder_of(job_id("a")) / "0.png"), 5u);
  const auto mode = std::filesystem::status(files.folder_of(job_id("a")) / "0.png").permissions();
  EXPECT_EQ(mode, std::filesystem::perms(0600));
  files.sweep({job_id("a")});
  EXPECT_FALSE(std::filesystem::exists(files.folder_of(job_id("b"))));
  std::filesystem::remove_all(folder.path() / "jobs");
  files.begin(job_id("c"));
  EXPECT_TRUE(std::filesystem::exists(files.folder_of(job_id("c"))));
  files.remove(job_id("a"));
  EXPECT_FALSE(std::filesystem::exists(files.folder_of(job_id("a"))));
  EXPECT_THROW(files.write(job_id("a"), "0.png", "bytes"), Error);
}

// Every function, with every kind of id and name that may come from Redis or a database.
TEST(JobFiles, ReachNothingOutsideOfTheirFolder) {
  namespace fs = std::filesystem;
  Temporary scratch;
  const fs::path victim = scratch.path() / "photos";
  fs::create_directories(victim);
  std::ofstream(victim / "a.txt") << "precious";
  JobFiles files(scratch.path() / "jobs");
  files.fetch = [](const std::string&, const std::string&) { return "from elsewhere"; };
  files.begin(job_id("a"));
  for (const std::string& id :
       {victim.string(), std::string("../photos"), std::string("."), std::string(".."),
        std::string(), std::string("a"), job_id("a") + "/..", job_id("a") + '\0',
        std::string(32, 'A'), std::string(33, 'a')}) {
    EXPECT_THROW(files.folder_of(id), InvalidFile) << id;
    EXPECT_THROW(files.path_of(id, "0.png"), InvalidFile) << id;
    EXPECT_THROW(files.begin(id), InvalidFile) << id;
    EXPECT_THROW(files.write(id, "0.png", "x"), InvalidFile) << id;
    EXPECT_THROW(files.sync(id), InvalidFile) << id;
    EXPECT_THROW(files.note_use(id, "style"), InvalidFile) << id;
    EXPECT_THROW(files.bytes_of(id), InvalidFile) << id;
    files.remove(id);
  }
  const std::string up = "../../photos/";
  for (const std::string& name :
       {up + "a.txt", up + "new.txt", (victim / "a.txt").string(), std::string(), std::string("."),
        std::string(".."), std::string("a/b"), std::string("a\\b"), std::string("a\nb"),
        std::string("a\"b"), std::string("a\0b", 3), std::string(256, 'a')}) {
    EXPECT_THROW(files.path_of(job_id("a"), name), InvalidFile) << name;
    EXPECT_THROW(files.write(job_id("a"), name, "x"), InvalidFile) << name;
  }
  EXPECT_TRUE(files.users_of(up + "a.txt").empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(victim), fs::directory_iterator()), 1);
  EXPECT_EQ(fs::file_size(victim / "a.txt"), 8u);
  EXPECT_TRUE(fs::exists(files.folder_of(job_id("a"))));
}

}  // namespace
}  // namespace omnirt::serve
