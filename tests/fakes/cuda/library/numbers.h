// Numbers of the types that cuBLASLt and cuDNN know, in tensors' memory and as float.
#pragma once

#include <library_types.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace fake_cuda {

/// A type of elements in memory.
enum class Type : int32_t { kNone, kFloat, kDouble, kHalf, kBfloat, kInt8, kUint8, kInt32, kInt64, kBool };

constexpr int64_t bytes_of(Type type) {
  switch (type) {
    case Type::kNone:
      return 0;
    case Type::kDouble:
    case Type::kInt64:
      return 8;
    case Type::kFloat:
    case Type::kInt32:
      return 4;
    case Type::kHalf:
    case Type::kBfloat:
      return 2;
    default:
      return 1;
  }
}

/// kNone for what the stand-ins do not compute with.
constexpr Type type_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_32F:
      return Type::kFloat;
    case CUDA_R_64F:
      return Type::kDouble;
    case CUDA_R_16F:
      return Type::kHalf;
    case CUDA_R_16BF:
      return Type::kBfloat;
    case CUDA_R_8I:
      return Type::kInt8;
    case CUDA_R_32I:
      return Type::kInt32;
    default:
      return Type::kNone;
  }
}

inline float half_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, low = bits & 0x7fff;
  if (low >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (low & 0x3ff) << 13);
  if (low >= 0x0400) return std::bit_cast<float>(sign | ((low << 13) + 0x38000000));
  const float small = static_cast<float>(low) * 0x1p-24F;
  return sign != 0 ? -small : small;
}

/// Rounds to nearest, ties to even, as all of these do.
inline uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value), low = bits & 0x7fffffff;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (low > 0x7f800000) return sign | 0x7e00;  // NaN
  if (low >= 0x477ff000) return sign | 0x7c00;
  if (low < 0x38800000)
    return sign | static_cast<uint16_t>(std::nearbyint(std::bit_cast<float>(low) * 0x1p24F));
  return sign | static_cast<uint16_t>((low + 0xfff + (low >> 13 & 1) - 0x38000000) >> 13);
}

inline float bfloat_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
inline uint16_t bfloat_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The ten bits of the fraction that tensor cores keep of a float. Halves are rounded away from zero.
inline float tf32_value(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000) == 0x7f800000) return value;
  return std::bit_cast<float>((bits + 0x1000) & 0xffffe000);
}

/// What multiplication does to its operands.
enum class Rounding : int32_t { kNone, kTf32, kHalf, kBfloat };
inline float rounded(float value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kTf32:
      return tf32_value(value);
    case Rounding::kHalf:
      return half_value(half_bits(value));
    case Rounding::kBfloat:
      return bfloat_value(bfloat_bits(value));
    default:
      return value;
  }
}

template <class T>
T read_as(const void* memory, int64_t index) {
  T out;
  std::memcpy(&out, static_cast<const char*>(memory) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return out;
}
template <class T>
void write_as(void* memory, int64_t index, T value) {
  std::memcpy(static_cast<char*>(memory) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

/// The integer nearest to `value`, within the range of T.
template <class T>
T saturated(double value) {
  if (std::isnan(value)) return 0;
  const double low = static_cast<double>(std::numeric_limits<T>::lowest()),
               high = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= low) return std::numeric_limits<T>::lowest();
  if (value >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(std::nearbyint(value));
}

/// Element `index` of memory that need not be aligned.
inline double load(const void* memory, Type type, int64_t index) {
  switch (type) {
    case Type::kFloat:
      return read_as<float>(memory, index);
    case Type::kDouble:
      return read_as<double>(memory, index);
    case Type::kHalf:
      return half_value(read_as<uint16_t>(memory, index));
    case Type::kBfloat:
      return bfloat_value(read_as<uint16_t>(memory, index));
    case Type::kInt8:
      return read_as<int8_t>(memory, index);
    case Type::kInt32:
      return read_as<int32_t>(memory, index);
    case Type::kInt64:
      return static_cast<double>(read_as<int64_t>(memory, index));
    case Type::kUint8:
      return read_as<uint8_t>(memory, index);
    case Type::kBool:
      return read_as<uint8_t>(memory, index) != 0;
    default:
      return 0;
  }
}

inline void store(void* memory, Type type, int64_t index, double value) {
  switch (type) {
    case Type::kFloat:
      return write_as(memory, index, static_cast<float>(value));
    case Type::kDouble:
      return write_as(memory, index, value);
    case Type::kHalf:
      return write_as(memory, index, half_bits(static_cast<float>(value)));
    case Type::kBfloat:
      return write_as(memory, index, bfloat_bits(static_cast<float>(value)));
    case Type::kInt8:
      return write_as(memory, index, saturated<int8_t>(value));
    case Type::kUint8:
      return write_as(memory, index, saturated<uint8_t>(value));
    case Type::kInt32:
      return write_as(memory, index, saturated<int32_t>(value));
    case Type::kInt64:
      return write_as(memory, index, saturated<int64_t>(value));
    case Type::kBool:
      return write_as<uint8_t>(memory, index, value != 0);
    default:
      return;
  }
}

inline double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

}  // namespace fake_cuda
