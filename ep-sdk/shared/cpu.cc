// Features of the processor.
#include <algorithm>
#include <iterator>
#include <string>

#include "ep-sdk/shared/machine.h"

#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
#include <intrin.h>
#define TENON_X86_BY_INTRINSICS
#elif defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define TENON_X86_BY_ASSEMBLER
#elif defined(__linux__) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tenon::shared {

#if defined(TENON_X86_BY_INTRINSICS) || defined(TENON_X86_BY_ASSEMBLER)
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

/// eax, ebx, ecx and edx of a leaf; false when the processor does not have it.
bool read_leaf(unsigned leaf, unsigned registers[4]) {
#if defined(TENON_X86_BY_INTRINSICS)
  int words[4];
  __cpuid(words, 0);
  if (static_cast<unsigned>(words[0]) < leaf) return false;
  __cpuidex(words, static_cast<int>(leaf), 0);
  std::copy_n(words, 4, registers);
  return true;
#else
  return __get_cpuid_count(leaf, 0, &registers[0], &registers[1], &registers[2], &registers[3]) != 0;
#endif
}

unsigned enabled_state() {
  unsigned registers[4] = {};
  if (!read_leaf(1, registers) || (registers[2] & (1u << 27)) == 0) return 0;  // no OSXSAVE
#if defined(TENON_X86_BY_INTRINSICS)
  return static_cast<unsigned>(_xgetbv(0));
#else
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
#endif
}

}  // namespace

bool cpu_has(std::string_view feature) {
  std::string name(feature);
  std::replace(name.begin(), name.end(), '.', '_');
  for (const Feature& known : kFeatures) {
    if (known.name != name) continue;
    unsigned registers[4] = {};
    const bool has_leaf = read_leaf(known.leaf, registers);
    bool has_bit = has_leaf && (registers[known.index] >> known.bit & 1) != 0;
    return has_bit && (enabled_state() & known.state) == known.state;
  }
  return false;
}

#elif defined(__linux__) && defined(__aarch64__)

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

}  // namespace tenon::shared
