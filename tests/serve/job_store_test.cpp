#include "serve/job_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "serve/job_files.hpp"
#include "serve/sqlite_store.hpp"
#include "serve/temporary.hpp"
#include "serve/temporary_store.hpp"

namespace omnirt::serve {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Job full_job() {
  Job job;
  job.id = "j1";
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
  EXPECT_EQ(store.result("j1"), job.result);
  EXPECT_EQ(store.result("j1"), job.result);
  EXPECT_EQ(store.result("none"), "");
}

TEST(TemporaryJobStore, KeepsResultsAsFilesOfItsFolder) {
  Temporary folder;
  TemporaryJobStore store(folder.path() / "results");
  Job job = full_job();
  store.insert(job);
  job.state = JobState::done;
  job.result = "{}";
  store.update(job);
  EXPECT_EQ(store.result("j1"), "{}");
  store.remove("j1");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "results"));
  EXPECT_THROW(store.result("j1"), Error);
  // Of a folder that was tidied up, and of one that cannot be written to.
  std::filesystem::remove_all(folder.path() / "results");
  store.update(job);
  EXPECT_EQ(store.result("j1"), "{}");
  std::filesystem::create_directories(folder.path() / "results" / "j2");
  job.id = "j2";
  EXPECT_THROW(store.update(job), RunFailed);
}

TEST(SqliteJobStore, ForgetsWhatIsRemoved) {
  Temporary folder;
  SqliteJobStore store(folder.path() / "jobs.sqlite");
  store.insert(full_job());
  store.remove("j1");
  store.remove("j1");
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

TEST(JobFiles, AreWholeAndGoWithTheirJob) {
  Temporary folder;
  JobFiles files(folder.path() / "jobs");
  files.begin("a");
  files.write("a", "0.png", "bytes");
  files.begin("b");
  EXPECT_EQ(files.bytes_of("a"), 5);
  EXPECT_EQ(std::filesystem::file_size(files.folder_of("a") / "0.png"), 5u);
  const auto mode = std::filesystem::status(files.folder_of("a") / "0.png").permissions();
  EXPECT_EQ(mode, std::filesystem::perms(0600));
  files.sweep({"a"});
  EXPECT_FALSE(std::filesystem::exists(files.folder_of("b")));
  std::filesystem::remove_all(folder.path() / "jobs");
  files.begin("c");
  EXPECT_TRUE(std::filesystem::exists(files.folder_of("c")));
  files.remove("a");
  EXPECT_FALSE(std::filesystem::exists(files.folder_of("a")));
  EXPECT_THROW(files.write("a", "0.png", "bytes"), Error);
}

}  // namespace
}  // namespace omnirt::serve
