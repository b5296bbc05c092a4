// The answers travel as file 3 of the child's C library, as on other systems: it takes over the files that the block
// lpReserved2 of STARTUPINFO lists (a count, a byte of flags for each, then the handles).
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "ep-sdk/cts/process.h"
#include "ep-sdk/cts/windows.h"

// After windows.h
#include <shellapi.h>

namespace tenon::cts {
namespace {

constexpr int kAnswerFile = 3;

std::vector<std::string>& launcher() {
  static std::vector<std::string> words;
  return words;
}
constexpr unsigned char kOpen = 0x01, kPipe = 0x08;  // flags of a file in the block

class Handle {
 public:
  Handle() = default;
  explicit Handle(HANDLE handle) : handle_(handle == INVALID_HANDLE_VALUE ? nullptr : handle) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  void reset() {
    if (handle_ != nullptr) CloseHandle(std::exchange(handle_, nullptr));
  }
  HANDLE get() const { return handle_; }
  bool is_open() const { return handle_ != nullptr; }
  /// A copy that a child inherits.
  Handle inheritable() const {
    HANDLE out = nullptr;
    if (!DuplicateHandle(GetCurrentProcess(), handle_, GetCurrentProcess(), &out, 0, TRUE,
                         DUPLICATE_SAME_ACCESS))
      throw last_error("a handle cannot be inherited");
    return Handle(out);
  }

 private:
  HANDLE handle_ = nullptr;
};

struct Pipe {
  Pipe() {
    HANDLE ends[2];
    if (!CreatePipe(&ends[0], &ends[1], nullptr, 0)) throw last_error("no pipe");
    read = Handle(ends[0]), write = Handle(ends[1]);
  }
  Handle read, write;
};

/// A file without a lasting name, which ends with its last handle.
Handle temporary_file() {
  wchar_t folder[MAX_PATH + 1], name[MAX_PATH + 1];
  if (GetTempPathW(MAX_PATH, folder) == 0 || GetTempFileNameW(folder, L"cts", 0, name) == 0)
    throw last_error("no temporary file");
  Handle out(CreateFileW(name, GENERIC_READ | GENERIC_WRITE,
                         FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, CREATE_ALWAYS,
                         FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr));
  if (!out.is_open()) throw last_error("no temporary file");
  return out;
}

/// A word as CommandLineToArgvW reads it: backslashes are doubled before a quotation mark only.
std::wstring quoted(const std::string& word) {
  std::wstring out = L"\"";
  size_t backslashes = 0;
  for (const wchar_t c : to_wide(word)) {
    if (c == L'"') out.append(backslashes + 1, L'\\');
    backslashes = c == L'\\' ? backslashes + 1 : 0;
    out += c;
  }
  return out.append(backslashes, L'\\') + L"\"";
}

std::string files_of_child(HANDLE answers) {
  const int count = kAnswerFile + 1;
  std::string block(sizeof count + count + count * sizeof(HANDLE), '\0');
  char* flags = block.data() + sizeof count;
  char* handles = flags + count;
  std::memcpy(block.data(), &count, sizeof count);
  flags[kAnswerFile] = static_cast<char>(kOpen | kPipe);
  // Files 0 to 2 are not open in the block: the library takes the standard handles for them.
  const HANDLE none = INVALID_HANDLE_VALUE;
  for (int i = 0; i < count; ++i)
    std::memcpy(handles + static_cast<size_t>(i) * sizeof(HANDLE), i == kAnswerFile ? &answers : &none,
                sizeof(HANDLE));
  return block;
}

}  // namespace

void set_launcher(std::vector<std::string> words) { launcher() = std::move(words); }

struct Process::State {
  Handle process, answers, requests, printed;
  DWORD status = 0;
  bool killed = false;
};

Process::Process(const std::vector<std::string>& arguments) : state_(std::make_unique<State>()) {
  // Children inherit the mode: a crash ends them without a dialogue or a debugger.
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
  Pipe answers, requests;
  state_->printed = temporary_file();
  const Handle answer = answers.write.inheritable(), request = requests.read.inheritable(),
               printed = state_->printed.inheritable();
  std::wstring program(32768, L'\0');
  program.resize(GetModuleFileNameW(nullptr, program.data(), static_cast<DWORD>(program.size())));
  std::wstring line;
  for (const std::string& word : launcher()) line += quoted(word) + L" ";
  line += quoted(to_utf8(program));
  for (const std::string& word : arguments) line += L" " + quoted(word);
  std::string files = files_of_child(answer.get());
  STARTUPINFOW start{};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = request.get();
  start.hStdOutput = start.hStdError = printed.get();
  start.cbReserved2 = static_cast<WORD>(files.size());
  start.lpReserved2 = reinterpret_cast<BYTE*>(files.data());
  PROCESS_INFORMATION made{};
  if (!CreateProcessW(launcher().empty() ? program.c_str() : nullptr, line.data(), nullptr, nullptr, TRUE, 0,
                      nullptr, nullptr, &start, &made))
    throw last_error("no process");
  CloseHandle(made.hThread);
  state_->process = Handle(made.hProcess);
  state_->answers = std::move(answers.read), state_->requests = std::move(requests.write);
}

Process::~Process() {
  if (!wait(0)) kill();
}

bool Process::write(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    DWORD n = 0;
    if (!WriteFile(state_->requests.get(), text.data() + done, static_cast<DWORD>(text.size() - done), &n,
                   nullptr) ||
        n == 0)
      return false;
    done += n;
  }
  return true;
}

void Process::close_input() { state_->requests.reset(); }

std::optional<size_t> Process::read(char* bytes, size_t size, int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  // A pipe of this kind cannot be waited for with a limit.
  for (DWORD there = 0;;) {
    if (!PeekNamedPipe(state_->answers.get(), nullptr, 0, nullptr, &there, nullptr)) return 0;
    if (there > 0) break;
    if (std::chrono::steady_clock::now() >= end) return std::nullopt;
    Sleep(1);
  }
  DWORD n = 0;
  return ReadFile(state_->answers.get(), bytes, static_cast<DWORD>(size), &n, nullptr) ? n : 0;
}

bool Process::wait(int milliseconds) {
  if (!state_->process.is_open()) return true;
  if (WaitForSingleObject(state_->process.get(), static_cast<DWORD>(milliseconds)) != WAIT_OBJECT_0)
    return false;
  GetExitCodeProcess(state_->process.get(), &state_->status);
  state_->process.reset();
  return true;
}

void Process::kill() {
  if (!state_->process.is_open()) return;
  TerminateProcess(state_->process.get(), 1);
  state_->killed = true;
  WaitForSingleObject(state_->process.get(), INFINITE);
  GetExitCodeProcess(state_->process.get(), &state_->status);
  state_->process.reset();
}

bool Process::ended_well() const { return !state_->killed && state_->status == 0; }

std::string Process::obituary() const {
  if (state_->killed) return "the process was killed";
  const std::pair<DWORD, const char*> names[] = {{EXCEPTION_ACCESS_VIOLATION, "access violation"},
                                                 {EXCEPTION_STACK_OVERFLOW, "stack overflow"},
                                                 {EXCEPTION_ILLEGAL_INSTRUCTION, "illegal instruction"},
                                                 {EXCEPTION_INT_DIVIDE_BY_ZERO, "division by zero"},
                                                 {EXCEPTION_IN_PAGE_ERROR, "a page cannot be read"}};
  if (state_->status < 0xC0000000)
    return "the process ended itself with exit code " + std::to_string(state_->status);
  char code[16];
  std::snprintf(code, sizeof code, "0x%08lX", static_cast<unsigned long>(state_->status));
  std::string out = std::string("the process was ended by exception ") + code;
  for (const auto& [number, name] : names) {
    if (number == state_->status) out += std::string(" (") + name + ")";
  }
  return out;
}

std::string Process::output(size_t most) const {
  LARGE_INTEGER size{}, begin{};
  GetFileSizeEx(state_->printed.get(), &size);
  begin.QuadPart = std::max<LONGLONG>(0, size.QuadPart - static_cast<LONGLONG>(most));
  std::string text(most, '\0');
  DWORD n = 0;
  SetFilePointerEx(state_->printed.get(), begin, nullptr, FILE_BEGIN);
  if (!ReadFile(state_->printed.get(), text.data(), static_cast<DWORD>(most), &n, nullptr)) n = 0;
  text.resize(n);
  text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
  return text;
}

void send_to_parent(const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const int n = _write(kAnswerFile, text.data() + done, static_cast<unsigned>(text.size() - done));
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

std::vector<std::string> command_line(int, char**) {
  int count = 0;
  wchar_t** words = CommandLineToArgvW(GetCommandLineW(), &count);
  if (words == nullptr) throw last_error("the command line cannot be read");
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(to_utf8(words[i]));
  LocalFree(words);
  return out;
}

void unset_variable(const char* name) {
  _putenv_s(name, "");  // the C library's copy, and the process's own
}

}  // namespace tenon::cts
