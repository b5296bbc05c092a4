#include "device.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tenon::onednn {
namespace {

/// The widest instruction set that the processor has and oneDNN uses.
std::string instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) return "avx512_bf16";
  if (__builtin_cpu_supports("avx512vnni")) return "avx512_vnni";
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  if (__builtin_cpu_supports("avx")) return "avx";
  if (__builtin_cpu_supports("sse4.1")) return "sse41";
#endif
  return "generic";
}

}  // namespace

const Engine& Device::engine() const {
  const std::lock_guard lock(mutex_);
  if (engine_ == nullptr) engine_ = std::make_unique<Engine>();
  return *engine_;
}

Instance::Instance(const Device& on, const tenon_instance_params& params) : device(on) {
  settings = {params.precision, params.deterministic != 0, params.memory_limit, params.host};
  bf16 = params.precision == TENON_PRECISION_BF16;
  relaxed = params.precision != TENON_PRECISION_EXACT;
  for (uint32_t i = 0; i < params.option_count; ++i) {
    const tenon_option& option = params.options[i];
    if (ep::view(option.name) == "claim") claims_all = ep::view(option.s) == "all";
    if (ep::view(option.name) != "precision" || ep::view(option.s) == "session") continue;
    bf16 = ep::view(option.s) == "bf16";
    relaxed = ep::view(option.s) != "exact";
    settings.precision = TENON_PRECISION_EXACT;
    if (relaxed) settings.precision = TENON_PRECISION_FAST;
    if (bf16) settings.precision = TENON_PRECISION_BF16;
  }
  bf16 = bf16 && has_bf16();  // without these instructions bfloat16 is slower and no more exact
}

CpuDescription describe_cpu() {
  CpuDescription out{"CPU", {instruction_set()}};
#if defined(__x86_64__)
  char text[49] = {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned words[4] = {};
    if (__get_cpuid(0x80000002u + leaf, &words[0], &words[1], &words[2], &words[3]) == 0) return out;
    std::memcpy(text + 16 * leaf, words, sizeof(words));
  }
  std::string name = text;
  while (!name.empty() && name.back() == ' ') name.pop_back();
  if (!name.empty()) out.name = name;
#endif
  return out;
}

}  // namespace tenon::onednn
