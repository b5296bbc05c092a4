#include "kernels/common/lookup.h"
#include "kernels/ml/maps.h"

namespace tenon::cpu {
namespace {

// The values of a map in the order of a vocabulary: [1, size of the vocabulary], zero where the map has no
// entry.
class DictVectorizer {
 public:
  static constexpr TypeList<int64_t, float, double> kNumbers{};

  explicit DictVectorizer(const NodeView& n) {
    const std::vector<std::string> strings = n.attr_strings("string_vocabulary");
    const std::vector<int64_t> ints = n.attr_ints("int64_vocabulary");
    require(strings.empty() != ints.empty(), TENON_INVALID_ARGUMENT,
            "give either string_vocabulary or int64_vocabulary");
    size_ = static_cast<int64_t>(std::max(strings.size(), ints.size()));
    by_string_ = !strings.empty();
    strings_ = StringIndex(strings);
    ints_ = NumberIndex(std::span<const int64_t>(ints));
  }

  void prepare(PrepareContext& p) const { p.set_output(0, Dims{1, size_}); }

  void run(const Context& ctx) const {
    const MapEntries map(ctx.input_value(0));
    const std::vector<int64_t> entries = find_entries(map);
    if (map.value_dtype() == TENON_STRING) {
      StringBuilder out;
      for (const int64_t entry : entries) out.add(entry < 0 ? std::string_view() : map.string_value(entry));
      return ctx.set_strings(0, Dims{1, size_}, out);
    }
    const OutputTensor out = ctx.output(0);
    require(map.size() == 0 || map.value_dtype() == out.dtype(), TENON_INVALID_ARGUMENT,
            "the map's values are of type ", dtype_name(map.value_dtype()), ", not ",
            dtype_name(out.dtype()));
    dispatch(kNumbers, out.dtype(), [&]<class T>() {
      for (size_t i = 0; i < entries.size(); ++i)
        out.data<T>()[i] = entries[i] < 0 ? T(0) : map.value<T>(entries[i]);
    });
  }

 private:
  /// The map entry for each word of the vocabulary; -1: none.
  std::vector<int64_t> find_entries(const MapEntries& map) const {
    std::vector<int64_t> entries(static_cast<size_t>(size_), -1);
    const TensorView keys = map.keys();
    require(map.size() == 0 || keys.dtype() == (by_string_ ? TENON_STRING : TENON_INT64),
            TENON_INVALID_ARGUMENT, "the map's keys are of another type than the vocabulary");
    for (int64_t i = 0; i < map.size(); ++i) {
      const int64_t at = by_string_ ? strings_.find(keys.string(i)) : ints_.find(keys.data<int64_t>()[i]);
      if (at >= 0) entries[static_cast<size_t>(at)] = i;
    }
    return entries;
  }

  StringIndex strings_;
  NumberIndex ints_;
  int64_t size_ = 0;
  bool by_string_ = false;
};
TENON_KERNEL(DictVectorizer, .domain = "ai.onnx.ml", .op_type = "DictVectorizer", .contract = "M: any")

}  // namespace
}  // namespace tenon::cpu
