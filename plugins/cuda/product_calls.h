// Calls of cuBLASLt: its handle, the algorithms that it proposes for a product, and a product as work for a stream.
#pragma once

#include <memory>
#include <vector>

#include "cublas_lt_api.h"
#include "instance.h"
#include "product.h"
#include "program.h"
#include "tenon/ep/device/answers.hpp"

namespace tenon::cuda {

/// The addresses of one product's tensors. A missing one is 0.
struct ProductMemory {
  CUdeviceptr a = 0, b = 0, bias = 0, addend = 0, y = 0, workspace = 0;
};

/// A power of two, up to 256, at multiples of which all matrices of the product begin, in bytes.
uint32_t alignment_of(const LtProduct& product, const ProductTypes& types, const ProductMemory& memory);

/// How the library does a product.
struct LtAlgorithm {
  cublasLtMatmulAlgo_t algorithm{};
  uint64_t workspace_bytes = 0;
};

/// cuBLASLt for a device. Thread-safe: the library lets threads share a handle.
class LtContext {
 public:
  /// Throws if the library refuses the device.
  LtContext(const Device& device, const CublasLtApi& api);
  ~LtContext();
  LtContext(const LtContext&) = delete;
  LtContext& operator=(const LtContext&) = delete;

  /// Which way does a product: 0 is the own kernels, 1 the first algorithm, and so on.
  ep::MeasuredAnswers& answers() { return answers_; }
  /// What the library wants to have for products.
  uint64_t workspace_bytes() const;

  /// Up to `most` algorithms, the one first that the library holds to be the fastest. Empty if it has none.
  std::vector<LtAlgorithm> algorithms(const LtProduct& product, const ProductTypes& types,
                                      const ProductMemory& memory, uint64_t workspace_bytes, int most) const;

  /// The product as work for a stream.
  LibraryCall call(const LtProduct& product, const ProductTypes& types, const ProductMemory& memory,
                   const LtAlgorithm& algorithm, uint64_t workspace_bytes) const;

 private:
  const Device& device_;
  const CublasLtApi& api_;
  cublasLtHandle_t handle_ = nullptr;
  ep::MeasuredAnswers answers_;
};

}  // namespace tenon::cuda
