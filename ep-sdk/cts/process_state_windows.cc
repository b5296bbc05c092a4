#include <fenv.h>
#include <float.h>
#include <locale.h>

#include <string>

#include "ep-sdk/cts/process_state.h"
#include "ep-sdk/cts/windows.h"

// After windows.h
#include <psapi.h>
#include <tlhelp32.h>
#include <xmmintrin.h>

namespace tenon::cts {
namespace {

std::string path_of(HANDLE file) {
  std::wstring path(1024, L'\0');
  const DWORD size = GetFinalPathNameByHandleW(file, path.data(), static_cast<DWORD>(path.size()), 0);
  return size == 0 || size > path.size() ? "a file" : to_utf8(path.substr(0, size));
}

std::string directory_text() {
  std::wstring path(GetCurrentDirectoryW(0, nullptr), L'\0');
  path.resize(GetCurrentDirectoryW(static_cast<DWORD>(path.size()), path.data()));
  return to_utf8(path);
}

std::string environment_text() {
  std::string out;
  wchar_t* block = GetEnvironmentStringsW();
  if (block == nullptr) return out;
  for (const wchar_t* entry = block; *entry != L'\0'; entry += wcslen(entry) + 1)
    out += to_utf8(entry) + "\n";
  FreeEnvironmentStringsW(block);
  return out;
}

std::string stream_text(DWORD number) {
  HANDLE handle = GetStdHandle(number);
  DWORD mode = 0;
  std::string out =
      std::to_string(reinterpret_cast<uintptr_t>(handle)) + " type " + std::to_string(GetFileType(handle));
  if (GetConsoleMode(handle, &mode)) out += " mode " + std::to_string(mode);
  return out;
}

/// The function that gets exceptions which nobody handles, and what the system does about errors.
std::string handler_text() {
  const LPTOP_LEVEL_EXCEPTION_FILTER filter = SetUnhandledExceptionFilter(nullptr);
  SetUnhandledExceptionFilter(filter);
  return "exception filter " + std::to_string(reinterpret_cast<uintptr_t>(filter)) + ", error mode " +
         std::to_string(GetErrorMode());
}

std::string float_text() {
  // The low six bits of MXCSR are flags of past exceptions, not a mode.
  return "rounding " + std::to_string(fegetround()) + ", control " + std::to_string(_controlfp(0, 0)) +
         ", MXCSR " + std::to_string(_mm_getcsr() & ~0x3Fu);
}

constexpr uintptr_t kHandles = 0x10000;  // handles are small multiples of four

}  // namespace

size_t count_threads() {
  HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
  if (all == INVALID_HANDLE_VALUE) return 0;
  THREADENTRY32 thread{};
  thread.dwSize = sizeof thread;
  size_t count = 0;
  for (BOOL more = Thread32First(all, &thread); more; more = Thread32Next(all, &thread))
    count += thread.th32OwnerProcessID == GetCurrentProcessId();
  CloseHandle(all);
  return count;
}

std::map<int, std::string> open_files() {
  std::map<int, std::string> out;
  for (uintptr_t number = 4; number < kHandles; number += 4) {
    HANDLE handle = reinterpret_cast<HANDLE>(number);
    DWORD flags = 0;
    if (!GetHandleInformation(handle, &flags)) continue;
    switch (GetFileType(handle)) {
      case FILE_TYPE_DISK:
        out[static_cast<int>(number)] = path_of(handle);
        break;
      case FILE_TYPE_PIPE:
        out[static_cast<int>(number)] = "a pipe or socket";
        break;
      case FILE_TYPE_CHAR:
        out[static_cast<int>(number)] = "a console or device";
        break;
      default:
        break;
    }
  }
  return out;
}

size_t resident_bytes() {
  PROCESS_MEMORY_COUNTERS counters{};
  if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) return 0;
  return counters.WorkingSetSize;
}

std::map<std::string, std::string> process_state() {
  const char* locale = setlocale(LC_ALL, nullptr);
  return {{"working directory", directory_text()},
          {"environment", environment_text()},
          {"locale", locale == nullptr ? "" : locale},
          {"exception handlers", handler_text()},
          {"floating-point mode", float_text()},
          {"standard input", stream_text(STD_INPUT_HANDLE)},
          {"standard output", stream_text(STD_OUTPUT_HANDLE)},
          {"standard error", stream_text(STD_ERROR_HANDLE)}};
}

}  // namespace tenon::cts
