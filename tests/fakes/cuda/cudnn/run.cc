#include "run.h"

#include <cstring>

using namespace fake_cudnn;

namespace fake_cudnn {

Steps Steps::broadcast(const Tensor& from, const Tensor& to) {
  Steps out;
  int64_t stride = 1;
  for (int32_t d = from.rank - 1; d >= 0; --d) {
    out.strides[d] = from.dims[d] == 1 && to.dims[d] != 1 ? 0 : stride;
    stride *= from.dims[d];
  }
  return out;
}

}  // namespace fake_cudnn

namespace {

/// The strides of a tensor in memory.
Steps in_memory(const Tensor& tensor) {
  Steps out;
  std::memcpy(out.strides, tensor.strides, sizeof(out.strides));
  return out;
}

class Run {
 public:
  Run(void* const* memory, const Header& header, std::vector<Tensor> tensors, std::vector<Node> nodes)
      : memory_(memory),
        header_(header),
        tensors_(std::move(tensors)),
        nodes_(std::move(nodes)),
        elements_(tensors_.size()) {}

  void run() {
    for (const Node& node : nodes_) {
      Elements result = compute(node);
      // Between operations it has the tensor's type.
      const Tensor& y = tensor(node.y);
      if (y.type == fake_cuda::Type::kHalf || y.type == fake_cuda::Type::kBfloat) {
        const auto rounding =
            y.type == fake_cuda::Type::kHalf ? fake_cuda::Rounding::kHalf : fake_cuda::Rounding::kBfloat;
        for (float& element : result) element = fake_cuda::rounded(element, rounding);
      }
      elements_[static_cast<size_t>(node.y)] = std::move(result);
    }
    for (const Node& node : nodes_) write(node.y);
  }

 private:
  const Tensor& tensor(int32_t index) const { return tensors_[static_cast<size_t>(index)]; }

  const Elements& read(int32_t index) {
    Elements& to = elements_[static_cast<size_t>(index)];
    const Tensor& from = tensor(index);
    if (!to.empty() || from.elements() == 0) return to;
    if (from.is_value) return to = {static_cast<float>(from.value)};
    to.resize(static_cast<size_t>(from.elements()));
    const void* const memory = memory_[from.range];
    const Steps steps[] = {in_memory(from)};
    for_each(from, steps, [&](int64_t i, const int64_t(&offset)[1]) {
      to[static_cast<size_t>(i)] = static_cast<float>(fake_cuda::load(memory, from.type, offset[0]));
    });
    return to;
  }

  void write(int32_t index) {
    const Tensor& to = tensor(index);
    if (to.is_virtual) return;
    const Elements& from = elements_[static_cast<size_t>(index)];
    void* const memory = memory_[to.range];
    const Steps steps[] = {in_memory(to)};
    for_each(to, steps, [&](int64_t i, const int64_t(&offset)[1]) {
      fake_cuda::store(memory, to.type, offset[0], from[static_cast<size_t>(i)]);
    });
  }

  Elements compute(const Node& node) {
    const Tensor &x = tensor(node.x), &y = tensor(node.y);
    switch (node.kind) {
      case Kind::kConvolution: {
        const Elements &from = read(node.x), &filters = read(node.b);
        return convolve(node, x, from, tensor(node.b), filters, y, header_.rounding);
      }
      case Kind::kMatmul: {
        const Elements &left = read(node.x), &right = read(node.b);
        return multiply(x, left, tensor(node.b), right, y, header_.rounding);
      }
      case Kind::kAttention: {
        const double scale = node.s < 0 ? 1 : read(node.s).front();
        const Elements &queries = read(node.x), &keys = read(node.b), &values = read(node.t);
        return attend(x, queries, tensor(node.b), keys, tensor(node.t), values, scale);
      }
      case Kind::kReduction:
        return reduce(node, x, read(node.x), y);
      default:
        return compute_pointwise(node);
    }
  }

  Elements compute_pointwise(const Node& node) {
    const Tensor& y = tensor(node.y);
    const int32_t b = node.b < 0 ? node.x : node.b, t = node.t < 0 ? node.x : node.t;
    const Elements &from_x = read(node.x), &from_b = read(b), &from_t = read(t);
    Elements out(static_cast<size_t>(y.elements()));
    const Steps steps[] = {Steps::broadcast(tensor(node.x), y), Steps::broadcast(tensor(b), y),
                           Steps::broadcast(tensor(t), y)};
    for_each(y, steps, [&](int64_t i, const int64_t(&offset)[3]) {
      out[static_cast<size_t>(i)] = static_cast<float>(pointwise(node, from_x[static_cast<size_t>(offset[0])],
                                                                 from_b[static_cast<size_t>(offset[1])],
                                                                 from_t[static_cast<size_t>(offset[2])]));
    });
    return out;
  }

  void* const* const memory_;
  const Header header_;
  const std::vector<Tensor> tensors_;
  const std::vector<Node> nodes_;
  std::vector<Elements> elements_;
};

template <class T>
std::vector<T> take(const char*& from, int32_t count) {
  std::vector<T> out(static_cast<size_t>(count));
  std::memcpy(out.data(), from, out.size() * sizeof(T));
  from += out.size() * sizeof(T);
  return out;
}

}  // namespace

extern "C" const char* tenon_fake_cudnn_execute(void* const* memory, const void* arguments, size_t bytes) {
  Header header;
  if (bytes < sizeof(header)) return "cudnnBackendExecute: arguments of another version";
  const auto* from = static_cast<const char*>(arguments);
  std::memcpy(&header, from, sizeof(header));
  from += sizeof(header);
  if (bytes != sizeof(header) + static_cast<size_t>(header.tensors) * sizeof(Tensor) +
                   static_cast<size_t>(header.nodes) * sizeof(Node))
    return "cudnnBackendExecute: arguments of another version";
  std::vector<Tensor> tensors = take<Tensor>(from, header.tensors);
  std::vector<Node> nodes = take<Node>(from, header.nodes);
  // What others keep in the workspace is gone.
  if (header.workspace_range >= 0)
    std::memset(memory[header.workspace_range], 0xcd, static_cast<size_t>(header.workspace_bytes));
  Run(memory, header, std::move(tensors), std::move(nodes)).run();
  return nullptr;
}
