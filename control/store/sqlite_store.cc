#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "control/store/backends.h"

namespace l3dml::control {
namespace {

constexpr int kVersion = 1;

absl::Status failure(sqlite3* db, const std::string& what) {
  const char* why = db ? sqlite3_errmsg(db) : "out of memory";
  if (db && sqlite3_errcode(db) == SQLITE_BUSY) return in_use(what);
  return absl::InternalError(absl::StrCat(what, ": ", why));
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) { sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  void bind(int index, const std::string& text) {
    sqlite3_bind_text(statement_, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  int step() { return statement_ ? sqlite3_step(statement_) : SQLITE_ERROR; }
  void reset() { sqlite3_reset(statement_); }
  std::string text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return data ? std::string(data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))) : "";
  }
  int number(int column) const { return sqlite3_column_int(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(sqlite3* db) : db_(db) {}
  ~SqliteStore() override { sqlite3_close(db_); }

  absl::Status prepare(const std::string& path) {
    // Exclusive: the lock is held until the process ends, so a second controller is refused at once.
    for (const char* sql :
         {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
          "CREATE TABLE IF NOT EXISTS records (place INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT "
          "NULL, value TEXT NOT NULL, UNIQUE (kind, key))"})
      if (absl::Status s = execute(sql, path); !s.ok()) return s;
    Statement version(db_, "PRAGMA user_version");
    const int found = version.step() == SQLITE_ROW ? version.number(0) : 0;
    if (found > kVersion)
      return absl::FailedPreconditionError(
          absl::StrCat(path, " was written by a later version of the controller (format ", found,
                       ", this one knows ", kVersion, ")"));
    return execute(absl::StrCat("PRAGMA user_version=", kVersion), path);
  }

  absl::StatusOr<std::vector<Record>> read(const std::string& kind) override {
    Statement select(db_, "SELECT key, value FROM records WHERE kind = ? ORDER BY place");
    select.bind(1, kind);
    std::vector<Record> records;
    int result;
    while ((result = select.step()) == SQLITE_ROW) records.push_back({kind, select.text(0), select.text(1)});
    if (result != SQLITE_DONE) return failure(db_, "reading the store");
    return records;
  }

  absl::Status write(const std::vector<Write>& writes) override {
    if (absl::Status s = execute("BEGIN IMMEDIATE", "the store"); !s.ok()) return s;
    Statement upsert(db_,
                     "INSERT INTO records (kind, key, value) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO "
                     "UPDATE SET value = excluded.value");
    Statement remove(db_, "DELETE FROM records WHERE kind = ? AND key = ?");
    for (const Write& w : writes) {
      Statement& statement = w.value ? upsert : remove;
      statement.reset();
      statement.bind(1, w.kind);
      statement.bind(2, w.key);
      if (w.value) statement.bind(3, *w.value);
      if (statement.step() != SQLITE_DONE) {
        const absl::Status why = failure(db_, "writing the store");
        (void)execute("ROLLBACK", "the store");
        return why;
      }
    }
    return execute("COMMIT", "the store");
  }

 private:
  absl::Status execute(const std::string& sql, const std::string& what) {
    return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK ? absl::OkStatus()
                                                                                  : failure(db_, what);
  }

  sqlite3* db_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> open_sqlite(const std::string& path) {
  sqlite3* db = nullptr;
  const int opened = sqlite3_open(path.c_str(), &db);
  auto store = std::make_unique<SqliteStore>(db);
  if (opened != SQLITE_OK) return failure(db, path);
  if (absl::Status s = store->prepare(path); !s.ok()) return s;
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace l3dml::control
