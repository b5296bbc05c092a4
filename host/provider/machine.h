// Describes this machine and this build in the words of a manifest.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "host/provider/manifest.h"

namespace tenon::provider {

/// "linux".
std::string_view host_os();
/// The architecture that this host was compiled for: "x86_64", "aarch64".
std::string_view host_arch();
/// "glibc 2.36"; empty when unknown.
std::string host_libc();
/// "none", "address", "thread" or "memory".
std::string_view host_sanitizer();

/// True when the processor and the operating system offer the feature. Names are those of /proc/cpuinfo ("avx2",
/// "sse4_2", "asimddp"); '.' equals '_'. False for an unknown name.
bool cpu_has(std::string_view feature);

/// Compares operating system, architecture, C library, processor features and sanitizer of the manifest with this
/// machine. Refusals: E_ARCH, E_LIBC, E_CPU, E_SANITIZER.
Status check_machine(const Manifest& manifest);

/// Compares the manifest's ABI range with the host's. Refusals: E_ABI_TOO_OLD, E_ABI_TOO_NEW.
Status check_abi(const Manifest& manifest);

}  // namespace tenon::provider
