#include <charconv>
#include <cmath>
#include <numeric>

#include "kernels/ml/maps.h"

namespace tenon::cpu {
namespace {

std::string number_text(float x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), x).ptr};
}

float number_from(std::string_view text) {
  float out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  require(error == std::errc() && end == text.data() + text.size(), TENON_INVALID_ARGUMENT, "'", text,
          "' is not a number");
  return out;
}

// The values of a map from integers, as one row: sorted by key (DENSE), or each at index key (SPARSE).
class CastMap {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .attr_is("map_form", {"DENSE", "SPARSE"})
        .attr_is("cast_to", {"TO_FLOAT", "TO_STRING", "TO_INT64"});
  }
  explicit CastMap(const NodeView& n)
      : sparse_(n.attr_s("map_form", "DENSE") == "SPARSE"), size_(n.attr_i("max_map", 1)) {
    const std::string to = n.attr_s("cast_to", "TO_FLOAT");
    dtype_ = to == "TO_FLOAT" ? TENON_FLOAT32 : to == "TO_INT64" ? TENON_INT64 : TENON_STRING;
  }

  void prepare(PrepareContext& p) const {
    if (!sparse_) return p.set_at_run(0);
    constexpr int64_t kMost = int64_t{1} << 40;
    require(size_ < kMost, TENON_RESOURCE_EXHAUSTED, "max_map is ", size_);
    p.set_output(0, Dims{1, size_});
    p.require_memory(static_cast<uint64_t>(size_) * sizeof(int64_t), "the indices of the entries");
  }

  void run(const Context& ctx) const {
    const MapEntries map(ctx.input_value(0));
    const std::vector<int64_t> entries = place_entries(map);
    const Dims dims{1, static_cast<int64_t>(entries.size())};
    if (dtype_ == TENON_STRING) {
      StringBuilder out;
      for (const int64_t entry : entries) out.add(entry < 0 ? std::string() : text(map, entry));
      return ctx.set_strings(0, dims, out);
    }
    const OutputTensor out = sparse_ ? ctx.output(0) : ctx.alloc_output(0, dims);
    for (size_t i = 0; i < entries.size(); ++i) {
      const float x = entries[i] < 0 ? 0 : number(map, entries[i]);
      if (dtype_ == TENON_FLOAT32)
        out.data<float>()[i] = x;
      else
        out.data<int64_t>()[i] = whole(x);
    }
  }

 private:
  /// The map entry for each element of the output; -1: none.
  std::vector<int64_t> place_entries(const MapEntries& map) const {
    require(map.size() == 0 || map.keys().dtype() == TENON_INT64, TENON_INVALID_ARGUMENT,
            "the map's keys must be int64");
    require(map.size() == 0 || map.value_dtype() == TENON_STRING || map.value_dtype() == TENON_FLOAT32,
            TENON_INVALID_ARGUMENT, "the map's values must be strings or float32, not ",
            dtype_name(map.value_dtype()));
    const int64_t* keys = map.keys().data<int64_t>();
    if (sparse_) {
      std::vector<int64_t> out(static_cast<size_t>(size_), -1);
      for (int64_t i = 0; i < map.size(); ++i) {
        require(keys[i] >= 0 && keys[i] < size_, TENON_OUT_OF_RANGE, "key ", keys[i], " is outside [0, ",
                size_, ")");
        out[static_cast<size_t>(keys[i])] = i;
      }
      return out;
    }
    std::vector<int64_t> out(static_cast<size_t>(map.size()));
    std::iota(out.begin(), out.end(), int64_t{0});
    std::sort(out.begin(), out.end(), [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
    return out;
  }
  static std::string text(const MapEntries& map, int64_t i) {
    if (map.value_dtype() == TENON_STRING) return std::string(map.string_value(i));
    return number_text(map.value<float>(i));
  }
  static int64_t whole(float x) {
    require(std::fabs(x) < 9.2e18f, TENON_OUT_OF_RANGE, x, " does not fit into int64");
    return static_cast<int64_t>(x);
  }
  static float number(const MapEntries& map, int64_t i) {
    return map.value_dtype() == TENON_STRING ? number_from(map.string_value(i)) : map.value<float>(i);
  }

  bool sparse_;
  int64_t size_;
  uint32_t dtype_;
};
TENON_KERNEL(CastMap, .domain = "ai.onnx.ml", .op_type = "CastMap", .contract = "M: any")

}  // namespace
}  // namespace tenon::cpu
