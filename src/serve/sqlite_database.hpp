#pragma once
#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace omnirt::serve {

// A connection that closes itself; the only one to its file.
class SqliteDatabase {
 public:
  explicit SqliteDatabase(const std::filesystem::path& file);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();
  // Statements of this program, without values.
  void execute(const std::string& sql);
  // Whether the next commits wait for the disk. Those that do not are kept when the process is
  // killed; when the machine loses power, those are that a later one came after which did.
  void flush_commits(bool flush);
  sqlite3* get() const { return handle_; }
  // Throws what `code` means.
  [[noreturn]] void fail(int code) const;

 private:
  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
  bool flushes_ = true;
};

// A prepared statement, used again and again. Values are bound by place, from 1.
class SqliteStatement {
 public:
  SqliteStatement(SqliteDatabase& database, const char* sql);
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;
  ~SqliteStatement();
  SqliteStatement& bind(int64_t value);
  SqliteStatement& bind(const std::string& text);
  // True: there is a row.
  bool step();
  int64_t integer(int column) const;
  std::string text(int column) const;
  // Runs to the end and is ready for the next values.
  void run();
  void reset();

 private:
  SqliteDatabase& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

}  // namespace omnirt::serve
