// DLPack, the exchange of tensors between libraries in one process, as its specification (version 1.1) lays it out.
// https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::c_api::dlpack {

inline constexpr uint32_t kMajor = 1, kMinor = 1;

/// Device types whose memory threads of the host read and write.
enum : int32_t { kCpu = 1, kCudaHost = 3, kRocmHost = 11 };

/// Type codes. The numbers from 7 on came with version 1.1.
enum : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13,
  kFloat8E8M0FNU = 14,
  kFloat6E2M3FN = 15,
  kFloat6E3M2FN = 16,
  kFloat4E2M1FN = 17,
};

/// Bits of VersionedTensor::flags.
enum : uint64_t { kReadOnly = 1, kIsCopied = 2, kSubBytePadded = 4 };

struct Version {
  uint32_t major, minor;
};

struct Device {
  int32_t type, id;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;  // elements of a vector type; 1 for others
};

struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t* shape;
  int64_t* strides;  // in elements; null: dense, row by row
  uint64_t byte_offset;
};

/// Of versions before 1.0.
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);  // may be null
};

/// The members up to `flags` are the same in every version, so that any reader can call the deleter.
struct VersionedTensor {
  Version version;
  void* context;
  void (*deleter)(VersionedTensor*);  // may be null
  uint64_t flags;
  Tensor tensor;
};

static_assert(offsetof(Tensor, shape) == 24 && sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 64 &&
                  sizeof(VersionedTensor) == 80,
              "the layout that DLPack prescribes for 64-bit machines");

}  // namespace tenon::c_api::dlpack
