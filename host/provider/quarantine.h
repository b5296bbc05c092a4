// Quarantine: libraries that crashed or hung in the scan, by the SHA-256 of their content, so that they are
// not tried at every start. A record counts strikes; with the third the library is set aside until its record
// is removed or the file replaced by another. Nothing is set aside silently: every record says what happened,
// when, and to which file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tenon::provider {

struct QuarantineRecord {
  std::string sha256, provider_id, version;
  std::string file;     // the path of the library
  std::string refusal;  // "E_SCAN_CRASH", "E_SCAN_TIMEOUT"
  std::string reason;
  int64_t last_seconds = 0;  // of the last strike, since 1970
  int64_t strikes = 0;

  bool set_aside() const;
};

/// Records live in `<folder>/quarantine`, one file each. Thread-safe, and safe between processes: the last
/// writer wins.
class Quarantine {
 public:
  static constexpr int64_t kStrikes = 3;

  /// `folder` is the state folder; empty = nothing is kept.
  explicit Quarantine(std::string folder);

  /// The record of a library that is set aside.
  std::optional<QuarantineRecord> set_aside(const std::string& sha256) const;
  /// Adds a strike to the library's record, or begins one. `last_seconds` and `strikes` of the argument are
  /// ignored.
  Status strike(QuarantineRecord record);
  /// All records, also those with fewer strikes, by hash.
  std::vector<QuarantineRecord> list() const;
  /// Forgets the record; NOT_FOUND when there is none.
  Status remove(const std::string& sha256);

 private:
  std::string path_of(const std::string& sha256) const;
  std::optional<QuarantineRecord> read(const std::string& sha256) const;

  std::string folder_;
};

}  // namespace tenon::provider
