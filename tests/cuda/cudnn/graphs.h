// Graphs on the stand-in for cuDNN, with memory for their tensors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "tests/cuda/local/cudnn_asker.h"
#include "tests/cuda/local/local_cuda.h"
#include "tests/fakes/cuda/library/numbers.h"

namespace cudnn_tests {

using ask::Cudnn;
using ask::Dims;
using fake_cuda::bytes_of;
using fake_cuda::load;
using fake_cuda::store;
using fake_cuda::Type;
using Descriptor = Cudnn::Handle;

inline Type type_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? Type::kFloat : type == CUDNN_DATA_HALF ? Type::kHalf : Type::kBfloat;
}

/// The stand-in, and a handle of it.
class Fixture : public testing::Test {
 public:
  Fixture() {
    EXPECT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    local_cuda_take_calls();
  }
  ~Fixture() override { cudnnDestroy(handle); }

  cudnnHandle_t handle = nullptr;
  Cudnn c{STAND_IN};
};

/// A tensor in memory; element `i` of its list is at offset(i).
struct Memory {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Dims dims, strides;
  std::vector<char> bytes;
  size_t misaligned = 0;

  Memory() = default;
  Memory(cudnnDataType_t t, Dims d, Dims s, int64_t seed = 0)
      : type(t), dims(std::move(d)), strides(std::move(s)) {
    int64_t last = 0;
    for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
    bytes.resize(static_cast<size_t>((last + 1) * bytes_of(type_of(type))) + 512);
    for (int64_t i = 0; i <= last; ++i)
      store(
          pointer(), type_of(type), i,
          static_cast<double>((i * 37 + seed * 101) % 23 - 11) * 0.125 + static_cast<double>(seed) * 0.0013);
  }
  void* pointer() {
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    return reinterpret_cast<void*>((begin + 255) / 256 * 256 + misaligned);
  }
  double at(const Dims& index) {
    int64_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i) offset += (dims[i] == 1 ? 0 : index[i]) * strides[i];
    return load(pointer(), type_of(type), offset);
  }
};

/// Calls `visit(index)` for each element of dims.
inline void for_each_index(const Dims& dims, const std::function<void(const Dims&)>& visit) {
  Dims index(dims.size(), 0);
  for (;;) {
    visit(index);
    size_t d = dims.size();
    while (d-- > 0 && ++index[d] == dims[d]) index[d] = 0;
    if (d == static_cast<size_t>(-1)) return;
  }
}

/// An engine of a graph, by its place in the results of heuristics.
struct Choice {
  Descriptor configuration = nullptr;
  int64_t index = -1;
  std::vector<int32_t> notes;
  bool is_tensor_core() const {
    for (const int32_t note : notes) {
      if (note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE) return true;
    }
    return false;
  }
};

inline std::vector<Choice> choices(Cudnn& c, Descriptor graph,
                                   cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A) {
  c.status = 0;
  const Descriptor heuristics = c.make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  c.put(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  c.put(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  EXPECT_NE(c.finished(heuristics), nullptr);
  int64_t count = 0;
  c.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr);
  std::vector<Descriptor> configurations(static_cast<size_t>(count));
  for (Descriptor& d : configurations) d = c.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  EXPECT_EQ(c.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                  configurations.data()),
            0);
  std::vector<Choice> out;
  for (const Descriptor configuration : configurations) {
    Choice choice{configuration, -1, std::vector<int32_t>(8)};
    Descriptor engine = c.make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    EXPECT_EQ(
        c.get(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, nullptr, &engine),
        0);
    EXPECT_EQ(c.get(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, nullptr, &choice.index), 0);
    int64_t notes = 0;
    EXPECT_EQ(c.get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 8, &notes,
                    choice.notes.data()),
              0);
    choice.notes.resize(static_cast<size_t>(notes));
    out.push_back(std::move(choice));
  }
  return out;
}

inline Descriptor plan(Cudnn& c, cudnnHandle_t handle, Descriptor configuration,
                       int64_t* workspace = nullptr) {
  c.status = 0;
  const Descriptor out = c.make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  c.put(out, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  c.put(out, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (c.finished(out) == nullptr) return nullptr;
  if (workspace != nullptr)
    c.get(out, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, nullptr, workspace);
  return out;
}

inline Descriptor pack(Cudnn& c, const Dims& ids, const std::vector<void*>& pointers, void* workspace) {
  c.status = 0;
  const Descriptor out = c.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  c.put(out, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  c.put(out, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
        static_cast<int64_t>(pointers.size()), pointers.data());
  if (workspace != nullptr) c.put(out, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  return c.finished(out);
}

/// Runs an engine's configuration on tensors by their unique ids.
inline cudnnStatus_t execute(Cudnn& c, cudnnHandle_t handle, Descriptor configuration,
                             const std::map<int64_t, void*>& tensors) {
  int64_t bytes = 0;
  const Descriptor made = plan(c, handle, configuration, &bytes);
  if (made == nullptr) return static_cast<cudnnStatus_t>(c.status);
  std::vector<char> workspace(static_cast<size_t>(bytes) + 16);
  void* const aligned =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(workspace.data()) + 15) / 16 * 16);
  Dims ids;
  std::vector<void*> pointers;
  for (const auto& [id, pointer] : tensors) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  const cudnnStatus_t status =
      cudnnBackendExecute(handle, made, pack(c, ids, pointers, bytes == 0 ? nullptr : aligned));
  for (const local_cuda::Call& call : *local_cuda_take_calls()) EXPECT_EQ(call.error, "");
  return status;
}

inline double tolerance_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 2e-6 : type == CUDNN_DATA_HALF ? 1e-3 : 8e-3;
}

}  // namespace cudnn_tests
