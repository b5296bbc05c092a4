#include <filesystem>

#include "ep-sdk/cts/loader.h"
#include "ep-sdk/cts/windows.h"

namespace tenon::cts {
namespace {

std::filesystem::path full_path(const std::string& path) {
  return std::filesystem::absolute(std::filesystem::path(to_wide(path))).make_preferred();
}

}  // namespace

void* load_library(const std::string& path, std::string* why) {
  const bool is_name = path.find_first_of("/\\") == std::string::npos;
  // Libraries that a provider ships lie beside it. Those beside the kit, and of the working directory, are none of its.
  HMODULE library = is_name ? LoadLibraryExW(to_wide(path).c_str(), nullptr, 0)
                            : LoadLibraryExW(full_path(path).c_str(), nullptr,
                                             LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
  if (library != nullptr) return library;
  *why = last_error(path).what();
  return nullptr;
}

void* find_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void unload_library(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

bool is_loaded(const std::string& path) { return GetModuleHandleW(full_path(path).c_str()) != nullptr; }

std::string find_libtenon() {
  std::wstring program(32768, L'\0');
  program.resize(GetModuleFileNameW(nullptr, program.data(), static_cast<DWORD>(program.size())));
  const std::filesystem::path library = std::filesystem::path(program).parent_path() / L"tenon.dll";
  return std::filesystem::exists(library) ? to_utf8(library.wstring()) : "tenon.dll";
}

}  // namespace tenon::cts
