// Shared libraries of this process.
#pragma once

#include <string>

namespace tenon::cts {

/// Loads the library with all that it needs, its symbols hidden from other libraries. NULL, and the loader's reason in
/// `why`, when it cannot.
void* load_library(const std::string& path, std::string* why);
/// NULL when the library does not export the name.
void* find_symbol(void* library, const char* name);
void unload_library(void* library);
/// Whether the library of this path is in the memory of the process.
bool is_loaded(const std::string& path);

/// The libtenon that is installed with this program; else its plain name, which the loader searches.
std::string find_libtenon();

}  // namespace tenon::cts
