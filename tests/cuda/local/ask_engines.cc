// Prints which graphs a cuDNN has engines for on a device of a compute capability, without one.
//
// The second argument is 100 * major + 10 * minor. There is one process for each: NVIDIA's library keeps what it sees first. It needs
// libnvrtc and any libcuda.so.1, or it has no engines that are compiled at run time.
#include <cstring>

#include "cudnn_asker.h"

using ask::Cudnn;
using ask::Dims;
using ask::line;

namespace {

using Handle = Cudnn::Handle;
using Types = std::vector<cudnnDataType_t>;

/// What a device has that engines may ask for: that of an H100, but for its compute capability.
constexpr char kDevice[] =
    R"({"cudaDeviceId":0,"deviceVer":VERSION,"driverVer":13000,"totalGlobalMem":85000000000,"maxGridSize":[2147483647,65535,65535],)"
    R"("maxBlockSize":[1024,1024,64],"multiProcessorCount":132,"regsPerBlock":65536,"smClockRateKHz":1980000,"memClockRateKHz":2619000,)"
    R"("l2CacheSize":52428800,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"pciDeviceId":0,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
    R"("maxThreadsPerSM":2048,"isTccDriver":0,"supportCoopLaunch":1,"deviceName":"a device"})";

class Engines {
 public:
  Engines(const char* path, const std::string& version) : c(path), version_(version) {
    std::string text = kDevice;
    text.replace(text.find("VERSION"), std::strlen("VERSION"), version);
    device_ = c.make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    c.put(device_, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
          static_cast<int64_t>(text.size()), text.data());
    device_ = c.finished(device_);
  }

  /// A line: whether there are engines of four kinds, and whether heuristics name some.
  void ask(const std::string& name, Handle graph) {
    if (graph == nullptr) return line(version_, name, "no graph", c.status);
    bool has[2][2] = {};  // compiled at run time, exact
    int64_t engines = 0;
    c.get(graph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, nullptr, &engines);
    for (int64_t index = 0; index < engines; ++index) look_at(graph, index, has);
    line(version_, name, "engines", engines, "precompiled", has[0][0] || has[0][1], "exact", has[0][1],
         "compiled", has[1][0] || has[1][1], "exact", has[1][1], "heuristics",
         results(graph, CUDNN_HEUR_MODE_A) > 0, results(graph, CUDNN_HEUR_MODE_FALLBACK) > 0);
  }

  /// A line of the engines' numbers that heuristics name: those need settings, which heuristics know.
  void ask_results(const std::string& name, Handle graph) {
    if (graph == nullptr) return line(version_, name, "no graph", c.status);
    line(version_, name, "named", results(graph, CUDNN_HEUR_MODE_A) > 0,
         results(graph, CUDNN_HEUR_MODE_FALLBACK) > 0);
  }

  Cudnn c;

 private:
  void look_at(Handle graph, int64_t index, bool (&has)[2][2]) {
    c.status = 0;
    const Handle engine = c.make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    c.put(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    c.put(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, Dims{index});
    c.put(engine, CUDNN_ATTR_ENGINE_DEVICEPROP, device_);
    if (c.finished(engine) == nullptr) return;
    const Handle configuration = c.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    c.put(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (c.finished(configuration) == nullptr) return;
    const auto notes_of = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
      std::vector<int32_t> notes(16, -1);
      int64_t count = 0;
      c.get(engine, name, type, 16, &count, notes.data());
      notes.resize(static_cast<size_t>(count < 0 ? 0 : count));
      return notes;
    };
    const auto has_note = [](const std::vector<int32_t>& notes, int32_t note) {
      for (const int32_t known : notes) {
        if (known == note) return true;
      }
      return false;
    };
    const bool is_compiled = has_note(notes_of(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE),
                                      CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
    const std::vector<int32_t> notes = notes_of(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
    has[is_compiled][!has_note(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)] = true;
  }

  int64_t results(Handle graph, cudnnBackendHeurMode_t mode) {
    c.status = 0;
    const Handle heuristics = c.make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    c.put(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    c.put(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    c.put(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device_);
    if (c.finished(heuristics) == nullptr) return -1;
    // Without a place for them, NVIDIA's library also counts those that it then does not give.
    std::vector<Handle> configurations(16);
    for (Handle& configuration : configurations) configuration = c.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t count = 0;
    c.get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 16, &count,
          configurations.data());
    for (const Handle configuration : configurations) c.destroy(configuration);
    return count;
  }

  const std::string version_;
  Handle device_ = nullptr;
};

/// What comes after a convolution or a product: 'b' a bias, 'a' an addend, a mode of a pointwise operation.
struct Step {
  char kind;
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  Cudnn::Reals settings;
};
struct Tail {
  const char* name;
  std::vector<Step> steps;
};

struct Shape {
  const char* name;
  Dims x, w, y;
  Cudnn::Window window;
};

using Strides = Dims (*)(const Dims&);

struct Kinds {
  cudnnDataType_t type, between = CUDNN_DATA_FLOAT, bias = CUDNN_DATA_COMPLEX_FP64,
                        result = CUDNN_DATA_COMPLEX_FP64;
  cudnnDataType_t or_type(cudnnDataType_t other) const {
    return other == CUDNN_DATA_COMPLEX_FP64 ? type : other;
  }
};

/// The operations of a tail behind the one whose result is `last`; appends to `operations`.
void add_tail(Cudnn& c, const Tail& tail, const Kinds& kinds, Strides strides, const Dims& dims,
              size_t bias_axis, Handle last, std::vector<Handle>& operations) {
  int64_t uid = 10;
  for (size_t i = 0; i < tail.steps.size(); ++i) {
    const Step& step = tail.steps[i];
    const bool is_last = i + 1 == tail.steps.size();
    const Handle y =
        c.tensor(++uid, is_last ? kinds.or_type(kinds.result) : kinds.between, dims, strides(dims), !is_last);
    Handle b = nullptr;
    if (step.kind == 'b') {
      Dims vector(dims.size(), 1);
      vector[bias_axis] = dims[bias_axis];
      b = c.tensor(++uid, kinds.or_type(kinds.bias), vector, strides(vector));
    } else if (step.kind == 'a') {
      b = c.tensor(++uid, kinds.type, dims, strides(dims));
    }
    operations.push_back(c.apply(c.pointwise(step.mode, step.settings), last, b, y));
    last = y;
  }
}

Handle convolution_graph(Cudnn& c, const Shape& s, const Kinds& kinds, Strides strides, const Tail& tail,
                         cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
  c.status = 0;
  const bool has_tail = !tail.steps.empty();
  const Handle x = c.tensor(1, kinds.type, s.x, strides(s.x)), w = c.tensor(2, kinds.type, s.w, strides(s.w));
  const Handle y =
      c.tensor(3, has_tail ? kinds.between : kinds.or_type(kinds.result), s.y, strides(s.y), has_tail);
  std::vector<Handle> operations = {c.convolve(c.convolution(s.window, compute), x, w, y)};
  add_tail(c, tail, kinds, strides, s.y, 1, y, operations);
  return c.status == 0 ? c.graph(operations) : nullptr;
}

Handle product_graph(Cudnn& c, const std::vector<Dims>& dims, const Kinds& kinds, const Tail& tail,
                     bool turned = false) {
  c.status = 0;
  Dims strides = ask::packed(dims[1]);
  if (turned) strides = ask::packed({dims[1][0], dims[1][2], dims[1][1]}), std::swap(strides[1], strides[2]);
  const Handle a = c.tensor(1, kinds.type, dims[0], ask::packed(dims[0])),
               b = c.tensor(2, kinds.type, dims[1], strides);
  const bool has_tail = !tail.steps.empty();
  const Handle y =
      c.tensor(3, has_tail ? kinds.between : kinds.type, dims[2], ask::packed(dims[2]), has_tail);
  std::vector<Handle> operations = {c.multiply(a, b, y)};
  add_tail(c, tail, kinds, ask::packed, dims[2], dims[2].size() - 1, y, operations);
  return c.status == 0 ? c.graph(operations) : nullptr;
}

const Cudnn::Window kPlain{{1, 1}, {1, 1}, {1, 1}, {1, 1}};
const Shape kShapes[] = {
    {"plain", {1, 64, 14, 14}, {64, 64, 3, 3}, {1, 64, 14, 14}, kPlain},
    {"pointlike", {1, 64, 14, 14}, {64, 64, 1, 1}, {1, 64, 14, 14}, {{0, 0}, {0, 0}, {1, 1}, {1, 1}}},
    {"three channels", {1, 3, 14, 14}, {64, 3, 3, 3}, {1, 64, 14, 14}, kPlain},
    {"thirty filters", {1, 64, 14, 14}, {30, 64, 3, 3}, {1, 30, 14, 14}, kPlain},
    {"depthwise", {1, 64, 14, 14}, {64, 1, 3, 3}, {1, 64, 14, 14}, kPlain},
    {"four groups", {1, 64, 14, 14}, {64, 16, 3, 3}, {1, 64, 14, 14}, kPlain},
    {"asymmetric", {1, 64, 14, 14}, {64, 64, 3, 3}, {1, 64, 15, 15}, {{1, 1}, {2, 2}, {1, 1}, {1, 1}}},
    {"strided", {1, 64, 14, 14}, {64, 64, 3, 3}, {1, 64, 7, 7}, {{1, 1}, {1, 1}, {2, 2}, {1, 1}}},
    {"dilated", {1, 64, 14, 14}, {64, 64, 3, 3}, {1, 64, 14, 14}, {{2, 2}, {2, 2}, {1, 1}, {2, 2}}},
    {"several images", {3, 64, 14, 14}, {64, 64, 3, 3}, {3, 64, 14, 14}, kPlain},
    {"one axis", {1, 64, 14}, {64, 64, 3}, {1, 64, 14}, {{1}, {1}, {1}, {1}}},
    {"three axes",
     {1, 64, 6, 6, 6},
     {64, 64, 3, 3, 3},
     {1, 64, 6, 6, 6},
     {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}},
};

const Step kBias{'b', CUDNN_POINTWISE_ADD, {}}, kAddend{'a', CUDNN_POINTWISE_ADD, {}},
    kRelu{'p', CUDNN_POINTWISE_RELU_FWD, {}};
const Tail kTails[] = {
    {"alone", {}},
    {"bias", {kBias}},
    {"bias relu", {kBias, kRelu}},
    {"addend bias relu", {kAddend, kBias, kRelu}},
    {"bias addend relu", {kBias, kAddend, kRelu}},
    {"relu", {kRelu}},
};
const Tail kMoreTails[] = {
    {"addend bias", {kAddend, kBias}},
    {"bias addend", {kBias, kAddend}},
    {"addend", {kAddend}},
    {"bias relu6", {kBias, {'p', CUDNN_POINTWISE_RELU_FWD, {{CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 6.0}}}}},
    {"bias from -1",
     {kBias, {'p', CUDNN_POINTWISE_RELU_FWD, {{CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, -1.0}}}}},
    {"bias leaky",
     {kBias, {'p', CUDNN_POINTWISE_RELU_FWD, {{CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0.1}}}}},
    {"bias sigmoid", {kBias, {'p', CUDNN_POINTWISE_SIGMOID_FWD, {}}}},
    {"bias tanh", {kBias, {'p', CUDNN_POINTWISE_TANH_FWD, {}}}},
    {"bias elu", {kBias, {'p', CUDNN_POINTWISE_ELU_FWD, {}}}},
    {"bias gelu", {kBias, {'p', CUDNN_POINTWISE_GELU_FWD, {}}}},
    {"bias swish", {kBias, {'p', CUDNN_POINTWISE_SWISH_FWD, {}}}},
    {"bias relu relu", {kBias, kRelu, kRelu}},
    {"scale bias relu", {{'b', CUDNN_POINTWISE_MUL, {}}, kBias, kRelu}},
};
const std::pair<const char*, cudnnDataType_t> kTypes[] = {
    {"float", CUDNN_DATA_FLOAT}, {"half", CUDNN_DATA_HALF}, {"bfloat", CUDNN_DATA_BFLOAT16}};
const std::pair<const char*, Strides> kLayouts[] = {{"nchw", ask::packed}, {"nhwc", ask::channels_last}};

void ask_convolutions(Engines& engines) {
  const auto name = [](const auto&... parts) {
    std::string out;
    ((out += parts, out += ", "), ...);
    return out;
  };
  for (const auto& [type_name, type] : kTypes) {
    for (const auto& [layout_name, strides] : kLayouts) {
      for (const Shape& shape : kShapes) {
        for (const Tail& tail : kTails)
          engines.ask(name(type_name, layout_name, shape.name, tail.name),
                      convolution_graph(engines.c, shape, {type}, strides, tail));
      }
      const Shape& plain = kShapes[0];
      for (const Tail& tail : kMoreTails)
        engines.ask(name(type_name, layout_name, plain.name, tail.name),
                    convolution_graph(engines.c, plain, {type}, strides, tail));
      const auto ask_kinds = [&, type_name = type_name, layout_name = layout_name, strides = strides](
                                 const char* what, const Kinds& kinds, const Tail& tail) {
        engines.ask(name(type_name, layout_name, what, tail.name),
                    convolution_graph(engines.c, plain, kinds, strides, tail));
      };
      ask_kinds("bias in float", {type, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT}, kTails[2]);
      ask_kinds("half between", {type, CUDNN_DATA_HALF}, kTails[2]);
      engines.ask(name(type_name, layout_name, "computed in double"),
                  convolution_graph(engines.c, plain, {type}, strides, kTails[0], CUDNN_DATA_DOUBLE));
    }
  }
}

void ask_products(Engines& engines) {
  const std::pair<const char*, std::vector<Dims>> shapes[] = {
      {"product", {{4, 64, 32}, {4, 32, 48}, {4, 64, 48}}},
      {"odd product", {{4, 63, 31}, {4, 31, 47}, {4, 63, 47}}},
      {"broadcast product", {{4, 64, 32}, {1, 32, 48}, {4, 64, 48}}},
      {"product with two batches", {{2, 2, 64, 32}, {2, 2, 32, 48}, {2, 2, 64, 48}}},
  };
  for (const auto& [type_name, type] : kTypes) {
    for (const auto& [shape_name, dims] : shapes) {
      for (const Tail& tail : {kTails[0], kTails[2]})
        engines.ask(std::string(type_name) + ", " + shape_name + ", " + tail.name,
                    product_graph(engines.c, dims, {type}, tail));
    }
    engines.ask(std::string(type_name) + ", turned product",
                product_graph(engines.c, shapes[0].second, {type}, kTails[0], true));
  }
}

void ask_others(Engines& engines) {
  Cudnn& c = engines.c;
  const std::pair<const char*, Dims> shapes[] = {
      {"four dims", {4, 8, 16, 16}}, {"three dims", {1, 64, 32}}, {"two dims", {64, 32}}};
  for (const auto& [type_name, type] : kTypes) {
    for (const auto& [layout_name, strides] : kLayouts) {
      for (const auto& [shape_name, dims] : shapes) {
        if (dims.size() < 4 && strides != ask::packed) continue;
        for (const auto mode : {CUDNN_POINTWISE_RELU_FWD, CUDNN_POINTWISE_ADD, CUDNN_POINTWISE_GELU_FWD}) {
          c.status = 0;
          const Handle x = c.tensor(1, type, dims, strides(dims)), y = c.tensor(2, type, dims, strides(dims));
          const Handle b = mode == CUDNN_POINTWISE_ADD ? c.tensor(3, type, dims, strides(dims)) : nullptr;
          const Handle operation = c.apply(c.pointwise(mode), x, b, y);
          engines.ask(std::string(type_name) + ", " + layout_name + ", pointwise " + std::to_string(mode) +
                          ", " + shape_name,
                      c.status == 0 ? c.graph({operation}) : nullptr);
        }
      }
      const Dims dims{4, 8, 16, 16};
      for (const Dims& to : {Dims{1, 8, 1, 1}, {4, 8, 1, 1}, {4, 1, 16, 16}, {1, 1, 1, 1}}) {
        for (const auto result : {CUDNN_DATA_FLOAT, CUDNN_DATA_HALF}) {
          c.status = 0;
          const Handle operation = c.reduce(CUDNN_REDUCE_TENSOR_MAX, c.tensor(1, type, dims, strides(dims)),
                                            c.tensor(2, result, to, strides(to)));
          engines.ask(std::string(type_name) + ", " + layout_name + ", reduction to " +
                          std::to_string(to[0]) + "x" + std::to_string(to[1]) + "x" + std::to_string(to[2]) +
                          " of type " + std::to_string(result),
                      c.status == 0 ? c.graph({operation}) : nullptr);
        }
      }
    }
  }
}

void ask_attention(Engines& engines) {
  Cudnn& c = engines.c;
  struct Sizes {
    const char* name;
    int64_t heads, shared, queries, keys, size, value_size;
  };
  for (const Sizes& s : {Sizes{"plain", 4, 4, 128, 128, 64, 64},
                         {"grouped", 4, 2, 128, 128, 64, 64},
                         {"odd lengths", 4, 4, 127, 77, 64, 64},
                         {"one query", 4, 4, 1, 128, 64, 64},
                         {"size 44", 4, 4, 128, 128, 44, 44},
                         {"size 40", 4, 4, 128, 128, 40, 40},
                         {"size 128", 4, 4, 128, 128, 128, 128},
                         {"size 256", 4, 4, 128, 128, 256, 256},
                         {"other values", 4, 4, 128, 128, 64, 128}}) {
    for (const auto& [type_name, type] : {kTypes[1], kTypes[2]}) {
      for (const bool interleaved : {false, true}) {
        c.status = 0;
        const Handle d = c.make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
        int64_t uid = 0;
        const auto put = [&, type = type](cudnnBackendAttributeName_t name, int64_t heads, int64_t length,
                                          int64_t size) {
          const Dims dims{2, heads, length, size};
          c.put(
              d, name,
              c.tensor(++uid, type, dims,
                       interleaved ? Dims{length * heads * size, size, heads * size, 1} : ask::packed(dims)));
        };
        put(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, s.heads, s.queries, s.size);
        put(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, s.shared, s.keys, s.size);
        put(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, s.shared, s.keys, s.value_size);
        put(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, s.heads, s.queries, s.value_size);
        const Handle operation = c.finished(d);
        engines.ask_results(
            std::string(type_name) + ", attention, " + s.name + (interleaved ? ", interleaved" : ""),
            operation == nullptr ? nullptr : c.graph({operation}));
      }
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  Engines engines(arguments[1], arguments[2]);
  ask_convolutions(engines);
  ask_products(engines);
  ask_others(engines);
  ask_attention(engines);
  return 0;
}
