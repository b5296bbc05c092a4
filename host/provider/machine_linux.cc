#if defined(__linux__)

#include <gnu/libc-version.h>

#include <algorithm>
#include <string>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "host/provider/machine.h"

namespace tenon::provider {

std::string_view host_os() { return "linux"; }

std::string_view host_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
  return "riscv64";
#else
  return "unknown";
#endif
}

std::string host_libc() { return std::string("glibc ") + gnu_get_libc_version(); }

#if defined(__x86_64__) || defined(__i386__)
namespace {

struct Feature {
  std::string_view name;
  unsigned leaf, index, bit;  // cpuid leaf; register eax..edx = 0..3; bit
  unsigned state;             // XCR0 bits that the operating system must have enabled
};

constexpr unsigned kYmm = 0x6, kZmm = 0xE6;
constexpr Feature kFeatures[] = {
    {"sse2", 1, 3, 26, 0},
    {"sse3", 1, 2, 0, 0},
    {"pni", 1, 2, 0, 0},
    {"ssse3", 1, 2, 9, 0},
    {"sse4_1", 1, 2, 19, 0},
    {"sse4_2", 1, 2, 20, 0},
    {"popcnt", 1, 2, 23, 0},
    {"aes", 1, 2, 25, 0},
    {"avx", 1, 2, 28, kYmm},
    {"f16c", 1, 2, 29, kYmm},
    {"fma", 1, 2, 12, kYmm},
    {"bmi1", 7, 1, 3, 0},
    {"bmi2", 7, 1, 8, 0},
    {"avx2", 7, 1, 5, kYmm},
    {"avx512f", 7, 1, 16, kZmm},
    {"avx512dq", 7, 1, 17, kZmm},
    {"avx512cd", 7, 1, 28, kZmm},
    {"avx512bw", 7, 1, 30, kZmm},
    {"avx512vl", 7, 1, 31, kZmm},
    {"avx512vbmi", 7, 2, 1, kZmm},
    {"avx512_vnni", 7, 2, 11, kZmm},
    {"amx_bf16", 7, 3, 22, 0x60000},
    {"avx512_fp16", 7, 3, 23, kZmm},
    {"amx_tile", 7, 3, 24, 0x60000},
    {"amx_int8", 7, 3, 25, 0x60000},
};

unsigned enabled_state() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1u << 27)) == 0) return 0;  // no OSXSAVE
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace

bool cpu_has(std::string_view feature) {
  std::string name(feature);
  std::replace(name.begin(), name.end(), '.', '_');
  for (const Feature& known : kFeatures) {
    if (known.name != name) continue;
    unsigned registers[4] = {};
    bool has_leaf =
        __get_cpuid_count(known.leaf, 0, &registers[0], &registers[1], &registers[2], &registers[3]) != 0;
    bool has_bit = has_leaf && (registers[known.index] >> known.bit & 1) != 0;
    return has_bit && (enabled_state() & known.state) == known.state;
  }
  return false;
}

#elif defined(__aarch64__)

bool cpu_has(std::string_view feature) {
  struct Feature {
    std::string_view name;
    unsigned long bit;
  };
  constexpr Feature kFeatures[] = {{"fp", HWCAP_FP},           {"asimd", HWCAP_ASIMD},
                                   {"asimdhp", HWCAP_ASIMDHP}, {"asimddp", HWCAP_ASIMDDP},
                                   {"atomics", HWCAP_ATOMICS}, {"sve", HWCAP_SVE}};
  unsigned long has = getauxval(AT_HWCAP);
  return std::any_of(std::begin(kFeatures), std::end(kFeatures),
                     [&](const Feature& known) { return known.name == feature && (has & known.bit) != 0; });
}

#else

bool cpu_has(std::string_view) { return false; }

#endif

}  // namespace tenon::provider

#endif
