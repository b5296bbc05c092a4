#include "ep-sdk/shared/machine.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace tenon::shared {
namespace {

/// "glibc 2.36": a family and up to three numbers.
struct Libc {
  std::string_view family;
  std::array<unsigned, 3> version{};
};

std::optional<Libc> parse_libc(std::string_view text) {
  const size_t space = text.find(' ');
  Libc out{text.substr(0, space), {}};
  if (out.family.empty()) return std::nullopt;
  if (space == std::string_view::npos) return out;
  const char *at = text.data() + space + 1, *end = text.data() + text.size();
  for (unsigned& number : out.version) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    if (next == end) return out;
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
  return std::nullopt;
}

}  // namespace

std::string_view host_os() {
#if defined(_WIN32)
  return "windows";
#elif defined(__APPLE__)
  return "macos";
#else
  return "linux";
#endif
}

std::string_view host_arch() {
#if defined(__x86_64__) || defined(_M_X64)
  return "x86_64";
#elif defined(__aarch64__) || defined(_M_ARM64)
  return "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
  return "riscv64";
#else
  return "unknown";
#endif
}

std::string host_libc() {
#if defined(__GLIBC__)
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return {};
#endif
}

std::string_view canonical_arch(std::string_view arch) {
  if (arch == "amd64" || arch == "AMD64" || arch == "x64") return "x86_64";
  if (arch == "arm64" || arch == "ARM64") return "aarch64";
  return arch;
}

std::string other_system(std::string_view os, std::string_view arch) {
  if (os == host_os() && canonical_arch(arch) == host_arch()) return {};
  return "the library is for " + std::string(os) + " " + std::string(arch) + ", but this host is " +
         std::string(host_os()) + " " + std::string(host_arch());
}

std::string other_libc(std::string_view libc) {
  if (libc.empty()) return {};
  const std::string own = host_libc();
  const std::optional<Libc> wanted = parse_libc(libc), here = parse_libc(own);
  if (wanted && here && wanted->family == here->family && wanted->version <= here->version) return {};
  return "the library needs '" + std::string(libc) + "', but this system has " +
         (own.empty() ? "an unknown C library" : own);
}

std::string lacking_feature(const std::vector<std::string>& features) {
  for (const std::string& feature : features) {
    if (!cpu_has(feature)) return "this processor lacks '" + feature + "'";
  }
  return {};
}

std::string missing_files(const std::vector<std::string>& files) {
  std::string out;
  for (const std::string& path : files) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      out += (out.empty() ? "" : "; ") + ("the file '" + path) + "' does not exist";
  }
  return out;
}

}  // namespace tenon::shared
