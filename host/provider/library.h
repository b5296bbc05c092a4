// A shared library that is mapped into this process. The only place where one is opened.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "host/provider/refusal.h"

namespace tenon::provider {

class Library {
 public:
  /// Maps the library at an absolute path, all symbols bound now and kept local. Error: the loader's own
  /// text.
  static Result<std::shared_ptr<Library>> open(const std::string& path);
  /// Unmaps it, unless somebody else holds it too.
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// The address of an exported function, or NULL.
  void* function(const char* name) const;

 private:
  struct Impl;
  Library();
  std::unique_ptr<Impl> impl_;
};

/// What the loader's text means: E_LIBC (a newer C library is wanted), E_DEP_MISSING (a dependency is not
/// installed) or E_LOAD. The library itself is known to exist.
Refusal load_refusal(std::string_view loader_text);

/// Tries to open a library by its name alone, as the loader of the system finds it, and closes it again. OK,
/// or the loader's own text.
Status try_system_library(const std::string& name);

}  // namespace tenon::provider
