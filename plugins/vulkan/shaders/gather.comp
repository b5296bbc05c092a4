#version 450
// Gather, GatherElements and GatherND.
// variants: Gather GatherElements GatherND
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint BYTES = 4;
layout(constant_id = 5) const uint I = 7;

NUMBERS {
  uint x_at, index_at, y_at, flag_at;
#if defined(IS_Gather)
  int outer, size, inner, count;
#elif defined(IS_GatherElements)
  Walk w;
  int size, stride;
#else
  Walk w;
  int tuples, width, slice, per_batch, batch_stride;
#endif
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer Index { uint index[]; };
layout(std430, binding = 3) buffer Y { uint y[]; };
#define FLAG_BINDING 4
#include "index.glsl"

void main() {
#if defined(IS_Gather)
  for (int row = int(gl_GlobalInvocationID.z); row < max(outer, 1); row += int(gl_NumWorkGroups.z * gl_WorkGroupSize.z))
    EACH(i, max(inner, 1), k, count) {
      const int at = max(PLACE_OF(index, I, index_at + uint(k), size), 0);  // checked even if no elements are moved
      if (i < inner && row < outer) {
        const uint to = y_at + uint((row * count + k) * inner + i);
        MOVE(y, to, x, x_at + uint((row * size + at) * inner + i), BYTES)
      }
    }
#elif defined(IS_GatherElements)
  EACH(i, w.inner, row, w.outer) {
    WALK1(w, row, from)
    const int at = row * w.inner + i;
    const int place = max(PLACE_OF(index, I, index_at + uint(at), size), 0);
    MOVE(y, y_at + uint(at), x, x_at + uint(from + i * w.step[0] + place * stride), BYTES)
  }
#else
  EACH(i, max(slice, 1), t, tuples) {
    int from = t / per_batch * batch_stride;
    for (int d = 0; d < width; ++d) {
      const int place = max(PLACE_OF(index, I, index_at + uint(t * width + d), w.size[d]), 0);
      from += place * w.stride[0][d];
    }
    if (i < slice) MOVE(y, y_at + uint(t * slice + i), x, x_at + uint(from + i), BYTES)
  }
#endif
}
