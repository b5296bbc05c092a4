#include "compile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "image.h"
#include "translate.h"

extern char** environ;

namespace fake_cuda {
namespace {

constexpr size_t kMaxShared = 48 << 10;  // of __shared__ variables of a kernel

/// The shim lies beside this library.
std::string shim_folder() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&shim_folder), &info);
  std::array<char, PATH_MAX> path{};
  if (info.dli_fname == nullptr || realpath(info.dli_fname, path.data()) == nullptr) return {};
  const std::string library = path.data();
  return library.substr(0, library.rfind('/')) + "/shim";
}

/// All that the object is made from besides the text.
std::string shim_text() {
  std::string all;
  for (const char* name :
       {"abi", "atomics", "cuda", "float_math", "integer_math", "intrinsics", "memory", "vectors", "warp"}) {
    std::string text;
    load_file(shim_folder() + "/" + name + ".h", &text);
    all += text;
  }
  return all;
}

std::string setting(const char* name) {
  const char* value = std::getenv((std::string("TENON_FAKE_CUDA_") + name).c_str());
  return value == nullptr ? "" : value;
}

/// A folder for the files of one compilation, removed with them.
class Folder {
 public:
  Folder() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base == nullptr || *base == '\0' ? "/tmp" : base) + "/fake-cuda-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() {
    for (const std::string& file : files_) unlink(file.c_str());
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) rmdir(folder->c_str());
    if (!path_.empty()) rmdir(path_.c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  bool is_there() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  /// Where a file with this name, which may have folders in it, is or will be.
  std::string file(const std::string& name) {
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      folders_.push_back(path_ + "/" + name.substr(0, slash));
      if (mkdir(folders_.back().c_str(), 0777) != 0) folders_.pop_back();
    }
    files_.push_back(path_ + "/" + name);
    return files_.back();
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = file(name);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    for (size_t done = 0; fd >= 0 && done < text.size();) {
      const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    if (fd >= 0) close(fd);
    return path;
  }

 private:
  std::string path_;
  std::vector<std::string> files_, folders_;
};

/// Runs the compiler. What it says is in `log`.
bool run_compiler(Folder& folder, const std::vector<std::string>& words, std::string* log) {
  std::vector<char*> arguments = {const_cast<char*>(FAKE_CUDA_COMPILER)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // A library that the tests preload would slow the compiler down or break it; its words have to be English.
  std::vector<char*> environment;
  for (char** at = environ; *at != nullptr; ++at) {
    if (std::strncmp(*at, "LD_PRELOAD=", 11) != 0 && std::strncmp(*at, "LC_ALL=", 7) != 0)
      environment.push_back(*at);
  }
  char c_locale[] = "LC_ALL=C";
  environment.push_back(c_locale);
  environment.push_back(nullptr);
  const std::string log_path = folder.file("log");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0644);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t process = 0;
  const int code =
      posix_spawn(&process, FAKE_CUDA_COMPILER, &actions, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) {
    *log = std::string("cannot start ") + FAKE_CUDA_COMPILER + ": " + std::strerror(code) + "\n";
    return false;
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  load_file(log_path, log);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string standard_of(const Options& options) {
  return "-std=c++" + std::to_string(std::max(17, options.standard));  // the shim is C++17
}

std::vector<std::string> preprocessor_words(const Options& options, const std::string& headers) {
  std::vector<std::string> words = {"-E",
                                    "-x",
                                    "c++",
                                    "-nostdinc",
                                    standard_of(options),
                                    "-I",
                                    headers,
                                    "-D__CUDACC__=1",
                                    "-D__CUDACC_RTC__=1",
                                    "-D__NVCC__=1",
                                    "-D__CUDACC_VER_MAJOR__=13",
                                    "-D__CUDACC_VER_MINOR__=0",
                                    "-D__CUDA_ARCH__=" + std::to_string(options.architecture) + "0"};
  if (options.fast_math) words.push_back("-D__USE_FAST_MATH__=1");
  words.insert(words.end(), options.preprocessor.begin(), options.preprocessor.end());
  return words;
}

std::vector<std::string> compiler_words(const Options& options, bool races) {
  std::vector<std::string> words = {
      "-x",
      "c++",
      "-O1",
      "-w",
      "-fPIC",
      "-shared",
      "-nostdlib",
      "-nostdinc",
      standard_of(options),
      "-fno-exceptions",
      "-fno-rtti",
      "-fno-threadsafe-statics",
      "-fno-stack-protector",
      "-fno-strict-aliasing",
      "-fwrapv",
      "-fno-math-errno",
      "-fno-asynchronous-unwind-tables",
      "-fno-gnu-unique",
      "-fvisibility=hidden",
      "-fno-ident",
      "-pipe",
      "-Wl,--build-id=none",
      "-Wl,-z,lazy",
      "-Wl,-z,noseparate-code",
      std::string("-DFAKE_CUDA_RACES=") + (races ? "1" : "0"),
      options.fmad || options.fast_math ? "-ffp-contract=fast" : "-ffp-contract=off"};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    words.insert(words.end(), {"-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"});
#endif
  if (races)
    words.insert(words.end(),
                 {"-fsanitize=thread", "-static-libtsan", "--param", "tsan-instrument-func-entry-exit=0"});
  return words;
}

std::string key_of(const Source& source, const Options& options, bool races) {
  static const std::string shim = shim_text();
  std::string all = shim + source.name + '\0' + source.text + '\0';
  for (const auto& [name, text] : source.headers) all += name + '\0' + text + '\0';
  for (const std::string& name : source.name_expressions) all += name + '\0';
  for (const std::string& word : preprocessor_words(options, "")) all += word + '\0';
  for (const std::string& word : compiler_words(options, races)) all += word + '\0';
  all += options.device_by_default ? "device" : "";
  all += FAKE_CUDA_COMPILER_ID;
  // Two hashes, so that two texts never meet.
  std::string reversed(all.rbegin(), all.rend());
  return hash_of(all) + hash_of(reversed);
}

/// Names of temporary files are replaced by the program's own.
void tidy(std::string* log, const std::string& path, const std::string& name) {
  for (size_t at = log->find(path); at != std::string::npos; at = log->find(path, at))
    log->replace(at, path.size(), name);
}

std::string check_object(const std::string& object) {
  std::string log;
  for (const std::string& name : undefined_names(object)) {
    if (name.compare(0, 2, "_Z") == 0) log += "ptxas fatal   : Unresolved extern function '" + name + "'\n";
  }
  std::vector<KernelInfo> kernels;
  size_t shared = 0;
  read_kernels(object, &kernels, &shared);
  // Of several kernels it is not known whose variables they are.
  if (kernels.size() == 1 && shared > kMaxShared + 64) {
    char text[512];
    std::snprintf(text, sizeof(text),
                  "ptxas error   : Entry function '%s' uses too much shared data (0x%zx bytes, 0xc000 max)\n",
                  kernels[0].name, shared);
    log += text;
  }
  return log;
}

void compile_new(const Source& source, const Options& options, Compiled* out) {
  Folder folder;
  if (!folder.is_there()) {
    out->log = "cannot make a temporary folder\n";
    return;
  }
  const std::string name = source.name.empty() ? "default_program" : source.name;
  for (const auto& [header, text] : source.headers) folder.write("headers/" + header, text);
  std::string text = "# 1 \"" + name + "\"\n" + source.text + "\n";
  const std::string input = folder.write("input.cu", text), preprocessed = folder.file("preprocessed.cu");
  std::vector<std::string> words = preprocessor_words(options, folder.path() + "/headers");
  words.insert(words.end(), {input, "-o", preprocessed});
  const bool read = run_compiler(folder, words, &out->log);
  tidy(&out->log, input, name);
  if (!read || !load_file(preprocessed, &text)) return;
  Translation translation = translate(text, source.name_expressions, options.device_by_default);
  out->log += translation.errors;
  if (!translation.errors.empty()) return;
  const std::string translated =
      folder.write("translated.cu", "#include \"" + shim_folder() + "/cuda.h\"\n" + translation.text);
  const std::string object = folder.file("object.so");
  words = compiler_words(options, out->finds_races);
  words.insert(words.end(), {translated, "-o", object, "-lgcc"});
  std::string log;
  const bool compiled = run_compiler(folder, words, &log);
  tidy(&log, translated, name);
  out->log += log;
  if (!compiled || !load_file(object, &out->object)) return;
  const std::string errors = check_object(out->object);
  out->log += errors;
  out->ok = errors.empty();
}

/// TENON_FAKE_CUDA_SOURCES keeps the texts as NAME.cu, their options in NAME.options, a line for each.
void keep_source(const Source& source, const std::vector<std::string>& options) {
  const std::string folder = setting("SOURCES");
  if (folder.empty()) return;
  std::string lines;
  for (const std::string& option : options) lines += option + "\n";
  std::string name = source.name.substr(source.name.rfind('/') + 1);
  if (name.size() > 3 && name.substr(name.size() - 3) == ".cu") name.resize(name.size() - 3);
  name.resize(std::min<size_t>(name.size(), 60));  // a file's name has at most 255 bytes
  name = (name.empty() ? "program" : name) + "-" + hash_of(lines + source.text);
  store_file(folder, name + ".options", lines);
  store_file(folder, name + ".cu", source.text);
}

}  // namespace

Compiled compile(const Source& source, const Options& options) {
  keep_source(source, options.texts);
  Compiled out;
  out.finds_races = setting("RACES") == "1";
  out.key = key_of(source, options, out.finds_races);
  const std::string cache = setting("CACHE").empty() ? FAKE_CUDA_CACHE : setting("CACHE");
  if (load_file(cache + "/" + out.key + ".so", &out.object)) {
    out.ok = true;
    return out;
  }
  compile_new(source, options, &out);
  if (out.ok) store_file(cache, out.key + ".so", out.object);
  return out;
}

}  // namespace fake_cuda
