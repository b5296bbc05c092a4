// The checks of a library's file that run no byte of it: who may write it, that it is the file of the
// manifest, what it exports and what its note says.
#pragma once

#include <string>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/provider/manifest.h"
#include "host/provider/open_file.h"

namespace tenon::provider {

/// A library that passed.
struct CheckedFile {
  std::string real_path;
  FileIdentity identity;
};

/// Refusals: E_LOAD (not there, or no shared library), E_FILE_MODE, E_SHA_MISMATCH, E_SIGNATURE, E_ARCH,
/// E_NOTE_MISMATCH, E_NO_ENTRY, E_EXPORTS, E_DEP_MISSING (a file the manifest requires).
Result<CheckedFile> check_files(const Manifest& manifest, config::Trust trust);

}  // namespace tenon::provider
