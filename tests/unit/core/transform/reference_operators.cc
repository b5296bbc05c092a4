#include "tests/unit/core/transform/reference_operators.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "core/transform/edit.h"
#include "tests/unit/core/transform/reference_elementwise.h"

namespace tenon::testing {
namespace {

using ir::ElementType;

std::vector<int64_t> strides_of(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// Calls visit(index of each axis) for every element.
void for_each_index(const std::vector<int64_t>& dims,
                    const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> index(dims.size(), 0);
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 0; })) return;
  while (true) {
    visit(index);
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

double at(const Array& array, const std::vector<int64_t>& index) {
  const std::vector<int64_t> strides = strides_of(array.dims);
  const size_t skip = index.size() - array.dims.size();
  int64_t offset = 0;
  for (size_t i = 0; i < array.dims.size(); ++i)
    offset += (array.dims[i] == 1 ? 0 : index[i + skip]) * strides[i];
  return array.values[static_cast<size_t>(offset)];
}

std::vector<int64_t> broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()), 1);
  for (const auto* dims : {&a, &b}) {
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] != 1) out[i + out.size() - dims->size()] = (*dims)[i];
    }
  }
  return out;
}

Array fill(std::vector<int64_t> dims, const std::function<double(const std::vector<int64_t>&)>& element) {
  Array out{std::move(dims), {}};
  for_each_index(out.dims, [&](const std::vector<int64_t>& index) { out.values.push_back(element(index)); });
  return out;
}

Array map(const Array& x, double (*function)(double)) {
  Array out = x;
  for (double& value : out.values) value = function(value);
  return out;
}

Array zip(const Array& a, const Array& b, double (*function)(double, double)) {
  return fill(broadcast(a.dims, b.dims),
              [&](const auto& index) { return function(at(a, index), at(b, index)); });
}

Array matmul(const Array& a, const Array& b) {
  std::vector<int64_t> left = a.dims, right = b.dims;
  const int64_t rows = left.end()[-2], inner = left.end()[-1], columns = right.end()[-1];
  std::vector<int64_t> dims = broadcast({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
  dims.push_back(rows);
  dims.push_back(columns);
  return fill(dims, [&](std::vector<int64_t> index) {
    double sum = 0;
    std::vector<int64_t> l = index, r = index;
    for (int64_t k = 0; k < inner; ++k) {
      l.back() = k;
      r.end()[-2] = k;
      sum += at(a, l) * at(b, r);
    }
    return sum;
  });
}

Array gemm(const Call& call) {
  const Array &a = *call.in[0], &b = *call.in[1];
  const bool turn_a = call.node.int_or("transA", 0) != 0, turn_b = call.node.int_or("transB", 0) != 0;
  const auto alpha = static_cast<double>(call.number("alpha", 1)),
             beta = static_cast<double>(call.number("beta", 1));
  return fill({a.dims[turn_a ? 1 : 0], b.dims[turn_b ? 0 : 1]}, [&](const std::vector<int64_t>& o) {
    double sum = 0;
    for (int64_t k = 0; k < a.dims[turn_a ? 0 : 1]; ++k) {
      const std::vector<int64_t> left = {o[0], k}, right = {k, o[1]};
      sum += at(a, turn_a ? std::vector<int64_t>{k, o[0]} : left) *
             at(b, turn_b ? std::vector<int64_t>{o[1], k} : right);
    }
    const bool has_c = call.in.size() > 2 && call.in[2] != nullptr;
    return alpha * sum + (has_c ? beta * at(*call.in[2], o) : 0.0);
  });
}

Array transpose(const Call& call) {
  const Array& x = *call.in[0];
  std::vector<int64_t> perm = call.ints("perm", 9);
  for (size_t i = x.dims.size(); perm.size() < x.dims.size(); --i)
    perm.push_back(static_cast<int64_t>(i) - 1);
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back(x.dims[static_cast<size_t>(axis)]);
  return fill(dims, [&](const std::vector<int64_t>& index) {
    std::vector<int64_t> source(index.size());
    for (size_t i = 0; i < index.size(); ++i) source[static_cast<size_t>(perm[i])] = index[i];
    return at(x, source);
  });
}

Array reshape(const Call& call) {
  const Array& x = *call.in[0];
  std::vector<int64_t> dims = call.ints("shape", 1);
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) dims[i] = x.dims[i];
    if (dims[i] > 0) known *= dims[i];
  }
  for (int64_t& dim : dims) {
    if (dim == -1) dim = x.count() / known;
  }
  return {dims, x.values};
}

/// 2-d, weights [M, C/group, kh, kw].
Array conv(const Call& call) {
  const Array &x = *call.in[0], &w = *call.in[1];
  const std::vector<int64_t> pads = call.ints("pads", 9, {0, 0, 0, 0}),
                             strides = call.ints("strides", 9, {1, 1});
  const int64_t group = call.node.int_or("group", 1), per_group = w.dims[0] / group;
  auto size = [&](size_t i) {
    return (x.dims[i + 2] + pads[i] + pads[i + 2] - w.dims[i + 2]) / strides[i] + 1;
  };
  return fill({x.dims[0], w.dims[0], size(0), size(1)}, [&](const std::vector<int64_t>& o) {
    double sum =
        call.in.size() > 2 && call.in[2] != nullptr ? call.in[2]->values[static_cast<size_t>(o[1])] : 0;
    for_each_index({w.dims[1], w.dims[2], w.dims[3]}, [&](const std::vector<int64_t>& k) {
      const int64_t h = o[2] * strides[0] + k[1] - pads[0], v = o[3] * strides[1] + k[2] - pads[1];
      if (h < 0 || v < 0 || h >= x.dims[2] || v >= x.dims[3]) return;
      sum += at(x, {o[0], o[1] / per_group * w.dims[1] + k[0], h, v}) * at(w, {o[1], k[0], k[1], k[2]});
    });
    return sum;
  });
}

/// 2-d
Array max_pool(const Call& call) {
  const Array& x = *call.in[0];
  const std::vector<int64_t> pads = call.ints("pads", 9, {0, 0, 0, 0}),
                             strides = call.ints("strides", 9, {1, 1}), kernel = call.ints("kernel_shape", 9);
  auto size = [&](size_t i) { return (x.dims[i + 2] + pads[i] + pads[i + 2] - kernel[i]) / strides[i] + 1; };
  return fill({x.dims[0], x.dims[1], size(0), size(1)}, [&](const std::vector<int64_t>& o) {
    double most = -std::numeric_limits<double>::infinity();
    for_each_index(kernel, [&](const std::vector<int64_t>& k) {
      const int64_t h = o[2] * strides[0] + k[0] - pads[0], v = o[3] * strides[1] + k[1] - pads[1];
      if (h >= 0 && v >= 0 && h < x.dims[2] && v < x.dims[3])
        most = std::max(most, at(x, {o[0], o[1], h, v}));
    });
    return most;
  });
}

/// 2-d, stride 1 without padding, weights [C, M/group, kh, kw].
Array conv_transpose(const Call& call) {
  const Array &x = *call.in[0], &w = *call.in[1];
  const int64_t group = call.node.int_or("group", 1), per_group = w.dims[0] / group;
  return fill({x.dims[0], w.dims[1] * group, x.dims[2] + w.dims[2] - 1, x.dims[3] + w.dims[3] - 1},
              [&](const std::vector<int64_t>& o) {
                double sum =
                    call.in.size() > 2 && call.in[2] ? call.in[2]->values[static_cast<size_t>(o[1])] : 0;
                const int64_t g = o[1] / w.dims[1];
                for_each_index({per_group, w.dims[2], w.dims[3]}, [&](const std::vector<int64_t>& k) {
                  const int64_t c = g * per_group + k[0], h = o[2] - k[1], v = o[3] - k[2];
                  if (h < 0 || v < 0 || h >= x.dims[2] || v >= x.dims[3]) return;
                  sum += at(x, {o[0], c, h, v}) * at(w, {c, o[1] % w.dims[1], k[1], k[2]});
                });
                return sum;
              });
}

Array batch_norm(const Call& call) {
  const Array& x = *call.in[0];
  const double epsilon = static_cast<double>(call.number("epsilon", 1e-5f));
  return fill(x.dims, [&](const std::vector<int64_t>& i) {
    const auto c = static_cast<size_t>(i[1]);
    return (at(x, i) - call.in[3]->values[c]) / std::sqrt(call.in[4]->values[c] + epsilon) *
               call.in[1]->values[c] +
           call.in[2]->values[c];
  });
}

Array pad(const Call& call) {
  const Array& x = *call.in[0];
  const size_t rank = x.dims.size();
  const std::vector<int64_t> pads = call.ints("pads", 1);
  const double value = call.in.size() > 2 && call.in[2] != nullptr ? call.in[2]->values[0] : 0;
  std::vector<int64_t> dims = x.dims;
  for (size_t i = 0; i < rank; ++i) dims[i] += pads[i] + pads[i + rank];
  return fill(dims, [&](std::vector<int64_t> index) {
    for (size_t i = 0; i < rank; ++i) {
      index[i] -= pads[i];
      if (index[i] < 0 || index[i] >= x.dims[i]) return value;
    }
    return at(x, index);
  });
}

size_t axis_of(const Call& call, int64_t fallback, size_t rank) {
  const int64_t axis = call.node.int_or("axis", fallback);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Array concat(const Call& call) {
  Array out = *call.in[0];
  const size_t axis = axis_of(call, 0, out.dims.size());
  for (size_t n = 1; n < call.in.size(); ++n) {
    const Array first = out, &second = *call.in[n];
    std::vector<int64_t> dims = first.dims;
    dims[axis] += second.dims[axis];
    out = fill(dims, [&](std::vector<int64_t> index) {
      if (index[axis] < first.dims[axis]) return at(first, index);
      index[axis] -= first.dims[axis];
      return at(second, index);
    });
  }
  return out;
}

Array slice(const Call& call) {
  const Array& x = *call.in[0];
  const std::vector<int64_t> starts = call.ints("starts", 1), ends = call.ints("ends", 2);
  std::vector<int64_t> axes = call.ints("axes", 3);
  for (size_t i = axes.size(); i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  std::vector<int64_t> dims = x.dims, offset(x.dims.size(), 0);
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis =
        static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(x.dims.size()) : axes[i]);
    auto clamp = [&](int64_t v) {
      return std::clamp<int64_t>(v < 0 ? v + x.dims[axis] : v, 0, x.dims[axis]);
    };
    offset[axis] = clamp(starts[i]);
    dims[axis] = std::max<int64_t>(clamp(ends[i]) - offset[axis], 0);
  }
  return fill(dims, [&](std::vector<int64_t> index) {
    for (size_t i = 0; i < index.size(); ++i) index[i] += offset[i];
    return at(x, index);
  });
}

std::vector<Array> split(const Call& call) {
  const Array& x = *call.in[0];
  const size_t axis = axis_of(call, 0, x.dims.size());
  const auto parts = static_cast<int64_t>(call.node.outputs.size());
  std::vector<Array> out;
  int64_t offset = 0;
  for (const int64_t size :
       call.ints("split", 1, std::vector<int64_t>(static_cast<size_t>(parts), x.dims[axis] / parts))) {
    std::vector<int64_t> dims = x.dims;
    dims[axis] = size;
    out.push_back(fill(dims, [&](std::vector<int64_t> index) {
      index[axis] += offset;
      return at(x, index);
    }));
    offset += size;
  }
  return out;
}

Array gather(const Call& call) {
  const Array &x = *call.in[0], &indices = *call.in[1];
  const size_t axis = axis_of(call, 0, x.dims.size()), rank = indices.dims.size();
  std::vector<int64_t> dims(x.dims.begin(), x.dims.begin() + static_cast<ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<ptrdiff_t>(axis) + 1, x.dims.end());
  return fill(dims, [&](const std::vector<int64_t>& o) {
    const auto begin = o.begin() + static_cast<ptrdiff_t>(axis), end = begin + static_cast<ptrdiff_t>(rank);
    const auto found = static_cast<int64_t>(at(indices, {begin, end}));
    std::vector<int64_t> index(o.begin(), begin);
    index.push_back(found < 0 ? found + x.dims[axis] : found);
    index.insert(index.end(), end, o.end());
    return at(x, index);
  });
}

/// Sum, mean or mean of squares over axes.
Array reduce(const Call& call, bool mean) {
  const Array& x = *call.in[0];
  std::vector<int64_t> axes = call.ints("axes", 1);
  if (axes.empty()) {
    for (size_t i = 0; i < x.dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> kept = x.dims;
  double count = 1;
  for (int64_t& axis : axes) {
    if (axis < 0) axis += static_cast<int64_t>(x.dims.size());
    count *= static_cast<double>(kept[static_cast<size_t>(axis)]);
    kept[static_cast<size_t>(axis)] = 1;
  }
  Array out{kept, std::vector<double>(static_cast<size_t>(Array{kept, {}}.count()), 0)};
  const std::vector<int64_t> strides = strides_of(kept);
  for_each_index(x.dims, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += kept[i] == 1 ? 0 : index[i] * strides[i];
    out.values[static_cast<size_t>(offset)] += at(x, index) / (mean ? count : 1);
  });
  if (call.node.int_or("keepdims", 1) == 0) {
    std::vector<int64_t> dims;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end()) dims.push_back(kept[i]);
    }
    out.dims = dims;
  }
  return out;
}

Array softmax(const Call& call) {
  const Array& x = *call.in[0];
  const size_t axis = axis_of(call, -1, x.dims.size());
  return fill(x.dims, [&](std::vector<int64_t> index) {
    const double own = at(x, index);
    double top = -INFINITY, sum = 0;
    for (index[axis] = 0; index[axis] < x.dims[axis]; ++index[axis]) top = std::max(top, at(x, index));
    for (index[axis] = 0; index[axis] < x.dims[axis]; ++index[axis]) sum += std::exp(at(x, index) - top);
    return std::exp(own - top) / sum;
  });
}

Array unsqueeze(const Call& call) {
  Array out = *call.in[0];
  std::vector<int64_t> axes = call.ints("axes", 1);
  const auto rank = static_cast<int64_t>(out.dims.size() + axes.size());
  for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
  std::sort(axes.begin(), axes.end());
  for (const int64_t axis : axes) out.dims.insert(out.dims.begin() + axis, 1);
  return out;
}

Array squeeze(const Call& call) {
  Array out{{}, call.in[0]->values};
  std::vector<int64_t> axes = call.ints("axes", 1);
  const auto rank = static_cast<int64_t>(call.in[0]->dims.size());
  for (int64_t i = 0; i < rank; ++i) {
    const bool listed =
        std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return a == i || a + rank == i; });
    const int64_t dim = call.in[0]->dims[static_cast<size_t>(i)];
    if (axes.empty() ? dim != 1 : !listed) out.dims.push_back(dim);
  }
  return out;
}

Array flatten(const Call& call) {
  const Array& x = *call.in[0];
  int64_t rows = 1;
  for (size_t i = 0; i < axis_of(call, 1, x.dims.size()); ++i) rows *= x.dims[i];
  return {{rows, x.count() / rows}, x.values};
}

Array cast(const Call& call) {
  Array out = *call.in[0];
  const auto to = static_cast<ElementType>(call.node.int_or("to", 0));
  for (double& value : out.values) {
    if (to == ElementType::kBool) value = value != 0 ? 1 : 0;
    if (to == ElementType::kInt32 || to == ElementType::kInt64) value = std::trunc(value);
    if (to == ElementType::kInt8) value = static_cast<int8_t>(static_cast<int64_t>(value));
    if (to == ElementType::kFloat32) value = static_cast<float>(value);
  }
  return out;
}

Array range(const Call& call) {
  Array out{{0}, {}};
  const double step = call.in[2]->values[0];
  for (double v = call.in[0]->values[0]; step > 0 ? v < call.in[1]->values[0] : v > call.in[1]->values[0];
       v += step) {
    out.values.push_back(v);
  }
  out.dims[0] = static_cast<int64_t>(out.values.size());
  return out;
}

Array shape_array(const Array& x) {
  return {{static_cast<int64_t>(x.dims.size())}, {x.dims.begin(), x.dims.end()}};
}

Array expand(const Call& call) {
  const std::vector<int64_t> dims = broadcast(call.in[0]->dims, call.ints("", 1));
  return fill(dims, [&](const auto& index) { return at(*call.in[0], index); });
}

Array constant_of_shape(const Call& call) {
  const ir::Attribute* value = call.node.find("value");
  const double number = value == nullptr ? 0 : array_of(*value->tensors[0]).values[0];
  return fill(call.ints("", 0), [number](const auto&) { return number; });
}

Array where(const Call& call) {
  const std::vector<int64_t> dims =
      broadcast(broadcast(call.in[0]->dims, call.in[1]->dims), call.in[2]->dims);
  return fill(
      dims, [&](const auto& i) { return at(*call.in[0], i) != 0 ? at(*call.in[1], i) : at(*call.in[2], i); });
}

Array clip(const Call& call) {
  Array out = *call.in[0];
  const auto bound = [&](size_t input, double otherwise) {
    return input < call.in.size() && call.in[input] != nullptr ? call.in[input]->values[0] : otherwise;
  };
  const double low = bound(1, -INFINITY), high = bound(2, INFINITY);
  for (double& value : out.values) value = std::min(std::max(value, low), high);
  return out;
}

Array hard_sigmoid(const Call& call) {
  Array out = *call.in[0];
  const auto alpha = static_cast<double>(call.number("alpha", 0.2f)),
             beta = static_cast<double>(call.number("beta", 0.5f));
  for (double& value : out.values) value = std::min(std::max(alpha * value + beta, 0.0), 1.0);
  return out;
}

Array gelu(const Call& call) {
  const ir::Attribute* form = call.node.find("approximate");
  if (form != nullptr && form->s == "tanh") {
    return map(*call.in[0], [](double x) {
      return 0.5 * x * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    });
  }
  return map(*call.in[0], [](double x) { return 0.5 * x * (1 + std::erf(x * 0.70710678118654752)); });
}

/// Over the last axes from `axis` on; scale and bias have the normalised dims.
Array normalize(const Call& call, bool centers) {
  Array out = *call.in[0];
  const auto epsilon = static_cast<double>(call.number("epsilon", 1e-5f));
  size_t n = 1;
  for (size_t i = axis_of(call, -1, out.dims.size()); i < out.dims.size(); ++i)
    n *= static_cast<size_t>(out.dims[i]);
  for (size_t begin = 0; begin < out.values.size(); begin += n) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; ++i) sum += out.values[begin + i] / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
      double& value = out.values[begin + i];
      if (centers) value -= sum;
      squares += value * value / static_cast<double>(n);
    }
    for (size_t i = 0; i < n; ++i) {
      double& value = out.values[begin + i];
      value = value / std::sqrt(squares + epsilon) * call.in[1]->values[i];
      if (call.in.size() > 2 && call.in[2] != nullptr) value += call.in[2]->values[i];
    }
  }
  return out;
}

const std::map<std::string_view, Array (*)(const Call&)> kOthers = {
    {"BatchNormalization", batch_norm},
    {"Cast", cast},
    {"Clip", clip},
    {"Concat", concat},
    {"ConstantOfShape", constant_of_shape},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"Dropout", [](const Call& call) { return *call.in[0]; }},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Gather", gather},
    {"Gelu", gelu},
    {"Gemm", gemm},
    {"HardSigmoid", hard_sigmoid},
    {"LayerNormalization", [](const Call& call) { return normalize(call, true); }},
    {"RMSNormalization", [](const Call& call) { return normalize(call, false); }},
    {"MatMul", [](const Call& call) { return matmul(*call.in[0], *call.in[1]); }},
    {"MaxPool", max_pool},
    {"Pad", pad},
    {"Range", range},
    {"ReduceMean", [](const Call& call) { return reduce(call, true); }},
    {"ReduceSum", [](const Call& call) { return reduce(call, false); }},
    {"Reshape", reshape},
    {"Shape", [](const Call& call) { return shape_array(*call.in[0]); }},
    {"Size",
     [](const Call& call) {
       return Array{{}, {static_cast<double>(call.in[0]->count())}};
     }},
    {"Slice", slice},
    {"Softmax", softmax},
    {"Squeeze", squeeze},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
    {"Where", where},
};

}  // namespace

bool call_operator(const Call& call, std::vector<Array>* outputs) {
  const std::string& type = call.node.op_type;
  if (call_quantized(call, outputs) || call_attention(call, outputs)) return true;
  if (call.node.is("Split")) {
    *outputs = split(call);
  } else if (const auto unary = kUnary.find(type); unary != kUnary.end()) {
    *outputs = {map(*call.in[0], unary->second)};
  } else if (const auto binary = kBinary.find(type); binary != kBinary.end()) {
    *outputs = {zip(*call.in[0], *call.in[1], binary->second)};
  } else if (const auto other = kOthers.find(type); other != kOthers.end()) {
    *outputs = {other->second(call)};
  } else {
    return false;
  }
  return true;
}

}  // namespace tenon::testing
