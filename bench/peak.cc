// What one thread of the processor computes at most in float32: fused multiply-adds of vectors in registers, twelve at a time, so
// that none waits for another's result. bench/peak.py compares kernels with it.
//
//   build/release/bin/tenon_bench --benchmark_filter=Peak
#include <benchmark/benchmark.h>

#ifdef __x86_64__
#include <immintrin.h>

namespace {

constexpr int kChains = 12;  // two units, and each result is there after four to six cycles
constexpr int kSteps = 10'000;

/// `lanes`: floats in a vector. Counts floating-point operations for each second.
void count(benchmark::State& state, int lanes) {
  const double each = 2.0 * lanes * kChains * kSteps;
  state.counters["flops"] =
      benchmark::Counter(each, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

[[gnu::target("avx2,fma")]] void PeakAvx2(benchmark::State& state) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    state.SkipWithError("this processor has no AVX2");
    return;
  }
  const __m256 factor = _mm256_set1_ps(0.5f), term = _mm256_set1_ps(1.0f);  // all sums stay close to 2
  __m256 sums[kChains] = {};
  for (auto _ : state) {
    for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12  // into registers
      for (int chain = 0; chain < kChains; ++chain) {
        sums[chain] = _mm256_fmadd_ps(sums[chain], factor, term);
      }
    }
  }
  for (int chain = 1; chain < kChains; ++chain) sums[0] = _mm256_add_ps(sums[0], sums[chain]);
  benchmark::DoNotOptimize(sums[0]);
  count(state, 8);
}
BENCHMARK(PeakAvx2)->UseRealTime();

[[gnu::target("avx512f")]] void PeakAvx512(benchmark::State& state) {
  if (!__builtin_cpu_supports("avx512f")) {
    state.SkipWithError("this processor has no AVX-512");
    return;
  }
  const __m512 factor = _mm512_set1_ps(0.5f), term = _mm512_set1_ps(1.0f);
  __m512 sums[kChains] = {};
  for (auto _ : state) {
    for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12  // into registers
      for (int chain = 0; chain < kChains; ++chain) {
        sums[chain] = _mm512_fmadd_ps(sums[chain], factor, term);
      }
    }
  }
  for (int chain = 1; chain < kChains; ++chain) sums[0] = _mm512_add_ps(sums[0], sums[chain]);
  benchmark::DoNotOptimize(sums[0]);
  count(state, 16);
}
BENCHMARK(PeakAvx512)->UseRealTime();

}  // namespace
#endif
