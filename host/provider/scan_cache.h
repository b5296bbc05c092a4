// Answers of the scan that are kept, for the process and in files between processes, so that a library is tried once and
// not at every start. Only good answers are kept: what was missing may be there next time.
#pragma once

#include <optional>
#include <string>

#include "host/provider/scan.h"

namespace tenon::provider {

class ScanCache {
 public:
  /// `folder` is the state folder; empty = nothing is kept in files.
  explicit ScanCache(std::string folder) : folder_(std::move(folder)) {}

  /// Everything the answer depends on: the file, the helper, the required files, the libraries behind the required sonames,
  /// what the loader is told by the environment, system folders that are hidden, this boot of the machine, the ABI.
  static std::string key_of(const ScanRequest& request);

  std::optional<ScanAnswer> find(const std::string& key) const;
  /// Failing to write is no failure: the library is scanned again next time.
  void keep(const std::string& key, const ScanAnswer& answer) const;

 private:
  std::string path_of(const std::string& key) const;
  std::optional<ScanAnswer> read(const std::string& key) const;

  std::string folder_;
};

}  // namespace tenon::provider
