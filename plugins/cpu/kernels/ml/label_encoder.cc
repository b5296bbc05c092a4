#include "kernels/common/lookup.h"
#include "kernels/common/movement.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {
namespace {

constexpr TypeList<int64_t, float, int32_t, int16_t, double> kNumbers;

/// Strings or numbers from one of the attributes "<name>_strings", "_int64s", "_floats", "_tensor".
struct LabelList {
  std::vector<std::string> strings;
  std::vector<int64_t> ints;
  std::vector<double> floats;

  LabelList() = default;
  LabelList(const NodeView& n, const std::string& name)
      : strings(n.attr_strings(name + "_strings")), ints(n.attr_ints(name + "_int64s")) {
    const std::vector<float> given = n.attr_floats(name + "_floats");
    floats.assign(given.begin(), given.end());
    add_tensor(n.attr_tensor(name + "_tensor"));
  }
  void add_tensor(TensorView tensor) {
    if (!tensor.present()) return;
    for (int64_t i = 0, size = tensor.size(); i < size; ++i) {
      if (tensor.dtype() == TENON_STRING) {
        strings.emplace_back(tensor.string(i));
        continue;
      }
      dispatch(kNumbers, tensor.dtype(), [&]<class T>() {
        if constexpr (std::is_floating_point_v<T>)
          floats.push_back(static_cast<double>(tensor.data<T>()[i]));
        else
          ints.push_back(static_cast<int64_t>(tensor.data<T>()[i]));
      });
    }
  }
  int kinds() const { return !strings.empty() + !ints.empty() + !floats.empty(); }
  size_t size() const { return std::max({strings.size(), ints.size(), floats.size()}); }
  template <class T>
  T number(size_t i) const {
    return ints.empty() ? static_cast<T>(floats[i]) : static_cast<T>(ints[i]);
  }
};

/// What all versions share: finds the key and gives its value.
class LabelMap {
 public:
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const std::span<int64_t> places = scratch_list<int64_t>(ctx, x.size());
    if (x.dtype() == TENON_STRING) {
      for (size_t i = 0; i < places.size(); ++i)
        places[i] = by_string_.find(x.string(static_cast<int64_t>(i)));
    } else {
      dispatch(kNumbers, x.dtype(), [&]<class T>() {
        for (size_t i = 0; i < places.size(); ++i) places[i] = by_number_.find(x.data<T>()[i]);
      });
    }
    write(ctx, places);
  }

 protected:
  /// `values` has one value per key, and then the default.
  void build(const LabelList& keys, LabelList values) {
    require(keys.size() + 1 == values.size(), TENON_INVALID_ARGUMENT, keys.size(), " keys and ",
            values.size() - 1, " values");
    by_string_ = StringIndex(keys.strings);
    by_number_ = keys.ints.empty() ? NumberIndex(std::span<const double>(keys.floats))
                                   : NumberIndex(std::span<const int64_t>(keys.ints));
    values_ = std::move(values);
  }

 private:
  size_t value_at(int64_t place) const { return place < 0 ? values_.size() - 1 : static_cast<size_t>(place); }
  void write(const Context& ctx, std::span<const int64_t> places) const {
    if (!values_.strings.empty()) {
      StringBuilder out;
      for (const int64_t place : places) out.add(values_.strings[value_at(place)]);
      return ctx.set_strings(0, ctx.input(0).dims(), out);
    }
    dispatch(kNumbers, ctx.output(0).dtype(), [&]<class T>() {
      T* out = ctx.output(0).data<T>();
      for (const int64_t place : places) *out++ = values_.number<T>(value_at(place));
    });
  }

  StringIndex by_string_;
  NumberIndex by_number_;
  LabelList values_;
};

class LabelEncoder : public LabelMap {
 public:
  explicit LabelEncoder(const NodeView& n) {
    const LabelList keys(n, "keys");
    LabelList values(n, "values");
    for (const LabelList* list : {&keys, static_cast<const LabelList*>(&values)})
      require(list->kinds() == 1, TENON_INVALID_ARGUMENT,
              "there must be one list of keys and one list of values");
    require(keys.size() > 0 && keys.size() == values.size(), TENON_INVALID_ARGUMENT, keys.size(),
            " keys and ", values.size(), " values");
    const bool by_string = n.input(0).dtype() == TENON_STRING;
    require(by_string == !keys.strings.empty(), TENON_INVALID_ARGUMENT, "the keys are ",
            by_string ? "numbers, but the input has strings" : "strings, but the input has numbers");
    const TensorView otherwise = n.attr_tensor("default_tensor");
    require(!otherwise.present() || otherwise.size() == 1, TENON_INVALID_ARGUMENT, "default_tensor has ",
            otherwise.size(), " elements");
    if (otherwise.present())
      values.add_tensor(otherwise);
    else if (!values.strings.empty())
      values.strings.push_back(n.attr_s("default_string", "_Unused"));
    else if (!values.ints.empty())
      values.ints.push_back(n.attr_i("default_int64", -1));
    else
      values.floats.push_back(static_cast<double>(n.attr_f("default_float", -0.0f)));
    build(keys, std::move(values));
  }
};

// LabelEncoder-1 maps strings to their index in the list of classes, or back.
class LabelEncoder1 : public LabelMap {
 public:
  explicit LabelEncoder1(const NodeView& n) {
    LabelList names, numbers;
    names.strings = n.attr_strings("classes_strings");
    for (size_t i = 0; i < names.strings.size(); ++i) numbers.ints.push_back(static_cast<int64_t>(i));
    if (n.input(0).dtype() == TENON_STRING) {
      numbers.ints.push_back(n.attr_i("default_int64", -1));
      build(names, std::move(numbers));
    } else {
      names.strings.push_back(n.attr_s("default_string", "_Unused"));
      build(numbers, std::move(names));
    }
  }
};

TENON_KERNEL(LabelEncoder1, .domain = "ai.onnx.ml", .op_type = "LabelEncoder", .since = 1, .until = 1,
             .contract = "X: any")
TENON_KERNEL(LabelEncoder, .domain = "ai.onnx.ml", .op_type = "LabelEncoder", .since = 2,
             .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
