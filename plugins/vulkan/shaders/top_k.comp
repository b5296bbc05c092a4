#version 450
// variants: float int uint long ulong
// TopK: merges sorted runs of each line, as tenon/ep/device/ops/top_k.hpp describes it; a work-item for each element that is left.
// NaN counts as the largest number.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 4) const uint T = 1;

struct Stage {
  int outer, axis, inner, items, run, group, keep, results, is_first, is_last;
};
NUMBERS {
  uint x_at, from_at, to_at, y_at, places_at;
  Stage s;
  int largest, has_y, has_places;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer From { uint from[]; };
layout(std430, binding = 3) buffer To { uint to[]; };
layout(std430, binding = 4) buffer Y { uint y[]; };
layout(std430, binding = 5) buffer Places { uint places[]; };

bool comes_before(C a, int a_index, C b, int b_index) {
#if defined(IS_float)
  if (isnan(a) && isnan(b)) return a_index < b_index;
  if (isnan(a) || isnan(b)) return isnan(a) == (largest != 0);
#endif
  if (a != b) return largest != 0 ? a > b : a < b;
  return a_index < b_index;
}

// The index along the axis of the element at `place` of those left; `line`: the first of them.
int index_at(int line, int place) {
  return s.is_first != 0 ? place : int(from[from_at + uint(line + place * s.inner)]);
}

void main() {
  EACH(e, s.items * s.inner, row, s.outer) {
    const int p = e / s.inner, i = e - p * s.inner;
    const uint line = x_at + uint(row * s.axis * s.inner + i);
    const int left = row * s.items * s.inner + i;
    const int index = index_at(left, p), start = p / s.group * s.group, end = min(start + s.group, s.items);
    const C value = LOAD(x, T, line + uint(index * s.inner));
    const int own = start + (p - start) / s.run * s.run;
    int rank = p - own;
    for (int run = start; run < end && rank < s.keep; run += s.run) {
      int low = run, high = run == own ? run : min(run + s.run, end);
      while (low < high) {
        const int middle = low + (high - low) / 2, other = index_at(left, middle);
        if (comes_before(LOAD(x, T, line + uint(other * s.inner)), other, value, index))
          low = middle + 1;
        else
          high = middle;
      }
      rank += low - run;
    }
    if (rank < s.keep) {
      const uint at = uint((row * s.results + p / s.group * s.keep + rank) * s.inner + i);
      if (s.is_last == 0) {
        to[to_at + at] = uint(index);
      } else {
        if (has_y != 0) STORE(y, T, y_at + at, value)
        if (has_places != 0) {
          places[2 * (places_at + at)] = uint(index);
          places[2 * (places_at + at) + 1] = 0u;
        }
      }
    }
  }
}
