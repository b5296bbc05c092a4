// The processor: what it is called, and the table of functions compiled for its instruction set.
#pragma once

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

/// The table in use: the best that the processor runs, or what TENON_CPU_ISA (generic, avx2, avx512) names.
/// Chosen once.
const isa::Table& isa_table();

/// Why TENON_CPU_ISA cannot be obeyed; empty when it can, or is not set.
std::string isa_refusal();

}  // namespace tenon::cpu
