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
  std::vector<std::string> unique;   // exports that are unique in the process
  std::vector<std::string> imports;  // undefined
  std::string soname, rpath, runpath;
  bool has_note = false, text_relocations = false, executable_stack = false;
  std::map<std::string, std::string> note;  // key=value lines of the Tenon note
};

/// The whole file; throws Failed when it cannot be read.
std::string read_file(const std::string& path);

/// Throws Failed when the file is not a 64-bit little-endian ELF shared library, or is broken.
Binary read_binary(const std::string& bytes);

}  // namespace tenon::cts
