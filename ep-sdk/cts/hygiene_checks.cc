// Checks of the manifest and the file, without running the library.
#include <algorithm>
#include <filesystem>
#include <span>

#include "ep-sdk/cts/binary.h"
#include "ep-sdk/cts/check.h"
#include "ep-sdk/cts/hygiene.h"
#include "ep-sdk/cts/library.h"
#include "ep-sdk/cts/step.h"
#include "ep-sdk/shared/machine.h"
#include "ep-sdk/shared/writers.h"

namespace tenon::cts {
namespace {

using Json = nlohmann::json;

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : separator) + part;
  return out;
}

Binary binary_of(const Target& target) {
  enter(Step::kBinary);
  return read_binary(read_file(target.module_path()));
}

/// The manifest's entries of the library and of its other files, each with its path.
std::vector<std::pair<Json, std::string>> files_of(const Target& target) {
  std::vector<std::pair<Json, std::string>> out = {{target.manifest.at("library"), target.module_path()}};
  for (const Json& entry : target.manifest.value("files", Json::array()))
    out.emplace_back(
        entry, (std::filesystem::path(target.manifest_dir()) / entry.at("path").get<std::string>()).string());
  return out;
}

/// An imported function that a rule forbids, and the rule.
struct Forbidden {
  const char* symbol;
  const char* rule;
};
constexpr Forbidden kForbidden[] = {
    {"exit", "R8"},       {"_exit", "R8"},         {"_Exit", "R8"},
    {"quick_exit", "R8"}, {"abort", "R8"},         {"__assert_fail", "R8"},
    {"raise", "R8"},      {"at_quick_exit", "R8"}, {"_ZSt13set_terminatePFvvE", "R8"},
    {"chdir", "R9"},      {"fchdir", "R9"},        {"setenv", "R9"},
    {"putenv", "R9"},     {"unsetenv", "R9"},      {"clearenv", "R9"},
    {"setlocale", "R9"},  {"signal", "R9"},        {"sigaction", "R9"},
    {"fesetround", "R9"}, {"fesetenv", "R9"},      {"feenableexcept", "R9"},
    {"umask", "R9"},      {"freopen", "R9"},
};

// Of a library for Windows. The C++ library, linked into it, imports abort, signal and setlocale for itself, and the
// table of imports does not tell who else uses them.
constexpr Forbidden kForbiddenOnWindows[] = {
    {"ExitProcess", "R8"},
    {"FatalExit", "R8"},
    {"_exit", "R8"},
    {"_Exit", "R8"},
    {"quick_exit", "R8"},
    {"_assert", "R8"},
    {"_wassert", "R8"},
    {"SetCurrentDirectoryA", "R9"},
    {"SetCurrentDirectoryW", "R9"},
    {"_chdir", "R9"},
    {"_wchdir", "R9"},
    {"SetEnvironmentVariableA", "R9"},
    {"SetEnvironmentVariableW", "R9"},
    {"_putenv", "R9"},
    {"_putenv_s", "R9"},
    {"_wputenv", "R9"},
    {"_wputenv_s", "R9"},
    {"SetStdHandle", "R9"},
    {"SetErrorMode", "R9"},
    {"SetConsoleMode", "R9"},
    {"freopen", "R9"},
    {"_umask", "R9"},
    {"_controlfp", "R9"},
    {"_controlfp_s", "R9"},
};

/// The manifest's reason for such an import: "x-cts": {"imports": {"abort": "why"}}.
std::string declared_reason(const Target& target, const std::string& symbol) {
  const Json kit = target.manifest.value("x-cts", Json::object());
  const Json imports = kit.is_object() ? kit.value("imports", Json::object()) : Json::object();
  return imports.is_object() ? imports.value(symbol, "") : "";
}

std::span<const Forbidden> forbidden_in(const Binary& binary) {
  if (binary.os == "windows") return kForbiddenOnWindows;
  return kForbidden;
}

}  // namespace

TENON_CHECK("hygiene.manifest",
            "the manifest is JSON, keeps to manifest.schema.json and names ranges that are not empty") {
  enter(Step::kManifest);
  check_manifest(target);
}

TENON_CHECK(
    "hygiene.options",
    "each option has its own name, a text that explains it, and a fitting default, bounds and values") {
  enter(Step::kOptions);
  check_options(target);
  for (const Json& option : target.manifest.value("options", Json::array())) {
    if (option.value("doc", "").empty())
      throw Failed("the option '" + option.value("name", "") + "' has no doc",
                   "say in 'doc' what it does; tenon providers show prints it");
  }
}

TENON_CHECK("hygiene.file",
            "the library and the manifest's other files have the size and the SHA-256 of the manifest") {
  enter(Step::kFile);
  for (const auto& [entry, path] : files_of(target)) check_content(entry, path, read_file(path));
}

TENON_CHECK("hygiene.mode",
            "nobody but root and the owner may change the manifest, the library, the manifest's other files "
            "and the folders above") {
  enter(Step::kFile);
  if constexpr (!shared::kHasFileModes) throw NotApplicable("this system has no such modes");
  std::vector<std::string> paths = {target.manifest_path};
  for (const auto& [entry, path] : files_of(target)) paths.push_back(path);
  for (const std::string& path : paths) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (error) throw Failed("'" + path + "': " + error.message(), "install manifest and files together");
    if (const std::string writer = shared::other_writer(real); !writer.empty())
      throw Failed(
          writer,
          "install files with mode 0644 or 0755 into folders with mode 0755, owned by root or by the user "
          "who runs them");
  }
}

TENON_CHECK("hygiene.system", "the library is for this operating system") {
  enter(Step::kSystem);
  check_system(target);
}

TENON_CHECK("hygiene.machine",
            "the library is for this machine: processor and its features, C library, required files") {
  enter(Step::kMachine);
  check_machine(target);
}

TENON_CHECK("hygiene.platform", "os and arch of the manifest are those of the file") {
  const Binary binary = binary_of(target);
  enter(Step::kPlatform);
  check_platform(target, binary);
}

TENON_CHECK("hygiene.note", "the note in the library repeats id, version, ABI and manifest version") {
  const Binary binary = binary_of(target);
  const char* cure = "build the provider with tenon_add_provider(), which writes both from one place";
  if (!binary.has_note) throw Failed("the library has no Tenon note", cure);
  const Json abi = target.manifest.value("abi", Json::object());
  const std::pair<const char*, std::string> wanted[] = {
      {"id", target.id()},
      {"version", target.version()},
      {"abi", std::to_string(abi.value("major", 0)) + "." + std::to_string(abi.value("max_minor", 0))},
      {"manifest", target.manifest.value("manifest_version", Json()).dump()}};
  for (const auto& [key, text] : wanted) {
    const auto at = binary.note.find(key);
    if (at == binary.note.end() || at->second != text)
      throw Failed("the note says " + std::string(key) + "=" +
                       (at == binary.note.end() ? "nothing" : at->second) + ", the manifest " + text,
                   cure);
  }
}

TENON_CHECK("hygiene.imports",
            "the library imports no function that ends the process or changes process-wide state") {
  const Binary binary = binary_of(target);
  std::vector<std::string> found;
  for (const Forbidden& forbidden : forbidden_in(binary)) {
    const bool there = std::count(binary.imports.begin(), binary.imports.end(), forbidden.symbol) != 0;
    if (there && declared_reason(target, forbidden.symbol).empty())
      found.push_back(std::string(forbidden.symbol) + " (" + forbidden.rule + ")");
  }
  if (!found.empty())
    throw Failed(
        "the library imports " + join(found, ", "),
        "return an error instead; what a bundled library needs for a reason is declared in the manifest: "
        "\"x-cts\": {\"imports\": {\"abort\": \"why\"}}");
}

TENON_CHECK("hygiene.runpath", "no absolute RPATH or RUNPATH, no needed library by path") {
  const Binary binary = binary_of(target);
  for (const std::string& paths : {binary.rpath, binary.runpath}) {
    for (size_t begin = 0; begin < paths.size();) {
      const size_t end = std::min(paths.find(':', begin), paths.size());
      const std::string path = paths.substr(begin, end - begin);
      begin = end + 1;
      if (path.rfind("$ORIGIN", 0) != 0)
        throw Failed("the library looks for others in '" + path +
                         "', which is a folder of the machine it was built on",
                     "set INSTALL_RPATH to $ORIGIN; tenon_add_provider() does");
    }
  }
  for (const std::string& name : binary.needed) {
    if (name.find_first_of("/\\") != std::string::npos)
      throw Failed("the library needs '" + name + "' by its path", "give that library a soname");
  }
}

TENON_CHECK("hygiene.segments", "no executable stack and no text relocations") {
  const Binary binary = binary_of(target);
  const char* windows =
      "link with -Wl,--nxcompat,--dynamicbase, or /NXCOMPAT /DYNAMICBASE, as linkers do by default";
  if (binary.os == "windows") {
    if (binary.executable_stack) throw Failed("the library lets data be executed", windows);
    if (binary.text_relocations) throw Failed("the library cannot be loaded at any address", windows);
    return;
  }
  if (binary.executable_stack)
    throw Failed("the library asks for an executable stack",
                 "mark assembler sources with .section .note.GNU-stack,\"\",%progbits");
  if (binary.text_relocations)
    throw Failed("the library has text relocations", "compile everything with -fPIC");
}

TENON_CHECK("R1", "exactly one exported symbol, none unique in the process") {
  const Binary binary = binary_of(target);
  const char* cure =
      "compile with hidden visibility and -fno-gnu-unique, link with a version script; "
      "tenon_add_provider() does";
  std::vector<std::string> others = binary.exports;
  enter(Step::kEntry);
  const auto entry = std::remove(others.begin(), others.end(), "tenon_ep_negotiate");
  if (entry == others.end()) throw Failed("the library does not export tenon_ep_negotiate", kEntryCure);
  others.erase(entry, others.end());
  if (!binary.unique.empty())
    throw Failed("symbols are unique in the process: " + join(binary.unique, ", "), cure);
  if (others.size() > 5) others.resize(5), others.push_back("...");
  if (!others.empty()) throw Failed("the library also exports " + join(others, ", "), cure);
}

TENON_CHECK("R7", "the library loads in a process without a host, and finds all that it needs") {
  const Library library(target);
}

}  // namespace tenon::cts
