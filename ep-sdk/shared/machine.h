// This machine in the words of a manifest, and whether a library can run on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::shared {

/// "linux".
std::string_view host_os();
/// The architecture that this code was compiled for: "x86_64", "aarch64".
std::string_view host_arch();
/// "glibc 2.36"; empty when unknown.
std::string host_libc();

/// True when the processor and the operating system offer the feature. Names are those of /proc/cpuinfo ("avx2",
/// "sse4_2", "asimddp"); '.' equals '_'. False for an unknown name.
bool cpu_has(std::string_view feature);

/// The first of a system's names for an architecture: "x86_64" for "amd64", "aarch64" for "arm64".
std::string_view canonical_arch(std::string_view arch);

// Why a library cannot run here. Empty: it can.
std::string other_system(std::string_view os, std::string_view arch);
/// `libc`: the oldest one that works, such as "glibc 2.36". Empty: any.
std::string other_libc(std::string_view libc);
/// Names a feature that this processor lacks.
std::string lacking_feature(const std::vector<std::string>& features);
/// Names those of `files` that do not exist.
std::string missing_files(const std::vector<std::string>& files);

}  // namespace tenon::shared
