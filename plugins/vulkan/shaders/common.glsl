// What every shader includes. A shader declares NUMBERS, the block at binding 0, and its tensors, as words, at the bindings
// after it; `x_at` is the first element of x within its binding.
#extension GL_EXT_control_flow_attributes : enable
#extension GL_EXT_scalar_block_layout : require
#if defined(IS_long) || defined(IS_ulong)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

// Element types, as in tenon/ep.h.
const uint FLOAT32 = 1, UINT8 = 2, INT8 = 3, UINT16 = 4, INT16 = 5, INT32 = 6, INT64 = 7, BOOL = 9, FLOAT16 = 10,
           UINT32 = 12, UINT64 = 13;

#define NUMBERS layout(std430, binding = 0) uniform Numbers

// Loops over (i, row) in steps of the whole launch.
#define EACH(i, count, row, rows)                                                                    \
  for (int row = int(gl_GlobalInvocationID.y); row < (rows);                                         \
       row += int(gl_NumWorkGroups.y * gl_WorkGroupSize.y))                                          \
    for (int i = int(gl_GlobalInvocationID.x); i < (count); i += int(gl_NumWorkGroups.x * gl_WorkGroupSize.x))

struct Walk {
  int rank, inner, outer, zero;
  int size[8];
  int stride[4][8];
  int step[4];
};
struct Window {
  int in_[3];
  int out_[3];
  int size[3];
  int stride[3];
  int dilation[3];
  int pad[3];
};
#define WALK1(w, row, a)                                           \
  int a = 0;                                                       \
  for (int d_ = w.rank - 1, r_ = row; d_ >= 0; --d_) {             \
    const int q_ = r_ / w.size[d_], at_ = r_ - q_ * w.size[d_];    \
    a += at_ * w.stride[0][d_];                                    \
    r_ = q_;                                                       \
  }
#define WALK2(w, row, a, b)                                        \
  int a = 0, b = 0;                                                \
  for (int d_ = w.rank - 1, r_ = row; d_ >= 0; --d_) {             \
    const int q_ = r_ / w.size[d_], at_ = r_ - q_ * w.size[d_];    \
    a += at_ * w.stride[0][d_];                                    \
    b += at_ * w.stride[1][d_];                                    \
    r_ = q_;                                                       \
  }
#define WALK3(w, row, a, b, c)                                     \
  int a = 0, b = 0, c = 0;                                         \
  for (int d_ = w.rank - 1, r_ = row; d_ >= 0; --d_) {             \
    const int q_ = r_ / w.size[d_], at_ = r_ - q_ * w.size[d_];    \
    a += at_ * w.stride[0][d_];                                    \
    b += at_ * w.stride[1][d_];                                    \
    c += at_ * w.stride[2][d_];                                    \
    r_ = q_;                                                       \
  }

// Elements of words. `type` is a constant, so that one branch is left.
uint part_of(uint word, uint i, uint bits) { return bitfieldExtract(word, int(i * bits & 31u), int(bits)); }
int signed_part_of(uint word, uint i, uint bits) {
  return bitfieldExtract(int(word), int(i * bits & 31u), int(bits));
}
float half_of(uint bits) { return unpackHalf2x16(bits).x; }
uint bits_of_half(float v) { return packHalf2x16(vec2(v, 0)) & 0xffffu; }

#define LOAD_FLOAT(words, type, i) \
  ((type) == FLOAT16 ? half_of(part_of(words[uint(i) >> 1], uint(i), 16)) : uintBitsToFloat(words[uint(i)]))
#define LOAD_INT(words, type, i)                                                    \
  ((type) == INT32 || (type) == UINT32  ? int(words[uint(i)])                       \
   : (type) == INT64 || (type) == UINT64 ? int(words[2 * uint(i)])                  \
   : (type) == INT8                     ? signed_part_of(words[uint(i) >> 2], uint(i), 8) \
   : (type) == INT16                    ? signed_part_of(words[uint(i) >> 1], uint(i), 16) \
   : (type) == UINT16                   ? int(part_of(words[uint(i) >> 1], uint(i), 16)) \
                                        : int(part_of(words[uint(i) >> 2], uint(i), 8)))
// A part of a word, which other work-items may write at the same time.
#define STORE_PART(words, i, bits, value)                                     \
  {                                                                           \
    const uint at_ = uint(i) * (bits) >> 5, shift_ = uint(i) * (bits) & 31u;   \
    const uint mask_ = ((1u << (bits)) - 1u) << shift_;                       \
    atomicAnd(words[at_], ~mask_);                                            \
    atomicOr(words[at_], (uint(value) << shift_) & mask_);                    \
  }
#define STORE_FLOAT(words, type, i, value)                            \
  {                                                                   \
    if ((type) == FLOAT16)                                            \
      STORE_PART(words, i, 16u, bits_of_half(value))                  \
    else                                                              \
      words[uint(i)] = floatBitsToUint(value);                        \
  }
#define STORE_INT(words, type, i, value)                                         \
  {                                                                              \
    if ((type) == INT8 || (type) == UINT8 || (type) == BOOL)                     \
      STORE_PART(words, i, 8u, value)                                            \
    else if ((type) == INT16 || (type) == UINT16)                                \
      STORE_PART(words, i, 16u, value)                                           \
    else                                                                         \
      words[uint(i)] = uint(value);                                              \
  }
// Moves an element of `bytes`, a constant, without looking at it.
#define MOVE(to, to_at, from, from_at, bytes)                                                        \
  {                                                                                                  \
    if ((bytes) == 4)                                                                                \
      to[uint(to_at)] = from[uint(from_at)];                                                         \
    else if ((bytes) == 8) {                                                                         \
      to[2 * uint(to_at)] = from[2 * uint(from_at)];                                                 \
      to[2 * uint(to_at) + 1] = from[2 * uint(from_at) + 1];                                         \
    } else if ((bytes) == 2)                                                                         \
      STORE_PART(to, to_at, 16u, part_of(from[uint(from_at) >> 1], uint(from_at), 16))               \
    else                                                                                             \
      STORE_PART(to, to_at, 8u, part_of(from[uint(from_at) >> 2], uint(from_at), 8))                 \
  }
