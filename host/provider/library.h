// A shared library that is mapped into this process. No other code opens one.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "host/provider/refusal.h"

namespace tenon::provider {

class Library {
 public:
  /// Maps the library at an absolute path. Symbols are bound now and kept local. Errors carry the loader's text.
  static Result<std::shared_ptr<Library>> open(const std::string& path);
  /// Unmaps the library unless it is also open elsewhere.
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// The address of an exported function, or null.
  void* function(const char* name) const;

 private:
  struct Impl;
  Library();
  std::unique_ptr<Impl> impl_;
};

/// Classifies the loader's text: E_LIBC (needs a newer C library), E_DEP_MISSING (a dependency is not installed)
/// or E_LOAD. The library itself must exist.
Refusal load_refusal(std::string_view loader_text);

/// Opens a library by name, as the system's loader finds it, and closes it. Errors carry the loader's text.
Status try_system_library(const std::string& name);

}  // namespace tenon::provider
