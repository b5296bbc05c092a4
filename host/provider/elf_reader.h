// What an ELF shared library says about itself, read without loading it: architecture, exported symbols,
// dependencies and the Tenon note. Works from the program headers, which are what the dynamic loader goes by;
// section headers may be stripped or lie. Every read is bounded by the file and by fixed limits: the bytes
// are untrusted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/provider/open_file.h"

namespace tenon::provider {

struct BinaryInfo {
  std::string arch;  // "x86_64", "aarch64", "machine 8"; with "32-bit" or "big-endian" where it applies
  bool is_shared_library = false;
  std::string soname;
  std::vector<std::string> needed;
  /// Dynamic symbols that are defined and visible, without what linkers add by themselves.
  std::vector<std::string> exports;
  /// Those of them that are unique in the process (STB_GNU_UNIQUE).
  std::vector<std::string> unique;
  bool has_note = false;
  std::map<std::string, std::string> note;  // the key=value lines of the Tenon note
};

/// For a foreign architecture only `arch` and `is_shared_library` are filled in. Errors (kInvalidInput): no
/// ELF file, or a broken one.
Result<BinaryInfo> read_elf(const ByteSource& file);

}  // namespace tenon::provider
