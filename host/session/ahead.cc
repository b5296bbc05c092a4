#include "host/session/ahead.h"

#include <map>

#include "host/device/value.h"

namespace tenon::session {
namespace {

using Dims = std::vector<int64_t>;
using Given = std::map<uint32_t, const std::vector<Dims>*>;  // by input

std::string text_of(const Dims& dims) { return ir::Shape::of(dims).to_string(); }

/// Completes the shape sets of the config and checks them against the model.
class Completer {
 public:
  Completer(const config::Config& config, const IoList& inputs)
      : settings_(config->shapes), inputs_(inputs), place_(config.find("shapes.input")->origin()) {}

  Result<std::vector<ShapeSet>> run() {
    RETURN_IF_ERROR(find_inputs());
    const size_t sets = given_.begin()->second->size();
    if (sets > static_cast<uint64_t>(settings_.keep)) {
      return fail("lists ", sets, " sets of shapes, but shapes.keep = ", settings_.keep,
                  " keeps fewer; set shapes.keep to ", sets, " or more");
    }
    std::vector<ShapeSet> out;
    for (size_t s = 0; s < sets; ++s) {
      ASSIGN_OR_RETURN(std::vector<Dims> shapes, complete(s));
      out.emplace_back(inputs_, std::move(shapes));
      if (Status status = check_symbols(inputs_, out.back().arguments()); !status.ok())
        return fail("does not fit the model: ", status.message());
    }
    return out;
  }

 private:
  template <class... Parts>
  Status fail(const Parts&... parts) const {
    return config_error(place_, ": 'shapes.input' ", parts...);
  }

  Status find_inputs() {
    for (const auto& [name, shapes] : settings_.input) {
      if (name.empty()) {
        if (inputs_.size() == 0) return fail("gives shapes, but the model has no input");
        given_[0] = &shapes;
        continue;
      }
      Result<uint32_t> index = inputs_.find(name);
      if (!index.ok()) return fail("names '", name, "': ", index.error().message());
      given_[*index] = &shapes;
    }
    return ok_status();
  }

  Result<std::vector<Dims>> complete(size_t set) const {
    std::vector<Dims> shapes(inputs_.size());
    std::map<std::string, int64_t> symbols;
    for (const auto& [input, list] : given_) {
      shapes[input] = (*list)[set];
      RETURN_IF_ERROR(check(inputs_[input], shapes[input]));
      for (size_t d = 0; d < shapes[input].size(); ++d) {
        const auto& names = inputs_[input].dim_names;
        if (d < names.size() && !names[d].empty()) symbols.emplace(names[d], shapes[input][d]);
      }
    }
    for (uint32_t i = 0; i < inputs_.size(); ++i) {
      if (given_.count(i) != 0 || !inputs_[i].type.is_tensor()) continue;
      ASSIGN_OR_RETURN(shapes[i], infer(inputs_[i], symbols));
    }
    return shapes;
  }

  Status check(const IoEntry& input, const Dims& shape) const {
    const ir::Type& type = input.type;
    bool fits = type.is_tensor() && (!type.shape.has_rank || input.dims.size() == shape.size());
    for (size_t d = 0; fits && d < input.dims.size(); ++d)
      fits = input.dims[d] == TENON_DIM_UNKNOWN || input.dims[d] == shape[d];
    uint64_t bytes = 0;
    int64_t count = 0;
    fits = fits && runtime::count_elements(shape, &count);
    if (fits && type.element != ir::ElementType::kString)
      fits = runtime::tensor_bytes(static_cast<uint32_t>(type.element), shape, &bytes);
    return fits ? ok_status()
                : fail("gives input '", input.name, "' the shape ", text_of(shape), ", but its type is ",
                       input.type_text);
  }

  /// The shape of an input that the config does not name: the model's fixed dims, and symbols that named inputs share.
  Result<Dims> infer(const IoEntry& input, const std::map<std::string, int64_t>& symbols) const {
    Dims out = input.dims;
    bool known = input.type.shape.has_rank;
    for (size_t d = 0; d < out.size(); ++d) {
      if (out[d] != TENON_DIM_UNKNOWN) continue;
      const auto at = symbols.find(input.dim_names[d]);
      known = known && at != symbols.end();
      if (at != symbols.end()) out[d] = at->second;
    }
    if (known) return out;
    return fail("gives no shape for input '", input.name, "' (", input.type_text,
                "), and its dims cannot be derived from the others; add it");
  }

  const config::Shapes& settings_;
  const IoList& inputs_;
  std::string place_;
  Given given_;
};

}  // namespace

ShapeSet::ShapeSet(const IoList& inputs, std::vector<Dims> shapes)
    : shapes_(std::move(shapes)), arguments_(inputs.size()) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const ir::Type& type = inputs[i].type;
    tenon_tensor& tensor = arguments_[i].tensor;
    tensor.kind = static_cast<uint32_t>(type.kind);
    if (!type.is_tensor()) continue;
    tensor.dtype = static_cast<uint32_t>(type.element);
    tensor.rank = static_cast<uint32_t>(shapes_[i].size());
    tensor.dims = shapes_[i].data();
  }
}

Result<std::vector<ShapeSet>> shapes_ahead(const config::Config& config, const IoList& inputs) {
  if (!config->shapes.input.empty()) return Completer(config, inputs).run();
  std::vector<ShapeSet> out;
  std::vector<Dims> shapes;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const ir::Type& type = inputs[i].type;
    if (!type.is_tensor() || !type.shape.is_static()) return out;  // shapes become known in the first Run
    shapes.push_back(inputs[i].dims);
  }
  out.emplace_back(inputs, std::move(shapes));
  return out;
}

}  // namespace tenon::session
