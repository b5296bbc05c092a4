// Quarantine: libraries that crashed or hung in the scan, by the SHA-256 of their content, so that they are not
// tried at every start. A record counts strikes. After the third strike the library is set aside until its record
// is removed or its file replaced. Every record says what happened, when, and to which file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tenon::provider {

struct QuarantineRecord {
  std::string sha256, provider_id, version;
  std::string file;     // path of the library
  std::string refusal;  // "E_SCAN_CRASH", "E_SCAN_TIMEOUT"
  std::string reason;
  int64_t last_seconds = 0;  // time of the last strike, in seconds since 1970
  int64_t strikes = 0;

  bool set_aside() const;
};

/// Records are in `<folder>/quarantine`, one file each. Thread-safe. Between processes the last writer wins.
class Quarantine {
 public:
  static constexpr int64_t kStrikes = 3;

  /// `folder` is the state folder; if it is empty, nothing is kept.
  explicit Quarantine(std::string folder);

  /// The library's record if it is set aside, else nullopt.
  std::optional<QuarantineRecord> set_aside(const std::string& sha256) const;
  /// Adds a strike to the library's record, or makes a record. Ignores `last_seconds` and `strikes` of the argument.
  Status strike(QuarantineRecord record);
  /// All records, also those not set aside, sorted by hash.
  std::vector<QuarantineRecord> list() const;
  /// Removes the record. NOT_FOUND when there is none.
  Status remove(const std::string& sha256);

 private:
  std::string path_of(const std::string& sha256) const;
  std::optional<QuarantineRecord> read(const std::string& sha256) const;

  std::string folder_;
};

}  // namespace tenon::provider
