#version 450
// variants: float int
// Pooling over windows of up to three spatial axes: a work-item for each output element. KERNEL: MaxPool, AveragePool, L1Pool,
// L2Pool, LpPool.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(constant_id = 3) const uint KERNEL = 0;
layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const int NORM = 2;

NUMBERS {
  uint x_at, y_at, places_at;
  Window w;
  int planes, mode, has_places, after0, after1, after2;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };
layout(std430, binding = 3) buffer Places { uint places[]; };

void main() {
  for (int plane = int(gl_GlobalInvocationID.z); plane < planes; plane += int(gl_NumWorkGroups.z * gl_WorkGroupSize.z))
    EACH(ow, w.out_[2], line, w.out_[0] * w.out_[1]) {
      const int od = line / w.out_[1], oh = line - od * w.out_[1];
      const int base = plane * w.in_[0] * w.in_[1] * w.in_[2];
#if defined(IS_float)
      C s = KERNEL == 0u ? -1.0 / 0.0 : 0.0;
#else
      C s = T == INT8 ? C(-128) : C(0);  // a window that is padding alone has the lowest byte
#endif
      int count = 0, best = -1;
      // Past `after`, places count neither as elements nor as padding.
      for (int kd = 0; kd < w.size[0]; ++kd) {
        const int d = od * w.stride[0] + kd * w.dilation[0] - w.pad[0];
        if (d >= w.in_[0] + after0) break;
        for (int kh = 0; kh < w.size[1]; ++kh) {
          const int h = oh * w.stride[1] + kh * w.dilation[1] - w.pad[1];
          if (h >= w.in_[1] + after1) break;
          const bool is_line = d >= 0 && d < w.in_[0] && h >= 0 && h < w.in_[1];
          for (int kw = 0; kw < w.size[2]; ++kw) {
            const int q = ow * w.stride[2] + kw * w.dilation[2] - w.pad[2];
            if (q >= w.in_[2] + after2) break;
            if (!(is_line && q >= 0 && q < w.in_[2])) {
              count += mode;
              continue;
            }
            const int at = (d * w.in_[1] + h) * w.in_[2] + q;
            const C v = LOAD(x, T, x_at + uint(base + at));
            ++count;
#if defined(IS_float)
            if (KERNEL == 0u) {
              if (v > s || best < 0 || isnan(v)) {
                s = v;
                best = at;
              }
            } else {
              s += KERNEL == 1u ? v : KERNEL == 2u ? abs(v) : KERNEL == 3u ? v * v : pow(abs(v), float(NORM));
            }
#else
            if (best < 0 || v > s) {
              s = v;
              best = at;
            }
#endif
          }
        }
      }
      const uint to = uint((plane * w.out_[0] * w.out_[1] + line) * w.out_[2] + ow);
#if defined(IS_float)
      s = KERNEL == 1u ? s / float(count) : KERNEL == 3u ? sqrt(s) : KERNEL == 4u ? pow(s, 1.0 / float(NORM)) : s;
#endif
      STORE(y, T, y_at + to, s)
      if (has_places != 0) {
        places[2 * (places_at + to)] = uint(base + best);
        places[2 * (places_at + to) + 1] = base + best < 0 ? 0xffffffffu : 0u;
      }
    }
}
