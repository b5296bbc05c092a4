// Checks of the manifest and the file, without running the library.
#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>

#include "ep-sdk/cts/binary.h"
#include "ep-sdk/cts/check.h"
#include "ep-sdk/cts/library.h"
#include "ep-sdk/cts/sha256.h"

namespace tenon::cts {
namespace {

using Json = nlohmann::json;

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : separator) + part;
  return out;
}

void require_manifest(const Target& target) {
  if (!target.syntax.empty()) throw NotApplicable("the manifest is not readable");
}

Json library_entry(const Target& target) {
  require_manifest(target);
  return target.manifest.value("library", Json::object());
}

Binary binary_of(const Target& target) {
  require_manifest(target);
  if (target.module_path().empty()) throw NotApplicable("the manifest names no library");
  return read_binary(read_file(target.module_path()));
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

/// The manifest's reason for such an import: "x-cts": {"imports": {"abort": "why"}}.
std::string declared_reason(const Target& target, const std::string& symbol) {
  const Json kit = target.manifest.value("x-cts", Json::object());
  const Json imports = kit.is_object() ? kit.value("imports", Json::object()) : Json::object();
  return imports.is_object() ? imports.value(symbol, "") : "";
}

}  // namespace

TENON_CHECK("hygiene.manifest", "the manifest is JSON and keeps to manifest.schema.json") {
  if (!target.syntax.empty())
    throw Failed("the manifest cannot be read: " + target.syntax, "write JSON; tenon_add_provider() does");
  const std::vector<std::string> complaints = schema_complaints(target.manifest);
  if (!complaints.empty())
    throw Failed(join(complaints, "; "),
                 "keep to manifest.schema.json; tenon_add_provider() fills in what it can");
  const Json abi = target.manifest["abi"];
  if (abi["min_minor"] > abi["max_minor"])
    throw Failed("'abi' has min_minor above max_minor",
                 "name the range of minors that the library can work with");
}

TENON_CHECK("hygiene.options", "each option has its own name, and a fitting default, bounds and values") {
  require_manifest(target);
  std::vector<std::string> names;
  for (const Json& option : target.manifest.value("options", Json::array())) {
    const std::string name = option.value("name", ""), type = option.value("type", "");
    if (std::count(names.begin(), names.end(), name) != 0)
      throw Failed("the option '" + name + "' occurs twice", "give each option its own name");
    names.push_back(name);
    if (option.value("doc", "").empty())
      throw Failed("the option '" + name + "' has no doc",
                   "say in 'doc' what it does; tenon providers show prints it");
    const auto fits = [&](const Json& value) {
      return (type == "bool" && value.is_boolean()) || (type == "int" && value.is_number_integer()) ||
             (type == "float" && value.is_number()) || (type == "string" && value.is_string()) ||
             (type == "size" && (value.is_string() || value.is_number_unsigned()));
    };
    const Json none;
    const Json fallback = option.value("default", none), values = option.value("values", none);
    if (!fallback.is_null() && !fits(fallback))
      throw Failed("the default of '" + name + "' is not of type " + type,
                   "write a default of the option's type");
    for (const Json& value : values) {
      if (!fits(value))
        throw Failed("a value of '" + name + "' is not of type " + type, "write values of the option's type");
    }
    if (values.is_array() && !fallback.is_null() &&
        std::find(values.begin(), values.end(), fallback) == values.end())
      throw Failed("the default of '" + name + "' is not among its values", "name it in 'values'");
    const Json low = option.value("min", none), high = option.value("max", none);
    const bool outside = fallback.is_number() &&
                         ((low.is_number() && fallback < low) || (high.is_number() && fallback > high));
    if (outside) throw Failed("the default of '" + name + "' is outside of its bounds", "widen them");
  }
}

TENON_CHECK("hygiene.file", "the library has the size and the SHA-256 of its manifest") {
  const Json entry = library_entry(target);
  const std::string bytes = read_file(target.module_path());
  const char* cure = "write the manifest after the last step that changes the file (strip, patchelf, sign)";
  if (entry.value("size", uint64_t{0}) != bytes.size())
    throw Failed("the library has " + std::to_string(bytes.size()) + " bytes, the manifest says " +
                     std::to_string(entry.value("size", uint64_t{0})),
                 cure);
  const std::string hash = sha256(bytes);
  if (entry.value("sha256", "") != hash)
    throw Failed("the library has the SHA-256 " + hash + ", the manifest says " + entry.value("sha256", ""),
                 cure);
}

TENON_CHECK("hygiene.mode", "only the owner may write to manifest and library") {
  require_manifest(target);
  for (const std::string& path : {target.manifest_path, target.module_path()}) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) throw Failed("'" + path + "' does not exist", "install it");
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      throw Failed("'" + path + "' is writable by others", "install files with mode 0644 or 0755");
  }
}

TENON_CHECK("hygiene.platform", "os and arch of the manifest are those of the file") {
  const Json entry = library_entry(target);
  const Binary binary = binary_of(target);
  if (entry.value("arch", "") != binary.arch)
    throw Failed(
        "the library is compiled for " + binary.arch + ", the manifest says " + entry.value("arch", ""),
        "write the manifest of the build that it describes");
  if (entry.value("os", "") != "linux")
    throw Failed("an ELF library in a manifest for " + entry.value("os", ""),
                 "name the system it is built for");
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
  for (const Forbidden& forbidden : kForbidden) {
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
    if (name.find('/') != std::string::npos)
      throw Failed("the library needs '" + name + "' by its path", "give that library a soname");
  }
}

TENON_CHECK("hygiene.segments", "no executable stack and no text relocations") {
  const Binary binary = binary_of(target);
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
  const auto entry = std::remove(others.begin(), others.end(), "tenon_ep_negotiate");
  if (entry == others.end()) throw Failed("the library does not export tenon_ep_negotiate", cure);
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
