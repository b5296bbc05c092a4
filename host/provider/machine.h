// Describes this machine and this build in the words of a manifest.
#pragma once

#include <string_view>

#include "core/base/status.h"
#include "ep-sdk/shared/machine.h"
#include "host/provider/manifest.h"

namespace tenon::provider {

using shared::cpu_has;
using shared::host_arch;
using shared::host_libc;
using shared::host_os;

/// "none", "address", "thread" or "memory".
std::string_view host_sanitizer();

/// Compares operating system, architecture, C library, processor features and sanitizer of the manifest with this
/// machine. Refusals: E_ARCH, E_LIBC, E_CPU, E_SANITIZER.
Status check_machine(const Manifest& manifest);

/// Compares the manifest's ABI range with the host's. Refusals: E_ABI_TOO_OLD, E_ABI_TOO_NEW.
Status check_abi(const Manifest& manifest);

}  // namespace tenon::provider
