// cublasLtMatmul: its arguments are checked here, and the product is computed in the device's process.
#include <algorithm>

#include "algorithms.h"
#include "handle.h"

using namespace fake_cublaslt;

namespace {

constexpr uintptr_t kWorkspaceAlignment = 256;

struct Span {
  const void* begin;
  int64_t bytes;
};
bool overlap(const Span& x, const Span& y) {
  const auto at = [](const Span& s) { return reinterpret_cast<uintptr_t>(s.begin); };
  return at(x) < at(y) + static_cast<uintptr_t>(y.bytes) && at(y) < at(x) + static_cast<uintptr_t>(x.bytes);
}
bool is_aligned_to(const void* pointer, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(bytes) == 0;
}

/// The arguments of a call that are no descriptors.
struct Pointers {
  const void *alpha, *a, *b, *beta, *c;
  void *d, *workspace;
  size_t workspace_bytes;
};

bool is_same(const Layout& x, const Layout& y) {
  return x.type == y.type && x.order == y.order && x.leading == y.leading &&
         (x.batch == 1 || x.batch_stride == y.batch_stride);
}

/// What a matrix covers.
Span span_of(const void* begin, const Matrix& m, int64_t rows, int64_t columns, int64_t batch) {
  return {begin, extent_of(m, rows, columns, batch)};
}

struct Spans {
  Span a, b, c, d, bias{nullptr, 0};
};
Spans spans_of(const Problem& p, const Pointers& at) {
  const MatmulWork& w = p.work;
  Spans out{span_of(at.a, w.a, w.rows, w.depth, w.batch), span_of(at.b, w.b, w.depth, w.columns, w.batch),
            span_of(at.c, w.c, w.rows, w.columns, w.batch), span_of(at.d, w.d, w.rows, w.columns, w.batch)};
  if (w.bias.type != fake_cuda::Type::kNone)
    out.bias = span_of(p.operation->bias, w.bias, w.rows, 1, w.batch);
  return out;
}

/// d may be c, if it is laid out like it, and nothing else that is read.
bool may_alias(const Problem& p, const Spans& spans, bool reads_c) {
  if (overlap(spans.d, spans.a) || overlap(spans.d, spans.b) || overlap(spans.d, spans.bias)) return false;
  if (spans.c.begin == spans.d.begin) return is_same(*p.c, *p.d);
  return !reads_c || !overlap(spans.c, spans.d);
}

double host_value(const void* pointer, fake_cuda::Type scale) { return fake_cuda::load(pointer, scale, 0); }

/// The algorithm that a call without one gets.
cublasStatus_t choose(const Problem& p, const Pointers& at, Algorithm* out) {
  Algorithm all[4];
  const int count = algorithms_for(p, all);
  for (int i = 0; i < count; ++i) {
    const int64_t alignment = alignment_of(all[i]);
    const bool fits = is_aligned_to(at.a, alignment) && is_aligned_to(at.b, alignment) &&
                      is_aligned_to(at.c, alignment) && is_aligned_to(at.d, alignment);
    if (!fits || workspace_of(all[i], p) > at.workspace_bytes) continue;
    *out = all[i];
    return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;  // one is always there, for elements that are whole
}

cublasStatus_t check_pointers(const Problem& p, const Pointers& at, const Algorithm& algorithm) {
  const int64_t alignment = alignment_of(algorithm);
  if (!is_aligned_to(at.a, alignment) || !is_aligned_to(at.b, alignment) || !is_aligned_to(at.c, alignment) ||
      !is_aligned_to(at.d, std::max(alignment, p.bytes_of(p.work.d))))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (p.work.bias.type != fake_cuda::Type::kNone &&
      (p.operation->bias == nullptr || !is_aligned_to(p.operation->bias, p.bytes_of(p.work.bias))))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_aligned_to(at.workspace, kWorkspaceAlignment) ||
      (at.workspace == nullptr && at.workspace_bytes != 0) || workspace_of(algorithm, p) > at.workspace_bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t enqueue(Problem& p, const Pointers& at, const Algorithm& algorithm, CUstream stream) {
  MatmulWork& w = p.work;
  fake_cuda::DeviceWork work(tenon_fake_cublaslt_matmul, "tenon_fake_cublaslt_matmul", "cublasLtMatmul");
  const int64_t scalar = fake_cuda::bytes_of(w.scale);
  bool reads_c = true;
  if (p.operation->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE) {
    w.alpha_range = work.reads(at.alpha, scalar);
    w.beta_range = work.reads(at.beta, scalar);
  } else {
    w.alpha = host_value(at.alpha, w.scale);
    w.beta = host_value(at.beta, w.scale);
    reads_c = w.beta != 0;
  }
  const Spans spans = spans_of(p, at);
  if (!may_alias(p, spans, reads_c)) return CUBLAS_STATUS_INVALID_VALUE;
  w.a.range = work.reads(spans.a.begin, spans.a.bytes);
  w.b.range = work.reads(spans.b.begin, spans.b.bytes);
  if (reads_c) w.c.range = work.reads(spans.c.begin, spans.c.bytes);
  if (spans.bias.bytes != 0) w.bias.range = work.reads(spans.bias.begin, spans.bias.bytes);
  w.d.range = work.writes(spans.d.begin, spans.d.bytes);
  w.workspace_bytes = static_cast<int64_t>(workspace_of(algorithm, p));
  if (w.workspace_bytes != 0) w.workspace_range = work.writes(at.workspace, w.workspace_bytes);
  return work.enqueue(stream, &w, sizeof(w)) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
                                                             : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace

extern "C" cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                         const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                         const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                         const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                         cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                                         void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  if (!is_usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Pointers at{alpha, a, b, beta, c, d, workspace, workspace_bytes};
  if (alpha == nullptr || beta == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  Problem problem;
  cublasStatus_t status = problem_of(operation, a_layout, b_layout, c_layout, d_layout, &problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  Algorithm algorithm{};
  if (algo == nullptr) {
    status = choose(problem, at, &algorithm);
  } else if (const Algorithm* const given = algorithm_of(algo); given == nullptr) {
    status = CUBLAS_STATUS_INVALID_VALUE;
  } else {
    algorithm = *given;
    status = check_algorithm(algorithm, problem);
  }
  if (status == CUBLAS_STATUS_SUCCESS) status = check_pointers(problem, at, algorithm);
  return status != CUBLAS_STATUS_SUCCESS ? status : enqueue(problem, at, algorithm, stream);
}
