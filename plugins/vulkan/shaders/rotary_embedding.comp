#version 450
// RotaryEmbedding, as tenon/ep/device/ops/rotary_embedding.hpp describes it.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint T = 1;
layout(constant_id = 5) const uint S = 1;

NUMBERS {
  uint x_at, cosines_at, sines_at, positions_at, y_at, flag_at;
  int batch, heads, length_, size, rotated, batch_stride, head_stride, row_stride, interleaved, by_position, rows;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer Cosines { uint cosines[]; };
layout(std430, binding = 3) readonly buffer Sines { uint sines[]; };
layout(std430, binding = 4) readonly buffer Positions { uint positions[]; };
layout(std430, binding = 5) buffer Y { uint y[]; };
#define FLAG_BINDING 6
#include "index.glsl"

void main() {
  const int half_ = rotated / 2;
  for (int row = int(gl_GlobalInvocationID.z); row < batch * length_; row += int(gl_NumWorkGroups.z * gl_WorkGroupSize.z))
    EACH(e, size, head, heads) {
      const int at = row / length_ * batch_stride + head * head_stride + (row - row / length_ * length_) * row_stride;
      float v = LOAD_FLOAT(x, T, x_at + uint(at + e));
      const int line = by_position != 0 ? max(PLACE_OF(positions, INT64, positions_at + uint(row), rows), 0) : row;
      if (e < rotated) {
        const int pair = interleaved != 0 ? e / 2 : e - e / half_ * half_;
        const bool second = interleaved != 0 ? (e & 1) != 0 : e >= half_;
        const int other = interleaved != 0 ? e + (second ? -1 : 1) : e + (second ? -half_ : half_);
        const float w = LOAD_FLOAT(x, T, x_at + uint(at + other));
        const float cosine = LOAD_FLOAT(cosines, S, cosines_at + uint(line * half_ + pair));
        const float sine = LOAD_FLOAT(sines, S, sines_at + uint(line * half_ + pair));
        v = second ? sine * w + cosine * v : cosine * v - sine * w;
      }
      STORE_FLOAT(y, T, y_at + uint(at + e), v)
    }
}
