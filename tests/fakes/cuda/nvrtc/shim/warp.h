// What the threads of a block and the lanes of a warp do together.
#pragma once

FAKE_CUDA void __syncthreads() { fake_cuda_barrier(0, 0); }
FAKE_CUDA int __syncthreads_count(int predicate) { return fake_cuda_barrier(predicate, 1); }
FAKE_CUDA int __syncthreads_and(int predicate) { return fake_cuda_barrier(predicate, 2); }
FAKE_CUDA int __syncthreads_or(int predicate) { return fake_cuda_barrier(predicate, 3); }

inline unsigned fake_cuda_thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline unsigned fake_cuda_lane() { return fake_cuda_thread() % 32; }

// ---- Shuffles ----

struct fake_cuda_shuffle {
  unsigned long long value, result;
  unsigned from;
};
/// Lanes that are not there give what no kernel should use: NaN, or -1.
inline void fake_cuda_resolve_shuffle(void* const* lanes, unsigned present) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((present >> lane & 1) == 0) continue;
    auto* own = static_cast<fake_cuda_shuffle*>(lanes[lane]);
    const auto* from = static_cast<const fake_cuda_shuffle*>(lanes[own->from]);
    own->result = (present >> own->from & 1) != 0 ? from->value : ~0ULL;
  }
}
template <class T>
inline T fake_cuda_exchange(unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) <= 8, "shuffles move at most 8 bytes");
  static const char kind = 0;
  fake_cuda_shuffle lane{0, 0, from};
  __builtin_memcpy(&lane.value, &value, sizeof(T));
  fake_cuda_collective(mask, &kind, &lane, &fake_cuda_resolve_shuffle);
  T out;
  __builtin_memcpy(&out, &lane.result, sizeof(T));
  return out;
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned lane = fake_cuda_lane(), first = lane / width * width;
  return fake_cuda_exchange(mask, value, first + static_cast<unsigned>(from) % width);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = fake_cuda_lane(), first = lane / width * width;
  return fake_cuda_exchange(mask, value, lane - first >= delta ? lane - delta : lane);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const unsigned lane = fake_cuda_lane(), first = lane / width * width;
  return fake_cuda_exchange(mask, value,
                            lane - first + delta < static_cast<unsigned>(width) ? lane + delta : lane);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const unsigned lane = fake_cuda_lane(), other = lane ^ static_cast<unsigned>(bits);
  return fake_cuda_exchange(mask, value, other / width <= lane / width ? other : lane);
}

// ---- Votes and reductions ----

struct fake_cuda_vote {
  unsigned long long value, result;
  unsigned lane_mask;
};
template <class Combine>
inline unsigned long long fake_cuda_combine(unsigned mask, unsigned long long value, const void* kind,
                                            Combine) {
  fake_cuda_vote lane{value, 0, 1U << fake_cuda_lane()};
  fake_cuda_collective(mask, kind, &lane, [](void* const* lanes, unsigned present) {
    for (unsigned i = 0; i < 32; ++i) {
      if ((present >> i & 1) == 0) continue;
      auto* own = static_cast<fake_cuda_vote*>(lanes[i]);
      bool first = true;
      for (unsigned j = 0; j < 32; ++j) {
        if ((present >> j & 1) == 0) continue;
        const auto* other = static_cast<const fake_cuda_vote*>(lanes[j]);
        own->result = Combine::add(first, own->result, *other, *own);
        first = false;
      }
    }
  });
  return lane.result;
}
#define FAKE_CUDA_COMBINE(name, expression)                                                        \
  struct name {                                                                                    \
    static unsigned long long add(bool first, unsigned long long sum, const fake_cuda_vote& other, \
                                  const fake_cuda_vote& own) {                                     \
      (void)own;                                                                                   \
      const unsigned long long value = other.value;                                                \
      return expression;                                                                           \
    }                                                                                              \
    static constexpr char kind = 0;                                                                \
  };
FAKE_CUDA_COMBINE(fake_cuda_ballot, (first ? 0 : sum) | (value != 0 ? other.lane_mask : 0))
FAKE_CUDA_COMBINE(fake_cuda_match, (first ? 0 : sum) | (value == own.value ? other.lane_mask : 0))
FAKE_CUDA_COMBINE(fake_cuda_present, (first ? 0 : sum) | other.lane_mask)
FAKE_CUDA_COMBINE(fake_cuda_sum, first ? value : sum + value)
FAKE_CUDA_COMBINE(fake_cuda_and, first ? value : sum& value)
FAKE_CUDA_COMBINE(fake_cuda_or, first ? value : sum | value)
FAKE_CUDA_COMBINE(fake_cuda_xor, first ? value : sum ^ value)
FAKE_CUDA_COMBINE(fake_cuda_min,
                  first || static_cast<long long>(value) < static_cast<long long>(sum) ? value : sum)
FAKE_CUDA_COMBINE(fake_cuda_max,
                  first || static_cast<long long>(value) > static_cast<long long>(sum) ? value : sum)
template <class Combine>
inline unsigned long long fake_cuda_combine(unsigned mask, unsigned long long value) {
  return fake_cuda_combine(mask, value, &Combine::kind, Combine());
}

inline void __syncwarp(unsigned mask = ~0U) { fake_cuda_combine<fake_cuda_present>(mask, 0); }
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(fake_cuda_combine<fake_cuda_ballot>(mask, predicate != 0));
}
inline int __any_sync(unsigned mask, int predicate) {
  return static_cast<int>(fake_cuda_combine<fake_cuda_or>(mask, predicate != 0));
}
inline int __all_sync(unsigned mask, int predicate) {
  return static_cast<int>(fake_cuda_combine<fake_cuda_and>(mask, predicate != 0));
}
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned>(fake_cuda_combine<fake_cuda_match>(mask, bits));
}
#define FAKE_CUDA_REDUCE(name, combine, type)                          \
  inline type name(unsigned mask, type value) {                        \
    return static_cast<type>(fake_cuda_combine<combine>(mask, value)); \
  }
FAKE_CUDA_REDUCE(__reduce_add_sync, fake_cuda_sum, unsigned)
FAKE_CUDA_REDUCE(__reduce_min_sync, fake_cuda_min, unsigned)
FAKE_CUDA_REDUCE(__reduce_max_sync, fake_cuda_max, unsigned)
FAKE_CUDA_REDUCE(__reduce_add_sync, fake_cuda_sum, int)
FAKE_CUDA_REDUCE(__reduce_min_sync, fake_cuda_min, int)
FAKE_CUDA_REDUCE(__reduce_max_sync, fake_cuda_max, int)
FAKE_CUDA_REDUCE(__reduce_and_sync, fake_cuda_and, unsigned)
FAKE_CUDA_REDUCE(__reduce_or_sync, fake_cuda_or, unsigned)
FAKE_CUDA_REDUCE(__reduce_xor_sync, fake_cuda_xor, unsigned)
