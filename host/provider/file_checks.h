// The checks of a library's file that run no byte of it: who may write it, that it is the file of the
// manifest, what it exports and what its note says. Of the other files of the manifest: the first two.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/provider/manifest.h"
#include "host/provider/open_file.h"

namespace tenon::provider {

/// A library that passed.
struct CheckedFile {
  std::string real_path;
  FileIdentity identity;
  struct Other {
    std::string real_path;
    FileIdentity identity;
  };
  std::vector<Other> others;  // the manifest's `files`

  /// Whether none of them was changed since.
  bool is_fresh() const;
};

/// Refusals: E_LOAD (a file is not there, or the library is none), E_FILE_MODE, E_SHA_MISMATCH, E_SIGNATURE, E_ARCH,
/// E_NOTE_MISMATCH, E_NO_ENTRY, E_EXPORTS, E_DEP_MISSING (a file the manifest requires).
Result<CheckedFile> check_files(const Manifest& manifest, config::Trust trust);

}  // namespace tenon::provider
