#include "host/provider/machine.h"

#include "host/base/sanitizer.h"
#include "host/base/text.h"
#include "host/provider/negotiate.h"
#include "host/provider/refusal.h"
#include "tenon/ep.h"

namespace tenon::provider {
std::string_view host_sanitizer() {
  constexpr std::string_view kNames[] = {"none", "address", "thread", "memory"};
  return kNames[kHostSanitizer];
}

Status check_machine(const Manifest& manifest) {
  const ManifestLibrary& library = manifest.file;
  if (const std::string why = shared::other_system(library.os, library.arch); !why.empty())
    return refuse(Refusal::kArch, why);
  if (const std::string why = shared::other_libc(library.libc); !why.empty())
    return refuse(Refusal::kLibc, why);
  if (const std::string why = shared::lacking_feature(library.cpu_features); !why.empty())
    return refuse(Refusal::kCpu, why);
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
