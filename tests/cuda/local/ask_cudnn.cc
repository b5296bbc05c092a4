// Prints what a cuDNN answers without a device about its descriptors.
#include <cstring>

#include "cudnn_asker.h"
#include "tests/fakes/cuda/cudnn/attributes.h"

using ask::Cudnn;
using ask::Dims;
using ask::line;

namespace {

using Handle = Cudnn::Handle;
using Type = cudnnBackendAttributeType_t;

constexpr int kDescriptorType = CUDNN_TYPE_BACKEND_DESCRIPTOR, kHandleType = CUDNN_TYPE_HANDLE;

void ask_texts(const ask::Library& library) {
  const auto text = library.function<decltype(cudnnGetErrorString)>("cudnnGetErrorString");
  line("version", library.function<decltype(cudnnGetVersion)>("cudnnGetVersion")(),
       library.function<decltype(cudnnGetCudartVersion)>("cudnnGetCudartVersion")(),
       library.function<decltype(cudnnGetMaxDeviceVersion)>("cudnnGetMaxDeviceVersion")());
  for (const auto& [first, last] :
       {std::pair{0, 2}, {1000, 1010}, {2000, 2014}, {3000, 3016}, {4000, 4008}, {5000, 5006}}) {
    for (int status = first; status < last; ++status)
      line("status", status, text(static_cast<cudnnStatus_t>(status)));
  }
  for (int property = 0; property < 4; ++property) {
    int value = -1;
    const int answer = library.function<decltype(cudnnGetProperty)>("cudnnGetProperty")(
        static_cast<libraryPropertyType>(property), &value);
    line("property", property, answer, value);
  }
}

/// Which types and counts an attribute takes. What refers to other descriptors is not asked: NVIDIA's library follows any pointer.
void ask_attribute(Cudnn& c, cudnnBackendDescriptorType_t of, cudnnBackendAttributeName_t name) {
  const int64_t ones[64] = {1, 1, 1, 1, 1, 1, 1, 1};
  int taken = -1;
  for (int type = 1; type <= 30; ++type) {
    if (type == kDescriptorType || type == kHandleType) continue;
    const Handle d = c.make(of);
    const int answer = c.set(d, name, static_cast<Type>(type), 1, ones);
    line("set", of, name, "type", type, answer);
    if (answer == 0 && taken < 0) taken = type;
    c.destroy(d);
  }
  if (taken < 0) return;
  for (const int64_t count : {0, 1, 2, 3, 8, 9}) {
    const Handle d = c.make(of);
    line("set", of, name, "count", count, c.set(d, name, static_cast<Type>(taken), count, ones));
    c.destroy(d);
  }
  const Handle d = c.make(of);
  int64_t count = -7, value = 0;
  line("set", of, name, "nothing", c.set(d, name, static_cast<Type>(taken), 1, nullptr));
  const int answer = c.get(d, name, static_cast<Type>(taken), 1, &count, &value);
  line("get", of, name, "too early", answer, count);
  c.destroy(d);
}

void ask_attributes(Cudnn& c) {
  for (int of = CUDNN_BACKEND_POINTWISE_DESCRIPTOR; of <= CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR; ++of) {
    const auto type = static_cast<cudnnBackendDescriptorType_t>(of);
    if (!fake_cudnn::is_known(type)) continue;
    for (int name = 0; name < 2850; ++name) {
      const auto attribute = static_cast<cudnnBackendAttributeName_t>(name);
      const bool is_text = attribute == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION;
      if (fake_cudnn::find_attribute(type, attribute) != nullptr && !is_text)
        ask_attribute(c, type, attribute);
    }
    const int64_t one = 1;
    const Handle d = c.make(type);
    for (const int name : {99, 999, 1499, 2999, -1})
      line("set", of, name, "of another",
           c.set(d, static_cast<cudnnBackendAttributeName_t>(name), CUDNN_TYPE_INT64, 1, &one));
    c.destroy(d);
  }
  line("no descriptor", c.set(nullptr, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr),
       c.finalize(nullptr), c.destroy(nullptr));
}

int tensor_status(Cudnn& c, int type, const Dims& dims, const Dims& strides, int64_t alignment = 16,
                  bool is_value = false) {
  const Handle d = c.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  c.put(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, Dims{1});
  c.put(d, CUDNN_ATTR_TENSOR_DATA_TYPE, static_cast<cudnnDataType_t>(type));
  if (!dims.empty()) c.put(d, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  if (!strides.empty()) c.put(d, CUDNN_ATTR_TENSOR_STRIDES, strides);
  if (alignment != -1) c.put(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Dims{alignment});
  if (is_value) c.put(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  c.finished(d);
  return c.status;
}

void ask_tensors(Cudnn& c) {
  const Dims dims{1, 8, 4, 4}, strides = ask::packed(dims);
  for (int type = 0; type < 22; ++type) line("tensor type", type, tensor_status(c, type, dims, strides));
  for (const int type : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_INT8, CUDNN_DATA_DOUBLE}) {
    for (const int64_t alignment : {-1, -4, 0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512})
      line("tensor alignment", type, alignment, tensor_status(c, type, dims, strides, alignment));
  }
  for (size_t rank = 1; rank < 10; ++rank)
    line("tensor rank", rank, tensor_status(c, 0, Dims(rank, 1), Dims(rank, 1)));
  const std::pair<Dims, Dims> odd[] = {{{}, strides},
                                       {dims, {}},
                                       {{1, 0, 4, 4}, strides},
                                       {{1, -1, 4, 4}, strides},
                                       {dims, {128, 0, 4, 1}},
                                       {dims, {128, -16, 4, 1}},
                                       {dims, {1, 1, 1, 1}},
                                       {dims, {16, 4, 1}},
                                       {dims, {128, 128, 16, 4, 1}}};
  for (const auto& [d, s] : odd) line("tensor odd", tensor_status(c, 0, d, s));
  line("tensor by value", tensor_status(c, 0, dims, strides, 16, true),
       tensor_status(c, 0, {1, 1}, {1, 1}, 16, true));

  c.status = 0;
  const Handle made = c.tensor(3, CUDNN_DATA_FLOAT, dims, strides);
  const int64_t one = 1;
  line("tensor again", c.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &one), c.finalize(made));
  for (int name = CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT; name <= CUDNN_ATTR_TENSOR_IS_BY_VALUE; ++name) {
    for (const int type : {CUDNN_TYPE_INT64, CUDNN_TYPE_DATA_TYPE, CUDNN_TYPE_BOOLEAN, CUDNN_TYPE_FLOAT}) {
      for (const int64_t requested : {0, 1, 2, 4, 8}) {
        int64_t values[8] = {}, count = -7;
        const int answer = c.get(made, static_cast<cudnnBackendAttributeName_t>(name),
                                 static_cast<Type>(type), requested, &count, values);
        line("tensor get", name, type, requested, answer, count, values[0], values[1]);
      }
    }
  }
  int64_t count = -7;
  line("tensor count", c.get(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 0, &count, nullptr),
       count);
}

int window_status(Cudnn& c, int64_t spatial, const Cudnn::Window& w) {
  const Handle d = c.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  c.put(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  const auto put = [&](cudnnBackendAttributeName_t name, const Dims& list) {
    if (!list.empty()) c.put(d, name, list);
  };
  put(CUDNN_ATTR_CONVOLUTION_DILATIONS, w.dilation);
  put(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, w.stride);
  put(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, w.pre);
  put(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, w.post);
  if (spatial >= 0) c.put(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Dims{spatial});
  c.finished(d);
  return c.status;
}

int convolve_status(Cudnn& c, const Dims& x, const Dims& w, const Dims& y, const Cudnn::Window& window) {
  c.status = 0;
  c.convolve(c.convolution(window), c.tensor(1, CUDNN_DATA_FLOAT, x, ask::packed(x)),
             c.tensor(2, CUDNN_DATA_FLOAT, w, ask::packed(w)),
             c.tensor(3, CUDNN_DATA_FLOAT, y, ask::packed(y)));
  return c.status;
}

void ask_convolutions(Cudnn& c) {
  const auto list = [](int64_t n, int64_t value) { return Dims(static_cast<size_t>(n), value); };
  for (int64_t n = 0; n <= 6; ++n) {
    const int64_t m = n == 0 ? 1 : n;
    line("window rank", n, window_status(c, n, {list(m, 0), list(m, 0), list(m, 1), list(m, 1)}));
  }
  const Dims one{1, 1};
  const Cudnn::Window odd[] = {
      {{}, one, one, one},        {one, {}, one, one},      {one, one, {}, one},
      {one, one, one, {}},        {{-1, 0}, one, one, one}, {one, {0, -1}, one, one},
      {one, one, {0, 1}, one},    {one, one, one, {0, 1}},  {{1}, one, one, one},
      {{1, 1, 1}, one, one, one}, {one, {2, 2}, one, one},  {one, one, {3, 3}, {2, 2}}};
  for (const Cudnn::Window& window : odd) line("window odd", window_status(c, 2, window));
  line("window without rank", window_status(c, -1, {one, one, one, one}));

  const Cudnn::Window plain{one, one, one, one};
  const Dims x{1, 8, 10, 10}, w{16, 8, 3, 3};
  for (const Dims& y :
       {Dims{1, 16, 10, 10}, {1, 16, 9, 10}, {1, 16, 10, 11}, {1, 8, 10, 10}, {2, 16, 10, 10}, {1, 16, 10}})
    line("convolve to", convolve_status(c, x, w, y, plain));
  for (const Dims& filters :
       {Dims{16, 4, 3, 3}, {16, 3, 3, 3}, {15, 4, 3, 3}, {8, 1, 3, 3}, {16, 16, 3, 3}, {16, 8, 13, 3}})
    line("convolve with", convolve_status(c, x, filters, {1, filters[0], 10, 10}, plain));
  line("convolve strided", convolve_status(c, x, w, {1, 16, 5, 5}, {one, one, {2, 2}, one}),
       convolve_status(c, x, w, {1, 16, 6, 6}, {one, one, {2, 2}, one}));
  line("convolve dilated", convolve_status(c, x, w, {1, 16, 8, 8}, {one, one, one, {2, 2}}));
  line("convolve asymmetric", convolve_status(c, x, w, {1, 16, 11, 11}, {one, {2, 2}, one, one}));
  line("convolve in one dim", convolve_status(c, {1, 8, 10}, {16, 8, 3}, {1, 16, 10}, {{1}, {1}, {1}, {1}}));
  line("convolve in three", convolve_status(c, {1, 8, 6, 6, 6}, {16, 8, 3, 3, 3}, {1, 16, 6, 6, 6},
                                            {list(3, 1), list(3, 1), list(3, 1), list(3, 1)}));
  line("convolve too deep",
       convolve_status(c, x, w, {1, 16, 10, 10}, {list(3, 1), list(3, 1), list(3, 1), list(3, 1)}));
}

void ask_operations(Cudnn& c) {
  const auto tensor = [&](int64_t uid, const Dims& dims, bool is_virtual = false) {
    return c.tensor(uid, CUDNN_DATA_FLOAT, dims, ask::packed(dims), is_virtual);
  };
  const Handle x = tensor(1, {4, 8}), y = tensor(2, {4, 8}), other = tensor(3, {1, 8}),
               narrow = tensor(4, {8});
  for (const int mode : {0, 1, 2, 3, 4, 5, 6, 9, 10, 14, 20, 100, 101, 104, 106, 107, 300, 305, 400, 402}) {
    const Handle p = c.pointwise(static_cast<cudnnPointwiseMode_t>(mode));
    for (const Handle b : {Handle{nullptr}, y, other, narrow}) {
      for (const Handle from : {x, narrow}) {
        c.status = 0;
        c.apply(p, from, b, y);
        line("pointwise", mode, b == nullptr, b == narrow, from == narrow, c.status);
        c.status = 0;
      }
    }
  }
  for (int mode = 0; mode < 10; ++mode) {
    c.status = 0;
    c.reduce(static_cast<cudnnReduceTensorOp_t>(mode), x, other);
    line("reduction", mode, c.status);
  }
  const std::vector<Dims> products[] = {{{8, 16}, {16, 4}, {8, 4}},
                                        {{8, 16}, {15, 4}, {8, 4}},
                                        {{8, 16}, {16, 4}, {8, 5}},
                                        {{8, 16}, {16, 4}, {9, 4}},
                                        {{3, 8, 16}, {3, 16, 4}, {3, 8, 4}},
                                        {{3, 8, 16}, {1, 16, 4}, {3, 8, 4}},
                                        {{3, 8, 16}, {2, 16, 4}, {3, 8, 4}},
                                        {{3, 8, 16}, {16, 4}, {3, 8, 4}},
                                        {{2, 3, 8, 16}, {2, 3, 16, 4}, {2, 3, 8, 4}}};
  for (const auto& dims : products) {
    c.status = 0;
    c.multiply(tensor(1, dims[0]), tensor(2, dims[1]), tensor(3, dims[2]));
    line("product", c.status);
  }
}

void ask_attention(Cudnn& c) {
  const Dims plain{2, 4, 16, 64};
  const std::vector<Dims> all[] = {{plain, plain, plain, plain},
                                   {plain, {2, 2, 16, 64}, {2, 2, 16, 64}, plain},
                                   {plain, {2, 3, 16, 64}, {2, 3, 16, 64}, plain},
                                   {plain, {2, 4, 16, 32}, plain, plain},
                                   {plain, {2, 4, 30, 64}, {2, 4, 30, 64}, plain},
                                   {plain, plain, {2, 4, 16, 32}, {2, 4, 16, 32}}};
  for (const auto& dims : all) {
    c.status = 0;
    const Handle d = c.make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    const auto put = [&](cudnnBackendAttributeName_t name, size_t i) {
      c.put(d, name, c.tensor(static_cast<int64_t>(i) + 1, CUDNN_DATA_HALF, dims[i], ask::packed(dims[i])));
    };
    put(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, 0);
    put(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, 1);
    put(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, 2);
    put(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, 3);
    c.finished(d);
    line("attention", c.status);
  }
  line("attention of nothing", c.finalize(c.make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR)));
}

void ask_graphs(Cudnn& c) {
  const auto tensor = [&](int64_t uid, bool is_virtual = false) {
    return c.tensor(uid, CUDNN_DATA_FLOAT, {4, 8}, {8, 1}, is_virtual);
  };
  c.status = 0;
  const Handle relu = c.pointwise(CUDNN_POINTWISE_RELU_FWD);
  const Handle x = tensor(1), middle = tensor(2, true), y = tensor(3);
  const Handle first = c.apply(relu, x, nullptr, middle), second = c.apply(relu, middle, nullptr, y),
               both = c.apply(relu, x, nullptr, y);
  const std::pair<const char*, std::vector<Handle>> graphs[] = {{"in order", {first, second}},
                                                                {"turned", {second, first}},
                                                                {"twice", {both, both}},
                                                                {"two results", {second, both}},
                                                                {"one", {both}},
                                                                {"none", {}}};
  for (const auto& [name, operations] : graphs) {
    c.status = 0;
    c.graph(operations);
    line("graph", name, c.status);
  }
  // Without their parts.
  for (const auto type :
       {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
        CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
        CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
        CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
        CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_BACKEND_MATMUL_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
        CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR})
    line("finalize empty", type, c.finalize(c.make(type)));
  for (const auto& [ids, pointers] : {std::pair{1, 1}, {2, 1}, {1, 2}, {0, 0}}) {
    c.status = 0;
    const Handle pack = c.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const Dims id(static_cast<size_t>(ids), 5);
    const std::vector<void*> pointer(static_cast<size_t>(pointers), &c);
    if (ids > 0) c.put(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, id);
    if (pointers > 0)
      c.put(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers, pointer.data());
    c.finished(pack);
    line("variant pack", ids, pointers, c.status);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  Cudnn c(arguments[1]);
  ask_texts(c.library);
  ask_attributes(c);
  ask_tensors(c);
  ask_convolutions(c);
  ask_operations(c);
  ask_attention(c);
  ask_graphs(c);
  return 0;
}
