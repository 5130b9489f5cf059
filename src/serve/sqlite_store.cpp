#include "serve/sqlite_store.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.hpp"
#include "serve/sqlite_database.hpp"
#include "serve/stored_record.hpp"

namespace omnirt::serve {
namespace {

// Of the tables; another is a database of another version of this program.
constexpr int64_t version = 1;

std::string tables() {
  return fmt::format(
      "CREATE TABLE jobs ("
      "id TEXT PRIMARY KEY CHECK(length(id) <= {word}), number INTEGER NOT NULL, "
      "client TEXT NOT NULL CHECK(length(client) <= {word}), "
      "model TEXT NOT NULL CHECK(length(model) <= {word}), "
      "work TEXT NOT NULL CHECK(length(work) <= {word}), "
      "request TEXT NOT NULL CHECK(length(request) <= {request}), "
      "priority INTEGER NOT NULL, steps INTEGER NOT NULL, created_ms INTEGER NOT NULL, "
      "deadline_ms INTEGER NOT NULL, started_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL, "
      "attempts INTEGER NOT NULL, crashes INTEGER NOT NULL, state TEXT NOT NULL, "
      "cancelling INTEGER NOT NULL, waited_for INTEGER NOT NULL, "
      "reason_kind TEXT NOT NULL CHECK(length(reason_kind) <= {word}), "
      "reason TEXT NOT NULL CHECK(length(reason) <= {reason}), "
      "result TEXT NOT NULL CHECK(length(result) <= {result}), bytes INTEGER NOT NULL) "
      "WITHOUT ROWID; PRAGMA user_version = {version}",
      fmt::arg("word", max_job_word_bytes), fmt::arg("request", max_job_request_bytes),
      fmt::arg("reason", max_job_reason_bytes), fmt::arg("result", max_job_result_bytes),
      fmt::arg("version", version));
}

// The request of what has ended is not read again, and its result when it is asked for.
constexpr const char* select_all =
    "SELECT id, number, client, model, work, "
    "CASE WHEN state IN ('queued', 'running') THEN request ELSE '' END, priority, steps, "
    "created_ms, deadline_ms, started_ms, ended_ms, attempts, crashes, state, cancelling, "
    "waited_for, reason_kind, reason, bytes FROM jobs ORDER BY number";
constexpr const char* insert_one =
    "INSERT INTO jobs (priority, steps, created_ms, deadline_ms, started_ms, ended_ms, attempts, "
    "crashes, state, cancelling, reason_kind, reason, result, bytes, id, number, client, model, "
    "work, request, waited_for) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
constexpr const char* update_one =
    "UPDATE jobs SET priority=?, steps=?, created_ms=?, deadline_ms=?, started_ms=?, ended_ms=?, "
    "attempts=?, crashes=?, state=?, cancelling=?, reason_kind=?, reason=?, result=?, bytes=? "
    "WHERE id=?";

void bind_what_changes(SqliteStatement& statement, const Job& job) {
  statement.reset();
  statement.bind(static_cast<int64_t>(job.priority)).bind(job.steps).bind(job.created_ms);
  statement.bind(job.deadline_ms).bind(job.started_ms).bind(job.ended_ms);
  statement.bind(job.attempts).bind(job.crashes).bind(std::string(name_of(job.state)));
  statement.bind(int64_t{job.cancelling}).bind(job.reason.kind).bind(job.reason.message);
  statement.bind(job.result).bind(job.bytes).bind(job.id);
}

// A row that some other program has changed to what no version of this one writes is a dead job.
void read_state(const std::string& text, Job& job) {
  if (auto state = choice_of<JobState>(text)) {
    job.state = *state;
    return;
  }
  job.state = JobState::dead;
  job.reason = {"InvalidFile", "the store holds an unknown state of this job"};
}

Job read_job(const SqliteStatement& row) {
  Job job;
  int at = 0;
  auto text = [&] { return row.text(at++); };
  auto number = [&] { return row.integer(at++); };
  job.id = text();
  job.number = number();
  job.client = text();
  job.model = text();
  job.work = text();
  job.request = text();
  job.priority = static_cast<Priority>(std::clamp<int64_t>(number(), 0, 2));
  job.steps = std::max<int64_t>(number(), 1);
  job.created_ms = number();
  job.deadline_ms = number();
  job.started_ms = number();
  job.ended_ms = number();
  job.attempts = number();
  job.crashes = number();
  const std::string state = text();
  job.cancelling = number() != 0;
  job.waited_for = number() != 0;
  job.reason.kind = text();
  job.reason.message = text();
  job.bytes = std::max<int64_t>(number(), 0);
  read_state(state, job);
  check_stored_job(job);
  return job;
}

}  // namespace

struct SqliteJobStore::Database {
  explicit Database(const std::filesystem::path& file) : connection(file) { make_tables(file); }

  void make_tables(const std::filesystem::path& file) {
    SqliteStatement asked(connection, "PRAGMA user_version");
    const int64_t found = asked.step() ? asked.integer(0) : 0;
    asked.reset();
    if (found == version) return;
    if (found != 0) {
      throw InvalidFile(
          {file.string(), fmt::format("version {}", found),
           fmt::format("holds jobs of another version; this program's is {}", version),
           "name another folder"});
    }
    connection.execute("BEGIN IMMEDIATE; " + tables() + "; COMMIT");
  }

  SqliteDatabase connection;
};

SqliteJobStore::SqliteJobStore(const std::filesystem::path& file)
    : database_(std::make_unique<Database>(file)),
      insert_(std::make_unique<SqliteStatement>(database_->connection, insert_one)),
      update_(std::make_unique<SqliteStatement>(database_->connection, update_one)),
      remove_(
          std::make_unique<SqliteStatement>(database_->connection, "DELETE FROM jobs WHERE id=?")),
      result_(std::make_unique<SqliteStatement>(database_->connection,
                                                "SELECT result FROM jobs WHERE id=?")) {}
SqliteJobStore::~SqliteJobStore() = default;

std::vector<Job> SqliteJobStore::load() {
  SqliteStatement rows(database_->connection, select_all);
  std::vector<Job> all;
  while (rows.step()) {
    try {
      all.push_back(read_job(rows));
    } catch (const InvalidFile& error) {
      spdlog::error("a job in the database is ignored: {}", error.what());
    }
  }
  return all;
}

void SqliteJobStore::insert(const Job& job) {
  // Before its end a restart cancels it, and so does one that does not find it.
  database_->connection.flush_commits(!job.waited_for);
  bind_what_changes(*insert_, job);
  insert_->bind(job.number).bind(job.client).bind(job.model).bind(job.work).bind(job.request);
  insert_->bind(int64_t{job.waited_for});
  insert_->run();
}

void SqliteJobStore::update(const Job& job) {
  // A job that has begun is queued again by a restart, as one is that was not stored as begun.
  database_->connection.flush_commits(job.state != JobState::running || job.cancelling);
  bind_what_changes(*update_, job);
  update_->run();
}

void SqliteJobStore::remove(const std::string& id) {
  database_->connection.flush_commits(true);
  remove_->reset();
  remove_->bind(id);
  remove_->run();
}

std::string SqliteJobStore::result(const std::string& id) {
  result_->reset();
  result_->bind(id);
  std::string found = result_->step() ? result_->text(0) : "";
  result_->reset();
  return found;
}

}  // namespace omnirt::serve
