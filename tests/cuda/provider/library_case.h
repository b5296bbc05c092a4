// Models of one node for NVIDIA's libraries, of any float type, and what plain loops make of them.
#pragma once

#include <cmath>
#include <random>

#include "tenon/ep.hpp"
#include "tests/cuda/provider/cuda_case.h"

namespace tenon::test {

/// A tensor as numbers.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<double> values;
};

inline size_t count_of(const std::vector<int64_t>& dims) {
  size_t out = 1;
  for (const int64_t dim : dims) out *= static_cast<size_t>(dim);
  return out;
}

template <class F>
auto with_type(uint32_t dtype, const F& f) {
  switch (dtype) {
    case TENON_FLOAT64:
      return f(double{});
    case TENON_FLOAT16:
      return f(ep::Float16{});
    case TENON_BFLOAT16:
      return f(ep::BFloat16{});
    default:
      return f(float{});
  }
}

/// Numbers of the type between -1 and 1; the same for the same seed.
inline Numbers drawn(uint32_t dtype, const std::vector<int64_t>& dims, unsigned seed) {
  std::mt19937 random(seed);
  Numbers out{dims, std::vector<double>(count_of(dims))};
  for (double& value : out.values) {
    const float number = std::uniform_real_distribution<float>(-1, 1)(random);
    value = with_type(dtype, [&](auto one) {
      return static_cast<double>(static_cast<float>(static_cast<decltype(one)>(number)));
    });
  }
  return out;
}

inline ValueRef value_of(uint32_t dtype, const Numbers& numbers) {
  return with_type(dtype, [&](auto one) {
    using T = decltype(one);
    std::vector<T> values;
    for (const double value : numbers.values) {
      if constexpr (std::is_same_v<T, double>) {
        values.push_back(value);
      } else {
        values.push_back(static_cast<T>(static_cast<float>(value)));
      }
    }
    return tensor(dtype, numbers.dims, values.data());
  });
}

inline Numbers numbers_of(const ValueRef& value) {
  Numbers out{dims(value), {}};
  with_type(value->tensor.dtype, [&](auto one) {
    using T = decltype(one);
    for (const T& element : elements<T>(value)) {
      if constexpr (std::is_same_v<T, double>) {
        out.values.push_back(element);
      } else {
        out.values.push_back(static_cast<float>(element));
      }
    }
    return 0;
  });
  return out;
}

/// How far a result may be from the sum of `depth` products.
inline double tolerance_of(uint32_t dtype, int64_t depth) {
  const double unit = dtype == TENON_FLOAT64    ? 1e-15
                      : dtype == TENON_FLOAT16  ? 1e-3
                      : dtype == TENON_BFLOAT16 ? 8e-3
                                                : 2e-7;
  return unit * std::sqrt(static_cast<double>(std::max<int64_t>(depth, 1))) * 2;
}

/// The greatest difference, relative to numbers above 1. Not a number if one of them is none and the other is.
inline double distance(const Numbers& got, const Numbers& wanted) {
  double out = 0;
  for (size_t i = 0; i < wanted.values.size(); ++i) {
    const double a = got.values[i], b = wanted.values[i];
    if (std::isnan(a) != std::isnan(b)) return NAN;
    if (!std::isnan(a) && a != b) out = std::max(out, std::abs(a - b) / std::max(1.0, std::abs(b)));
  }
  return out;
}

/// Of the inputs of a NodeModel. Sessions keep no copies of names.
inline constexpr const char* kInputNames[] = {"x0", "x1", "x2", "x3"};

/// A model of a node whose inputs are all fed, and what is fed.
struct NodeModel {
  uint32_t dtype = TENON_FLOAT32;
  std::vector<Numbers> inputs;
  std::string op;
  std::vector<ir::Attribute> attributes;
  /// Adds the nodes behind it; may be null.
  std::function<GraphMaker::Id(GraphMaker&, GraphMaker::Id)> more = nullptr;
  int64_t opset = 21;

  std::string bytes() const {
    GraphMaker m;
    std::vector<GraphMaker::Id> ids;
    for (size_t i = 0; i < inputs.size(); ++i)
      ids.push_back(m.input(kInputNames[i], GraphMaker::type(static_cast<ir::ElementType>(dtype),
                                                             std::vector<ir::Dim>(inputs[i].dims.begin(),
                                                                                  inputs[i].dims.end()))));
    GraphMaker::Id y = m.node(op, ids, attributes);
    if (more) y = more(m, y);
    m.output(y, "y");
    return m.bytes(opset);
  }
  std::vector<session::NamedValue> values() const {
    std::vector<session::NamedValue> out;
    for (size_t i = 0; i < inputs.size(); ++i) out.push_back({kInputNames[i], value_of(dtype, inputs[i])});
    return out;
  }
};

/// Runs the model on cuda with these options of the provider: twice, with the same result.
inline Numbers run_on_cuda(const NodeModel& model, const std::vector<std::string>& options,
                           const std::vector<std::string>& settings = {}) {
  config::Config config = cuda_config({"cuda"}, options);
  for (const std::string& setting : settings) EXPECT_TRUE(assign(config, setting).ok()) << setting;
  const auto session = make_session(model.bytes(), config);
  if (session == nullptr) return {};
  const Numbers first = numbers_of(run(*session, model.values())[0]);
  const Numbers second = numbers_of(run(*session, model.values())[0]);
  EXPECT_EQ(distance(second, first), 0);
  return first;
}

}  // namespace tenon::test
