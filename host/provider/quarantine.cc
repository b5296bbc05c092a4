#include "host/provider/quarantine.h"

#include <ctime>

#include "host/base/json.h"
#include "host/base/out_of_memory.h"
#include "host/base/state_folder.h"
#include "host/base/text_file.h"
#include "host/config/read.h"

namespace tenon::provider {
namespace {

using config::Table;
using config::Value;

constexpr uint64_t kMaxRecordBytes = 64 << 10;

std::string text_of(const Table& table, std::string_view name) {
  for (const auto& member : table) {
    if (member.first == name && member.second.as_string()) return *member.second.as_string();
  }
  return {};
}

int64_t number_of(const Table& table, std::string_view name) {
  for (const auto& member : table) {
    if (member.first == name && member.second.as_int()) return *member.second.as_int();
  }
  return 0;
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

bool QuarantineRecord::set_aside() const { return strikes >= Quarantine::kStrikes; }

Quarantine::Quarantine(std::string folder)
    : folder_(folder.empty() ? "" : std::move(folder) + "/quarantine") {}

std::string Quarantine::path_of(const std::string& sha256) const { return folder_ + "/" + sha256 + ".json"; }

std::optional<QuarantineRecord> Quarantine::read(const std::string& sha256) const {
  if (folder_.empty() || !is_hash(sha256)) return std::nullopt;
  Result<std::string> text = read_text_file(path_of(sha256), kMaxRecordBytes);
  if (!text) {
    throw_if_out_of_memory(text.error());
    return std::nullopt;
  }
  Result<Value> root = config::read_json(*text, path_of(sha256));
  if (!root) return std::nullopt;
  const Table& table = *root->as_table();
  QuarantineRecord record;
  record.sha256 = sha256;
  record.provider_id = text_of(table, "provider");
  record.version = text_of(table, "version");
  record.file = text_of(table, "library");
  record.refusal = text_of(table, "refusal");
  record.reason = text_of(table, "reason");
  record.last_seconds = number_of(table, "last");
  record.strikes = number_of(table, "strikes");
  return record;
}

std::optional<QuarantineRecord> Quarantine::set_aside(const std::string& sha256) const {
  std::optional<QuarantineRecord> record = read(sha256);
  if (!record || !record->set_aside()) return std::nullopt;
  return record;
}

Status Quarantine::strike(QuarantineRecord record) {
  if (folder_.empty() || !is_hash(record.sha256)) return ok_status();
  std::optional<QuarantineRecord> before = read(record.sha256);
  const Json json = {{"provider", record.provider_id},
                     {"version", record.version},
                     {"library", record.file},
                     {"refusal", record.refusal},
                     {"reason", record.reason},
                     {"last", static_cast<int64_t>(std::time(nullptr))},
                     {"strikes", (before ? before->strikes : 0) + 1}};
  // A reason may quote a library's output. Bytes that are not UTF-8 are replaced.
  return write_atomically(path_of(record.sha256), json.dump(2));
}

std::vector<QuarantineRecord> Quarantine::list() const {
  std::vector<QuarantineRecord> records;
  if (folder_.empty()) return records;
  constexpr std::string_view kSuffix = ".json";
  for (const std::string& name : files_in(folder_, kSuffix)) {
    std::optional<QuarantineRecord> record = read(name.substr(0, name.size() - kSuffix.size()));
    if (record) records.push_back(std::move(*record));
  }
  return records;
}

Status Quarantine::remove(const std::string& sha256) {
  Status removed = folder_.empty() || !is_hash(sha256) ? not_found() : remove_file(path_of(sha256));
  if (removed.code() != StatusCode::kNotFound) return removed;
  return not_found("no library with the hash '", sha256,
                   "' is in quarantine; give the whole hash, as `tenon providers quarantine` lists it")
      .with_kind(ErrorKind::kInvalidInput);
}

}  // namespace tenon::provider
