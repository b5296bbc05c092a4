#version 450
// variants: Fill Eye Trilu OneHot
// Tensors from a few numbers, as tenon/ep/device/ops/generate.hpp describes them.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint BYTES = 4;
layout(constant_id = 5) const uint I = 7;

NUMBERS {
#if defined(IS_Fill)
  uint y_at;
  int n;
  uint low, high;
#elif defined(IS_Eye)
  uint y_at;
  int rows, columns, shift;
  uint low, high;
#elif defined(IS_Trilu)
  uint x_at, y_at;
  int rows, columns, batches, shift, upper;
#else
  uint index_at, values_at, y_at;
  int outer, depth, inner;
#endif
};
#if defined(IS_Fill) || defined(IS_Eye)
layout(std430, binding = 1) buffer Y { uint y[]; };
#elif defined(IS_Trilu)
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };
#else
layout(std430, binding = 1) readonly buffer Index { uint index[]; };
layout(std430, binding = 2) readonly buffer Values { uint values[]; };
layout(std430, binding = 3) buffer Y { uint y[]; };
#endif

void put(uint at, uint first, uint second) {
  if (BYTES == 8u) {
    y[2 * at] = first;
    y[2 * at + 1] = second;
  } else if (BYTES == 4u) {
    y[at] = first;
  } else {
    STORE_PART(y, at, BYTES * 8u, first)
  }
}

void main() {
#if defined(IS_Fill)
  EACH(i, n, row, 1) put(y_at + uint(i), low, high);
#elif defined(IS_Eye)
  EACH(i, columns, row, rows) {
    const bool is_one = i - row == shift;
    put(y_at + uint(row * columns + i), is_one ? low : 0u, is_one ? high : 0u);
  }
#elif defined(IS_Trilu)
  EACH(i, columns, row, rows * batches) {
    const int at = row * columns + i, line = row - row / rows * rows;
    const bool keeps = upper != 0 ? i - line >= shift : i - line <= shift;
    if (keeps) {
      MOVE(y, y_at + uint(at), x, x_at + uint(at), BYTES)
    } else {
      put(y_at + uint(at), 0u, 0u);
    }
  }
#else
  for (int row = int(gl_GlobalInvocationID.z); row < outer; row += int(gl_NumWorkGroups.z * gl_WorkGroupSize.z))
    EACH(i, inner, k, depth) {
      const uint from = index_at + uint(row * inner + i);
      int at = I == FLOAT32 ? int(uintBitsToFloat(index[from])) : LOAD_INT(index, I, from);
      // A number beyond 32 bits names no place.
      if (I == INT64 && index[2 * from + 1] != (at < 0 ? 0xffffffffu : 0u)) at = -depth - 1;
      if ((I == UINT64 && (index[2 * from + 1] != 0u || at < 0)) || (I == UINT32 && at < 0)) at = -depth - 1;
      const uint value = k == (at < 0 ? at + depth : at) ? 1u : 0u;
      MOVE(y, y_at + uint((row * depth + k) * inner + i), values, values_at + value, BYTES)
    }
#endif
}
