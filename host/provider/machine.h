// What this machine and this build are, in the words of a manifest.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "host/provider/manifest.h"

namespace tenon::provider {

/// "linux".
std::string_view host_os();
/// "x86_64", "aarch64": the architecture this host was compiled for.
std::string_view host_arch();
/// "glibc 2.36"; empty when unknown.
std::string host_libc();
/// "none", "address", "thread" or "memory".
std::string_view host_sanitizer();

/// True when the processor and the operating system offer the feature, spelled as in /proc/cpuinfo ("avx2",
/// "sse4_2", "asimddp"); '.' counts as '_'. A name this host does not know is false.
bool cpu_has(std::string_view feature);

/// Operating system, architecture, C library, processor features and sanitizer of the manifest against this
/// machine. Refusals: E_ARCH, E_LIBC, E_CPU, E_SANITIZER.
Status check_machine(const Manifest& manifest);

/// The manifest's ABI range against the host's. Refusals: E_ABI_TOO_OLD, E_ABI_TOO_NEW.
Status check_abi(const Manifest& manifest);

}  // namespace tenon::provider
