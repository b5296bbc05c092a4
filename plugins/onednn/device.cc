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

std::string processor_name() {
#if defined(__x86_64__)
  char text[49] = {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned words[4] = {};
    if (__get_cpuid(0x80000002u + leaf, &words[0], &words[1], &words[2], &words[3]) == 0) return "CPU";
    std::memcpy(text + size_t{16} * leaf, words, sizeof(words));
  }
  std::string name = text;
  while (!name.empty() && name.back() == ' ') name.pop_back();
  if (!name.empty()) return name;
#endif
  return "CPU";
}

}  // namespace

const Engine& Device::engine() const {
  const std::lock_guard lock(mutex_);
  if (engine_ == nullptr) engine_ = std::make_unique<Engine>();
  return *engine_;
}

Instance::Instance(const Device& on, const tenon_instance_params& params) : device(on), settings(params) {
  bf16 = params.precision == TENON_PRECISION_BF16;
  relaxed = params.precision != TENON_PRECISION_EXACT;
  claims_all = settings.options.text("claim", "all") == "all";
  if (const std::string precision = settings.options.text("precision", "session"); precision != "session") {
    bf16 = precision == "bf16";
    relaxed = precision != "exact";
    settings.precision = TENON_PRECISION_EXACT;
    if (relaxed) settings.precision = TENON_PRECISION_FAST;
    if (bf16) settings.precision = TENON_PRECISION_BF16;
  }
  bf16 = bf16 && has_bf16();  // without these instructions bfloat16 is slower and no more exact
}

void Provider::devices(const ep::DeviceSink& sink) const {
  if (is_tried) load_library();
  const std::string name = processor_name(), widest = instruction_set();
  const tenon_str features[] = {ep::to_str(widest)};
  sink.add({.kind = TENON_DEVICE_CPU,
            .stable_id = "0",
            .name = name,
            .vendor = "oneAPI",
            .serialize = TENON_SERIALIZE_BINDING,
            .features = features});
}

Device::Device(const Provider&, std::string_view stable_id) {
  ep::require(stable_id == "0", TENON_NOT_FOUND, "there is no device '", stable_id, "'");
}

}  // namespace tenon::onednn
