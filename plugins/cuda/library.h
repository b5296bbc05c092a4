// Shared libraries that are opened at run time: nothing of NVIDIA is linked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::cuda {

/// An open shared library, or why it is not open. It is never closed: drivers keep threads.
class Library {
 public:
  /// Tries the names in turn, where the loader of the system looks for libraries.
  explicit Library(const std::vector<std::string>& names);

  bool is_open() const { return handle_ != nullptr; }
  /// What the loader said, if it is not open.
  const std::string& why_not() const { return why_not_; }
  /// Null if the library lacks it.
  void* symbol(const char* name) const;

 private:
  void* handle_ = nullptr;
  std::string why_not_;
};

}  // namespace tenon::cuda
