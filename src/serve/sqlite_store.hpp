#pragma once
#include <filesystem>
#include <memory>

#include "serve/job_store.hpp"

namespace omnirt::serve {

class SqliteStatement;

// Jobs in one SQLite database: write-ahead log, each call a transaction that is on the disk
// (synchronous FULL) before the call returns, texts bounded by the database itself. One process at
// a time may have it open. Throws InvalidFile where the file is no such database, InvalidRequest
// where another process has it open or it cannot be made, RunFailed where the disk fails or is
// full.
class SqliteJobStore final : public JobStore {
 public:
  explicit SqliteJobStore(const std::filesystem::path& file);
  ~SqliteJobStore() override;
  std::vector<Job> load() override;
  void insert(const Job& job) override;
  void update(const Job& job) override;
  void remove(const std::string& id) override;
  std::string result(const std::string& id) override;

 private:
  struct Database;
  std::unique_ptr<Database> database_;
  std::unique_ptr<SqliteStatement> insert_, update_, remove_, result_;
};

}  // namespace omnirt::serve
