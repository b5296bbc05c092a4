// NVIDIA's libraries, opened at run time: nothing of them is linked. This is the only place that opens them and looks up functions.
#pragma once

#include <string>
#include <string_view>

namespace tenon::cuda {

/// The file name of NVIDIA's driver.
std::string driver_library();
/// The file name of NVRTC of this major version.
std::string nvrtc_library(int major);
/// The file name of a library that has its major version there: of "cudnn" and 9, "libcudnn.so.9" or "cudnn64_9.dll".
std::string numbered_library(std::string_view stem, int major);

/// "install cuDNN 9 (Debian/Ubuntu package cudnn9-cuda-13 or, from PyPI, nvidia-cudnn-cu13) where the loader finds it, ...".
std::string install_cure(std::string_view what, std::string_view package, std::string_view wheel);

/// An open shared library, or why it is not open. It is never closed: drivers keep threads.
class Library {
 public:
  /// Opens the file of this name where the loader of the system looks for libraries.
  explicit Library(const std::string& name);

  bool is_open() const { return handle_ != nullptr; }
  /// What the loader said, if it is not open.
  const std::string& why_not() const { return why_not_; }

  /// Writes the function of this name to `out`, or null if there is none.
  template <class Function>
  void load(const char* name, Function** out) {
    *out = reinterpret_cast<Function*>(symbol(name));
    if (*out == nullptr && missing_.empty()) missing_ = name;
  }
  /// The first function that load() did not find; empty if it found all.
  const std::string& missing() const { return missing_; }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string why_not_, missing_;
};

// The name of a function behind the version macros of a library's header.
#define TENON_CUDA_TEXT_OF(function) #function
#define TENON_CUDA_TEXT(function) TENON_CUDA_TEXT_OF(function)
#define TENON_CUDA_MEMBER(function) decltype(&::function) function = nullptr;
#define TENON_CUDA_LOAD(function) library.load(TENON_CUDA_TEXT(function), &function);

/// The members of a table of functions, which FUNCTIONS(X) lists, and load(), which finds them.
#define TENON_CUDA_TABLE(FUNCTIONS) \
  FUNCTIONS(TENON_CUDA_MEMBER)      \
  void load(Library& library) { FUNCTIONS(TENON_CUDA_LOAD) }

/// The functions of a library that may be missing, or why there are none. Api is a TENON_CUDA_TABLE with
///   bool read_version()   asks the library for its version, and returns whether it told it
template <class Api>
class OptionalApi {
 public:
  /// Opens the library of this name. `cure`: what to do where it is missing or lacks a function.
  OptionalApi(const std::string& name, const std::string& cure) {
    Library library(name);
    if (library.is_open()) api_.load(library);
    if (!library.is_open()) {
      why_not_ = library.why_not();
    } else if (!library.missing().empty()) {
      why_not_ = name + " has no function " + library.missing();
    } else if (!api_.read_version()) {
      why_not_ = name + " does not tell its version";
    } else {
      return;
    }
    why_not_ += "; " + cure;
  }

  /// Null if there are none.
  const Api* get() const { return why_not_.empty() ? &api_ : nullptr; }
  /// Cause and cure; empty if the functions are there.
  const std::string& why_not() const { return why_not_; }

 private:
  Api api_;
  std::string why_not_;
};

}  // namespace tenon::cuda
