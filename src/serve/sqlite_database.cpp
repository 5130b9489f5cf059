#include "serve/sqlite_database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/path_text.hpp"

#include "base/error.hpp"

namespace omnirt::serve {
namespace {

// More than any row of this program holds.
constexpr int max_row_bytes = 8 << 20;

// Readable by this user only, and so are the logs, to which SQLite gives the permissions of the
// database. Whether it can be made at all SQLite says.
void make_owned(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) ::close(fd);
}

}  // namespace

SqliteDatabase::SqliteDatabase(const std::filesystem::path& file) : file_(file) {
  make_owned(file);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  const int code = sqlite3_open_v2(file.c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    const std::string why = sqlite3_errstr(code);
    sqlite3_close(handle_);
    throw InvalidRequest({"state", file.string(), "cannot be opened: " + why,
                          "name a folder that this user may write to"});
  }
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, max_row_bytes);
  try {
    execute("PRAGMA trusted_schema = OFF");
    execute("PRAGMA cell_size_check = ON");
    // Before the log is opened: it then needs no shared memory, and no one else gets in.
    execute("PRAGMA locking_mode = EXCLUSIVE");
    execute("PRAGMA journal_mode = WAL");
    execute("PRAGMA synchronous = FULL");
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

SqliteDatabase::~SqliteDatabase() {
  sqlite3_close(handle_);
}

void SqliteDatabase::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

void SqliteDatabase::flush_commits(bool flush) {
  if (flush == flushes_) return;
  execute(flush ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  flushes_ = flush;
}

void SqliteDatabase::fail(int code) const {
  const std::string why = fmt::format("{}: {}", path_text(file_), sqlite3_errmsg(handle_));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw InvalidRequest({"state", file_.string(), "another server has it open",
                            "stop that server, or name another folder"});
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      throw InvalidFile({file_.string(), "", fmt::format("is no whole database of jobs ({})", why),
                         "move it elsewhere; the server then begins without jobs"});
    default:
      throw RunFailed("the store of jobs failed: " + why);
  }
}

SqliteStatement::SqliteStatement(SqliteDatabase& database, const char* sql) : database_(database) {
  const int code =
      sqlite3_prepare_v3(database.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
  if (code != SQLITE_OK) database.fail(code);
}

SqliteStatement::~SqliteStatement() {
  sqlite3_finalize(handle_);
}

SqliteStatement& SqliteStatement::bind(int64_t value) {
  const int code = sqlite3_bind_int64(handle_, ++bound_, value);
  if (code != SQLITE_OK) database_.fail(code);
  return *this;
}

SqliteStatement& SqliteStatement::bind(const std::string& text) {
  const int code = sqlite3_bind_text64(handle_, ++bound_, text.data(), text.size(),
                                       SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) database_.fail(code);
  return *this;
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  reset();
  database_.fail(code);
}

int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(handle_, column);
}

std::string SqliteStatement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  return bytes ? std::string(bytes, sqlite3_column_bytes(handle_, column)) : "";
}

void SqliteStatement::run() {
  while (step()) {
  }
  reset();
}

void SqliteStatement::reset() {
  sqlite3_reset(handle_);
  bound_ = 0;
}

}  // namespace omnirt::serve
