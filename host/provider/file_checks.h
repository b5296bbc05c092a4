// Checks a library's file without running code of it: who may write it, whether its content is the manifest's,
// what it exports and what its note says. The manifest's other files get the first two checks.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/provider/manifest.h"
#include "host/provider/open_file.h"

namespace tenon::provider {

/// A library that passed the checks.
struct CheckedFile {
  std::string real_path;
  FileIdentity identity;
  struct Other {
    std::string real_path;
    FileIdentity identity;
  };
  std::vector<Other> others;  // the manifest's `files`

  /// True when neither the library nor the others changed since the checks.
  bool is_fresh() const;
};

/// Refusals: E_LOAD (a file is missing or the library is not a shared library), E_FILE_MODE, E_SHA_MISMATCH,
/// E_SIGNATURE, E_ARCH, E_NOTE_MISMATCH, E_NO_ENTRY, E_EXPORTS, E_DEP_MISSING (a file that the manifest requires).
Result<CheckedFile> check_files(const Manifest& manifest, config::Trust trust);

}  // namespace tenon::provider
