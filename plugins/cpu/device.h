// The processor: its description, and the table of functions for its instruction set.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "isa/table.h"

namespace tenon::cpu {

struct CpuDescription {
  std::string name;
  std::string vendor;
  std::vector<std::string> features;  // instruction sets that this provider could use here
};
CpuDescription describe_cpu();

/// The best table that the processor runs, or the one that TENON_CPU_ISA (generic, avx2, avx512, avx512_vnni, avx512_bf16) names.
/// Chosen at the first call. Thread-safe.
inline const isa::Table& isa_table();

/// Why TENON_CPU_ISA cannot be followed; empty when it is not set or can.
std::string isa_refusal();

namespace detail {
extern std::atomic<const isa::Table*> chosen_table;  // null: not chosen yet
const isa::Table& choose_table();
}  // namespace detail

inline const isa::Table& isa_table() {
  const isa::Table* table = detail::chosen_table.load(std::memory_order_acquire);
  return table != nullptr ? *table : detail::choose_table();
}

}  // namespace tenon::cpu
