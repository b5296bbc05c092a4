#version 450
// variants: Lay Depthwise
// Lay: writes one image as the matrix whose rows are (channel, position in the window) and whose columns are the outputs. Rows have
// `columns` elements, of which those behind the outputs are left as they are. Depthwise: one channel per filter.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint T = 1;

#if defined(IS_Lay)
NUMBERS {
  uint x_at, y_at;
  Window w;
  int channels, image, columns;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };

// A work-item writes all positions in the window for one channel and output, so that there is little to divide.
void main() {
  const int taps = w.size[0] * w.size[1] * w.size[2];
  for (int channel = int(gl_GlobalInvocationID.z); channel < channels;
       channel += int(gl_NumWorkGroups.z * gl_WorkGroupSize.z))
    EACH(ow, w.out_[2], line, w.out_[0] * w.out_[1]) {
      const int od = line / w.out_[1], oh = line - od * w.out_[1];
      const int plane = (image * channels + channel) * w.in_[0];
      uint to = y_at + uint(channel * taps * columns + line * w.out_[2] + ow);
      for (int kd = 0; kd < w.size[0]; ++kd) {
        const int d = od * w.stride[0] + kd * w.dilation[0] - w.pad[0];
        for (int kh = 0; kh < w.size[1]; ++kh) {
          const int h = oh * w.stride[1] + kh * w.dilation[1] - w.pad[1];
          const bool is_line = d >= 0 && d < w.in_[0] && h >= 0 && h < w.in_[1];
          const int from = ((plane + d) * w.in_[1] + h) * w.in_[2];
          for (int kw = 0; kw < w.size[2]; ++kw) {
            const int q = ow * w.stride[2] + kw * w.dilation[2] - w.pad[2];
            float v = 0.0;
            if (is_line && q >= 0 && q < w.in_[2]) v = LOAD_FLOAT(x, T, x_at + uint(from + q));
            STORE_FLOAT(y, T, to, v)
            to += uint(columns);
          }
        }
      }
    }
}
#else
NUMBERS {
  uint x_at, f_at, bias_at, addend_at, y_at;
  Window w;
  int filters, multiplier, images, has_bias, has_addend;
  float lowest, highest;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer F { uint f[]; };
layout(std430, binding = 3) readonly buffer Bias { uint bias[]; };
layout(std430, binding = 4) readonly buffer Addend { uint addend[]; };
layout(std430, binding = 5) buffer Y { uint y[]; };

void main() {
  const int taps = w.size[0] * w.size[1] * w.size[2];
  for (int plane = int(gl_GlobalInvocationID.z); plane < images * filters;
       plane += int(gl_NumWorkGroups.z * gl_WorkGroupSize.z))
    EACH(ow, w.out_[2], line, w.out_[0] * w.out_[1]) {
      const int image = plane / filters, filter_ = plane - image * filters;
      const int od = line / w.out_[1], oh = line - od * w.out_[1];
      const int base = (image * (filters / multiplier) + filter_ / multiplier) * w.in_[0] * w.in_[1] * w.in_[2];
      float sum = 0.0;
      for (int kd = 0; kd < w.size[0]; ++kd) {
        const int d = od * w.stride[0] + kd * w.dilation[0] - w.pad[0];
        if (d < 0 || d >= w.in_[0]) continue;
        for (int kh = 0; kh < w.size[1]; ++kh) {
          const int h = oh * w.stride[1] + kh * w.dilation[1] - w.pad[1];
          if (h < 0 || h >= w.in_[1]) continue;
          for (int kw = 0; kw < w.size[2]; ++kw) {
            const int q = ow * w.stride[2] + kw * w.dilation[2] - w.pad[2];
            if (q < 0 || q >= w.in_[2]) continue;
            sum += LOAD_FLOAT(x, T, x_at + uint(base + (d * w.in_[1] + h) * w.in_[2] + q)) *
                   LOAD_FLOAT(f, T, f_at + uint(filter_ * taps + (kd * w.size[1] + kh) * w.size[2] + kw));
          }
        }
      }
      if (has_bias != 0) sum += LOAD_FLOAT(bias, T, bias_at + uint(filter_));
      const uint at = uint((plane * w.out_[0] * w.out_[1] + line) * w.out_[2] + ow);
      if (has_addend != 0) sum += LOAD_FLOAT(addend, T, addend_at + at);
      if (lowest != highest) sum = sum < lowest ? lowest : sum > highest ? highest : sum;
      STORE_FLOAT(y, T, y_at + at, sum)
    }
}
#endif
