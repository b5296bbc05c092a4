// Keeps the scan's answers in the process, and in files between processes, so that a library is not tried at every
// start. Only good answers are kept: what is missing now may be there next time.
#pragma once

#include <optional>
#include <string>

#include "host/provider/scan.h"

namespace tenon::provider {

class ScanCache {
 public:
  /// `folder` is the state folder; if it is empty, no files are written.
  explicit ScanCache(std::string folder) : folder_(std::move(folder)) {}

  /// Everything that the answer depends on: the library, the helper, the manifest's id, version and files, the
  /// required files, the libraries behind the required sonames, the loader's environment, hidden system folders,
  /// the boot of the machine, the ABI.
  static std::string key_of(const ScanRequest& request);

  std::optional<ScanAnswer> find(const std::string& key) const;
  /// Never fails: if the file cannot be written, the library is scanned again next time.
  void keep(const std::string& key, const ScanAnswer& answer) const;

 private:
  std::string path_of(const std::string& key) const;
  std::optional<ScanAnswer> read(const std::string& key) const;

  std::string folder_;
};

}  // namespace tenon::provider
