#version 450
// Each output element sums the windows that reach it. w.in_ is the input, w.out_ the larger output.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 4) const uint T = 1;

NUMBERS {
  uint x_at, f_at, bias_at, y_at;
  Window w;
  int images, groups, channels, filters, has_bias;
};
layout(std430, binding = 1) readonly buffer X { uint x[]; };
layout(std430, binding = 2) readonly buffer F { uint f[]; };
layout(std430, binding = 3) readonly buffer Bias { uint bias[]; };
layout(std430, binding = 4) buffer Y { uint y[]; };

void main() {
  const int area = w.in_[0] * w.in_[1] * w.in_[2], taps = w.size[0] * w.size[1] * w.size[2];
  for (int plane = int(gl_GlobalInvocationID.z); plane < images * groups * filters;
       plane += int(gl_NumWorkGroups.z * gl_WorkGroupSize.z))
    EACH(ow, w.out_[2], line, w.out_[0] * w.out_[1]) {
      const int image = plane / (groups * filters), all = plane - image * groups * filters;
      const int group = all / filters, filter_ = all - group * filters;
      const int od = line / w.out_[1], oh = line - od * w.out_[1];
      const int from = (image * groups + group) * channels * area;
      const int weights = (group * channels * filters + filter_) * taps;
      float sum = has_bias != 0 ? LOAD_FLOAT(bias, T, bias_at + uint(all)) : 0.0;
      for (int kd = 0; kd < w.size[0]; ++kd) {
        const int pd = od + w.pad[0] - kd * w.dilation[0], d = pd / w.stride[0];
        if (pd < 0 || d * w.stride[0] != pd || d >= w.in_[0]) continue;
        for (int kh = 0; kh < w.size[1]; ++kh) {
          const int ph = oh + w.pad[1] - kh * w.dilation[1], h = ph / w.stride[1];
          if (ph < 0 || h * w.stride[1] != ph || h >= w.in_[1]) continue;
          for (int kw = 0; kw < w.size[2]; ++kw) {
            const int pw = ow + w.pad[2] - kw * w.dilation[2], v = pw / w.stride[2];
            if (pw < 0 || v * w.stride[2] != pw || v >= w.in_[2]) continue;
            const int at = (d * w.in_[1] + h) * w.in_[2] + v, tap = (kd * w.size[1] + kh) * w.size[2] + kw;
            for (int c = 0; c < channels; ++c)
              sum += LOAD_FLOAT(x, T, x_at + uint(from + c * area + at)) *
                     LOAD_FLOAT(f, T, f_at + uint(weights + c * filters * taps + tap));
          }
        }
      }
      STORE_FLOAT(y, T, y_at + uint((plane * w.out_[0] * w.out_[1] + line) * w.out_[2] + ow), sum)
    }
}
