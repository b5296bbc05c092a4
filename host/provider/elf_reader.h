// Reads an ELF shared library without loading it: architecture, exported symbols, dependencies and the Tenon note.
// Uses the program headers, as the dynamic loader does, because section headers may be stripped or wrong. The
// bytes are not trusted: every read is bounded by the file and by fixed limits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/provider/open_file.h"

namespace tenon::provider {

struct BinaryInfo {
  std::string arch;  // "x86_64", "aarch64", "machine 8"; also says "32-bit" or "big-endian"
  bool is_shared_library = false;
  std::string soname;
  std::vector<std::string> needed;
  /// Dynamic symbols that are defined and visible, without those that linkers add.
  std::vector<std::string> exports;
  /// The exports that are unique in the process (STB_GNU_UNIQUE).
  std::vector<std::string> unique;
  bool has_note = false;
  std::map<std::string, std::string> note;  // the key=value lines of the Tenon note
};

/// Fills only `arch` and `is_shared_library` for a foreign architecture. Errors (kInvalidInput): not an ELF file,
/// or a broken one.
Result<BinaryInfo> read_elf(const ByteSource& file);

}  // namespace tenon::provider
