// Descriptors of cuDNN's backend interface: attributes that a program sets, and what finalizing makes of them.
#pragma once

#include <cudnn_graph.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fake_cudnn {

struct Descriptor;
struct Graph;   // graph.h
struct Engine;  // engines.h
using Shared = std::shared_ptr<const Descriptor>;

/// The elements of an attribute.
struct Value {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  int64_t count = 0;
  std::vector<std::byte> bytes;
  std::vector<Shared> descriptors;  // of CUDNN_TYPE_BACKEND_DESCRIPTOR
};

struct Descriptor {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
  bool is_finalized = false;
  std::map<int, Value> values;

  // Of finalized ones.
  std::shared_ptr<const Graph> graph;                  // of an operation graph, and of what is made for it
  std::shared_ptr<const Engine> engine;                // of an engine, an engine configuration and a plan
  std::vector<std::shared_ptr<const Engine>> results;  // of heuristics
  int capability = 0;                                  // of the device that it is for: 90 is 9.0

  bool has(cudnnBackendAttributeName_t name) const { return values.contains(name); }
  /// The elements, or nothing where the attribute is not set.
  template <class T>
  std::span<const T> all(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    return {reinterpret_cast<const T*>(found->second.bytes.data()), found->second.bytes.size() / sizeof(T)};
  }
  template <class T>
  T one(cudnnBackendAttributeName_t name, T otherwise) const {
    const std::span<const T> found = all<T>(name);
    return found.empty() ? otherwise : found.front();
  }
  /// A number that may be set as float or double.
  double real(cudnnBackendAttributeName_t name, double otherwise) const;
  /// Null if it is not set.
  const Descriptor* child(cudnnBackendAttributeName_t name) const;
};

/// The descriptor behind a program's handle; null for none.
std::shared_ptr<Descriptor> descriptor_of(cudnnBackendDescriptor_t handle);

/// Bytes of an element.
size_t size_of(cudnnBackendAttributeType_t type);

/// Remembers the text for cudnnGetLastErrorString() of this thread, and returns the status.
cudnnStatus_t failed(cudnnStatus_t status, std::string text);

/// finalize.cc, query.cc: what the type of the descriptor wants. `computed` is false for an attribute that was set.
cudnnStatus_t finalize(Descriptor& descriptor);
cudnnStatus_t query(const Descriptor& descriptor, cudnnBackendAttributeName_t name, int64_t requested,
                    int64_t* count, void* to, bool* computed);

}  // namespace fake_cudnn
