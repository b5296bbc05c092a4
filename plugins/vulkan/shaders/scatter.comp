#version 450
// variants: float int uint long ulong
// ScatterElements and ScatterND. Updates of one place are applied in order, by one work-item. MODE: none, add, mul, max, min.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 3) const uint KERNEL = 0;  // 0: Elements, 1: Tuples
layout(constant_id = 4) const uint T = 1;       // the bytes of an element if MODE is 0
layout(constant_id = 5) const uint I = 7;
layout(constant_id = 6) const uint MODE = 0;

NUMBERS {
  uint index_at, updates_at, y_at, flag_at;
  Walk w;
  int a, b, c, d;  // Elements: count, index_stride, size, y_stride. Tuples: tuples, width, slice.
};
layout(std430, binding = 1) readonly buffer Index { uint index[]; };
layout(std430, binding = 2) readonly buffer Updates { uint updates[]; };
layout(std430, binding = 3) buffer Y { uint y[]; };
#define FLAG_BINDING 4
#include "index.glsl"

#if defined(IS_float)
#define WINS(v, than, old) (v than old || isnan(v))  // NaN is kept on either side
#else
#define WINS(v, than, old) (v than old)
#endif

void put(uint to, uint from) {
  if (MODE == 0u) {
    MOVE(y, to, updates, from, T)
    return;
  }
  const C old = LOAD(y, T, to), v = LOAD(updates, T, from);
  const C r = MODE == 1u   ? old + v
              : MODE == 2u ? old * v
              : MODE == 3u ? (WINS(v, >, old) ? v : old)
                           : (WINS(v, <, old) ? v : old);
  STORE(y, T, to, r)
}

void main() {
  if (KERNEL == 0u) {
    const int count = a, index_stride = b, size = c, y_stride = d;
    EACH(i, w.inner, row, w.outer) {
      WALK2(w, row, to, from)
      to += i * w.step[0];
      from += i * w.step[1];
      for (int k = 0; k < count; ++k) {
        const int place = PLACE_OF(index, I, index_at + uint(from + k * index_stride), size);
        if (place >= 0) put(y_at + uint(to + place * y_stride), updates_at + uint(from + k * index_stride));
      }
    }
  } else {
    const int tuples = a, width = b, slice = c;
    EACH(i, max(slice, 1), row, 1) {
      for (int t = 0; t < tuples; ++t) {
        int to = 0;
        bool inside = true;
        for (int k = 0; k < width; ++k) {
          const int place = PLACE_OF(index, I, index_at + uint(t * width + k), w.size[k]);
          inside = inside && place >= 0;
          to += place * w.stride[0][k];
        }
        if (inside && i < slice) put(y_at + uint(to + i), updates_at + uint(t * slice + i));
      }
    }
  }
}
