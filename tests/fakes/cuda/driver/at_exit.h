// What is done when the process ends: counts are written, and misuse is reported.
#pragma once

namespace fake_cuda {

/// The status that a process ends with if TENON_FAKE_CUDA_STRICT has found misuse.
inline constexpr int kMisuseStatus = 86;

}  // namespace fake_cuda
