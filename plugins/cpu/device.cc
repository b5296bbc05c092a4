#include "device.h"
#include "isa/attention.h"
#include "isa/compute.h"
#include "isa/integer.h"
#include "isa/integer_nbits.h"
#include "isa/packing.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon::cpu {
namespace {

/// Compiled for one instruction set: call its functions only when `runs`.
struct Candidate {
  std::string_view name;
  const isa::Table& (*table)();
  const isa::Packing& (*packing)();
  const isa::Compute& (*compute)();
  const isa::Integer& (*integer)();
  const isa::NBits& (*nbits)();
  const isa::Attention& (*attention)();
  bool runs;
  const isa::Attention& (*attention_bf16)() = nullptr;
};

// __builtin_cpu_supports also checks that the operating system saves the registers.
#if defined(TENON_CPU_HAVE_avx512) || defined(TENON_CPU_HAVE_avx2)
bool converts_halves() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
bool runs_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && converts_halves();
}
bool runs_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && runs_avx2();
}
bool runs_avx512_vnni() { return __builtin_cpu_supports("avx512vnni") && runs_avx512(); }
bool runs_avx512_bf16() { return __builtin_cpu_supports("avx512bf16") && runs_avx512_vnni(); }
#endif

// Best first. The last one runs everywhere.
std::vector<Candidate> candidates() {
  return {
#if defined(TENON_CPU_HAVE_avx512)
    {"avx512_bf16",          &isa::table_avx512,        &isa::packing_avx512,
     &isa::compute_avx512,   &isa::integer_avx512_vnni, &isa::nbits_avx512_vnni,
     &isa::attention_avx512, runs_avx512_bf16(),        &isa::attention_avx512_bf16},
        {"avx512_vnni",          &isa::table_avx512,        &isa::packing_avx512,
         &isa::compute_avx512,   &isa::integer_avx512_vnni, &isa::nbits_avx512_vnni,
         &isa::attention_avx512, runs_avx512_vnni()},
        {"avx512",
         &isa::table_avx512,
         &isa::packing_avx512,
         &isa::compute_avx512,
         &isa::integer_avx512,
         &isa::nbits_avx512,
         &isa::attention_avx512,
         runs_avx512()},
#endif
#if defined(TENON_CPU_HAVE_avx2)
        {"avx2",           &isa::table_avx2,     &isa::packing_avx2, &isa::compute_avx2, &isa::integer_avx2,
         &isa::nbits_avx2, &isa::attention_avx2, runs_avx2()},
#endif
        {"generic",
         &isa::table_generic,
         &isa::packing_generic,
         &isa::compute_generic,
         &isa::integer_generic,
         &isa::nbits_generic,
         &isa::attention_generic,
         true},
  };
}

std::string_view wanted() {
  const char* name = std::getenv("TENON_CPU_ISA");
  return name == nullptr ? "" : name;
}

Candidate choose() {
  const std::string_view name = wanted();
  const std::vector<Candidate> all = candidates();
  for (const Candidate& c : all) {
    if (c.runs && (name.empty() || name == c.name)) return c;
  }
  return all.back();  // negotiation has already refused this name
}

#if defined(__x86_64__)
std::string cpuid_text(unsigned first, unsigned last) {
  std::string out;
  for (unsigned leaf = first; leaf <= last; ++leaf) {
    unsigned words[4] = {};
    if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]) == 0) return {};
    char text[16];
    std::memcpy(text, words, sizeof(text));
    out.append(text, strnlen(text, sizeof(text)));
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string vendor_text() {
  unsigned a = 0, words[3] = {};
  if (__get_cpuid(0, &a, &words[0], &words[2], &words[1]) == 0) return {};
  return std::string(reinterpret_cast<const char*>(words), sizeof(words));
}
#endif

}  // namespace

constinit std::atomic<const isa::Table*> detail::chosen_table = nullptr;

const isa::Table& detail::choose_table() {
  const isa::Table& table = choose().table();
  chosen_table.store(&table, std::memory_order_release);
  return table;
}

const isa::Packing& isa_packing() {
  static const isa::Packing& packing = choose().packing();
  return packing;
}

const isa::Compute& isa_compute() {
  static const isa::Compute& compute = choose().compute();
  return compute;
}

const isa::Integer& isa_integer() {
  static const isa::Integer& integer = choose().integer();
  return integer;
}

const isa::NBits& isa_nbits() {
  static const isa::NBits& nbits = choose().nbits();
  return nbits;
}

const isa::Attention& isa_attention() {
  static const isa::Attention& attention = choose().attention();
  return attention;
}

const isa::Attention* isa_attention_bf16() {
  static const auto attention = choose().attention_bf16;
  return attention == nullptr ? nullptr : &attention();
}

std::string isa_refusal() {
  const std::string_view name = wanted();
  if (name.empty()) return {};
  std::string known;
  for (const Candidate& c : candidates()) {
    if (c.name == name)
      return c.runs ? ""
                    : "TENON_CPU_ISA is '" + std::string(name) + "', which this processor does not support";
    known += (known.empty() ? "" : ", ") + std::string(c.name);
  }
  return "TENON_CPU_ISA is '" + std::string(name) + "'; known values are " + known;
}

CpuDescription describe_cpu() {
  CpuDescription out{"CPU", "", {}};
#if defined(__x86_64__)
  if (std::string name = cpuid_text(0x80000002u, 0x80000004u); !name.empty()) out.name = std::move(name);
  out.vendor = vendor_text();
#endif
  for (const Candidate& c : candidates()) {
    if (c.runs) out.features.emplace_back(c.name);
  }
  return out;
}

}  // namespace tenon::cpu
