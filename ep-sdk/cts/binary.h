// Reads a provider's library file without loading it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenon::cts {

struct Binary {
  std::string os, arch;  // as a manifest names them
  std::vector<std::string> needed;
  std::vector<std::string> exports;  // defined, global and visible
  std::vector<std::string> unique;   // ELF: exports that are unique in the process
  std::vector<std::string> imports;  // undefined
  std::string soname, rpath, runpath;
  bool has_note = false;
  bool text_relocations = false;  // PE: it cannot be moved (no DYNAMIC_BASE)
  bool executable_stack = false;  // PE: data may be executed (no NX_COMPAT, or a section that is both)
  std::map<std::string, std::string> note;  // key=value lines of the Tenon note
};

/// The whole file; throws Failed when it cannot be read.
std::string read_file(const std::string& path);

/// An ELF or PE file, on any system. Throws Failed when it is not a 64-bit little-endian shared library, or is broken.
Binary read_binary(const std::string& bytes);

}  // namespace tenon::cts
