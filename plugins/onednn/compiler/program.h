// A compiled claim: its nodes as operations, its constants, and the code that makes recipes for given shapes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "compiler/recipe.h"
#include "device.h"

namespace tenon::onednn {

struct Value {
  std::string name;
  uint32_t dtype = TENON_UNDEFINED;
  Dims dims;  // TENON_DIM_UNKNOWN where not known at compile time
  bool ranked = false;
  const tenon_tensor* constant = nullptr;
  std::string id;  // names the content of a constant that is packed; empty: unknown, so it is not shared
  uint32_t view = kNone;  // its index in the host's graph view
  uint32_t input = kNone, output = kNone;
  std::vector<uint32_t> consumers;  // nodes, one entry per use
};

class Program {
 public:
  Program(const Instance& instance, const tenon_compile_args& args);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::unique_ptr<Prepared> prepare(tenon_prepare_args& args) const;

  /// Magnitudes of a constant's elements; unbounded with NaN or infinities. Thread-safe.
  struct Magnitudes {
    double greatest = 0;
    double row = 0;  // the greatest sum over one index of the first axis
  };
  Magnitudes magnitudes(uint32_t value) const;

  /// The constant `value` in `layout`, made once. Thread-safe.
  std::shared_ptr<const Packed> packed(uint32_t value, const Layout& from, const Layout& layout) const;

  const Instance& instance() const { return instance_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  uint32_t number_of(const ep::GraphView& graph, uint32_t view_value);
  void add_node(const ep::GraphView& graph, uint32_t index);
  void prepare_static(const ep::GraphView& graph);
  void consume_constants(const ep::GraphView& graph);
  /// Per value; nullopt if not known.
  using KnownDims = std::vector<std::optional<Dims>>;
  KnownDims dims_for(const tenon_prepare_args& args) const;
  uint32_t threads() const;
  std::shared_ptr<const Recipe> make_recipe(const KnownDims& dims, uint32_t threads, bool checked) const;
  bool may_consume(uint32_t value) const;

  const Instance& instance_;
  ep::ConstantStore store_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::map<uint32_t, uint32_t> numbers_;  // by index in the host's view
  std::shared_ptr<const Recipe> static_recipe_;
  struct PackedForm {
    Layout layout;
    std::shared_ptr<const Packed> packed;
  };
  mutable std::mutex mutex_;  // guards all members below
  mutable std::map<std::pair<uint32_t, std::string>, std::vector<PackedForm>>
      packed_;  // by value and its layout
  mutable std::map<uint32_t, Magnitudes> magnitudes_;
  std::vector<bool> consumed_;  // per value: the host may have freed its data; only packed forms remain
};

}  // namespace tenon::onednn
