#include "host/provider/machine.h"

#include "host/base/sanitizer.h"
#include "host/base/text.h"
#include "host/provider/negotiate.h"
#include "host/provider/refusal.h"
#include "tenon/ep.h"

namespace tenon::provider {
namespace {

// Some systems have other names for the same architectures.
std::string_view canonical_arch(std::string_view arch) {
  if (arch == "amd64" || arch == "AMD64" || arch == "x64") return "x86_64";
  if (arch == "arm64" || arch == "ARM64") return "aarch64";
  return arch;
}

// "glibc 2.36" -> family "glibc", version {2, 36}.
struct Libc {
  std::string family;
  Version version;
  bool known = false;
};

Libc parse_libc(std::string_view text) {
  Libc out;
  std::vector<std::string> words = split(text, ' ');
  if (words.empty() || words.size() > 2) return out;
  out.family = words[0];
  if (words.size() == 2) {
    std::string three = words[1];
    while (split(three, '.').size() < 3) three += ".0";
    Result<Version> version = parse_version(three);
    if (!version) return out;
    out.version = *version;
  }
  out.known = true;
  return out;
}

Status check_libc(const Manifest& manifest) {
  const std::string& wanted_text = manifest.file.libc;
  if (wanted_text.empty()) return ok_status();
  Libc wanted = parse_libc(wanted_text), here = parse_libc(host_libc());
  bool good = wanted.known && here.known && wanted.family == here.family && wanted.version <= here.version;
  if (good) return ok_status();
  std::string system = host_libc().empty() ? "an unknown C library" : host_libc();
  return refuse(Refusal::kLibc,
                str_cat("the library needs '", wanted_text, "', but this system has ", system));
}

}  // namespace

std::string_view host_sanitizer() {
  constexpr std::string_view kNames[] = {"none", "address", "thread", "memory"};
  return kNames[kHostSanitizer];
}

Status check_machine(const Manifest& manifest) {
  const ManifestLibrary& library = manifest.file;
  if (library.os != host_os() || canonical_arch(library.arch) != host_arch()) {
    return refuse(Refusal::kArch, str_cat("the library is for ", library.os, " ", library.arch,
                                          ", but this host is ", host_os(), " ", host_arch()));
  }
  RETURN_IF_ERROR(check_libc(manifest));
  for (const std::string& feature : library.cpu_features) {
    if (!cpu_has(feature)) return refuse(Refusal::kCpu, str_cat("this processor lacks '", feature, "'"));
  }
  // A library without sanitizer works in a host with one. The reverse does not: the sanitizer's functions are missing.
  bool plain = library.sanitizer.empty() || library.sanitizer == "none";
  if (!plain && library.sanitizer != host_sanitizer()) {
    return refuse(Refusal::kSanitizer,
                  str_cat("the library was built with the sanitizer '", library.sanitizer,
                          "', this host with '", host_sanitizer(), "'"));
  }
  return ok_status();
}

Status check_abi(const Manifest& manifest) {
  const Refusal refusal = judge_abi(manifest.abi_major, manifest.abi_min_minor, manifest.abi_max_minor);
  if (refusal == Refusal::kNone) return ok_status();
  return refuse(refusal,
                str_cat("the provider speaks ABI ", manifest.abi_major, ".", manifest.abi_min_minor, " to ",
                        manifest.abi_major, ".", manifest.abi_max_minor, ", this host ", TENON_EP_ABI_MAJOR,
                        ".", TENON_EP_ABI_OLDEST_MINOR, " to ", TENON_EP_ABI_MAJOR, ".", TENON_EP_ABI_MINOR));
}

}  // namespace tenon::provider
