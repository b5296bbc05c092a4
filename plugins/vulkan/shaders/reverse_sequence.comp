#version 450
// ReverseSequence. A row is one pair of indices of the batch and time axes, in the order of the axes.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint BYTES = 4;

NUMBERS {
  uint x_at, lengths_at, y_at, flag_at;
  int first, second, inner, time_first;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer Lengths { uint lengths[]; };
layout(std430, binding = 3) buffer Y { uint y[]; };
#define FLAG_BINDING 4
#include "index.glsl"

void main() {
  EACH(i, inner, row, first * second) {
    const int a = row / second, b = row - a * second;
    const int time = time_first != 0 ? a : b, count = time_first != 0 ? first : second;
    const uint at = 2 * (lengths_at + uint(time_first != 0 ? b : a));
    const uint low = lengths[at], high = lengths[at + 1];
    const bool fits = high == 0u && int(low) >= 0 && int(low) <= count;
    if (!fits) flag_index(low, high, count);
    const int length = fits ? int(low) : 0;
    const int source = time < length ? length - 1 - time : time;
    const int from = time_first != 0 ? source * second + b : a * second + source;
    MOVE(y, y_at + uint(row * inner + i), x, x_at + uint(from * inner + i), BYTES)
  }
}
