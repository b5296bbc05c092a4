#include "islands/builder.h"

#include <algorithm>
#include <cstring>

#include "islands/tasks.h"

namespace tenon::cpu::islands {
namespace {

/// Whether both forms of a tensor are the same bytes.
bool forms_coincide(const Dims& dims) {
  if (dims.size() < 3 || ep::element_count(dims) == 0) return true;
  int64_t plane = 1;
  for (size_t i = 2; i < dims.size(); ++i) plane *= dims[i];
  return dims[1] == 1 || plane == 1;
}

}  // namespace

isa::Chain Steps::at(const Run& run, std::span<Step, isa::kMostSteps> room) const {
  for (size_t i = 0; i < steps.size(); ++i) {
    room[i] = steps[i];
    if (operands[i].buffer != kNone) room[i].other = run.at(operands[i]);
  }
  return {room.data(), static_cast<int>(steps.size())};
}

std::vector<Tensor> Steps::reads(std::initializer_list<Tensor> others) const {
  std::vector<Tensor> out(others);
  for (const Tensor& t : operands) {
    if (t.buffer != kNone) out.push_back(t);
  }
  return out;
}

Builder::Builder(const Program& program, ep::PrepareContext& prepare)
    : program_(program),
      prepare_(prepare),
      dims_(program.values().size()),
      tensors_(program.values().size()),
      done_(program.nodes().size(), false) {
  for (uint32_t v = 0; v < program.values().size(); ++v) {
    const Value& value = program.values()[v];
    if (value.constant == nullptr && value.input < 0) continue;
    const bool constant = value.constant != nullptr;
    const DimsView dims = constant ? program.constant(v).dims() : prepare.input(value.input).dims();
    dims_[v].assign(dims.begin(), dims.end());
    const uint32_t buffer = add_buffer(constant ? Home::kConstant : Home::kInput, value.input, 0);
    if (constant) recipe_.buffers[buffer].constant = static_cast<const float*>(value.constant->data);
    tensors_[v] = stored(buffer, dims_[v], Form::kPlain);
  }
  check_shapes();
}

/// Infers all shapes and checks the contracts of the operators.
void Builder::check_shapes() {
  for (const Node& node : program_.nodes()) {
    try {
      const auto shape_of = [&](int i) -> std::optional<DimsView> {
        const auto at = static_cast<size_t>(i);
        if (at >= node.inputs.size() || node.inputs[at] == kNone) return std::nullopt;
        return DimsView(dims_[node.inputs[at]]);
      };
      const std::string refusal = node.contract.check(static_cast<int>(node.inputs.size()), shape_of);
      require(refusal.empty(), TENON_INVALID_ARGUMENT, refusal);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] == kNone) continue;
        Dims dims = node.operation->shape(*this, node, i);
        require(ep::element_count(dims) < std::numeric_limits<int64_t>::max() / 8, TENON_INVALID_ARGUMENT,
                "output ", i, " would have the shape ", dims, ", which has too many elements");
        dims_[node.outputs[i]] = std::move(dims);
      }
    } catch (ep::Error& e) {
      e.text = cat(node.place, ": ", e.text);
      throw;
    }
  }
}

Recipe Builder::build() {
  for (uint32_t n = 0; n < program_.nodes().size(); ++n) {
    if (done_[n]) continue;
    prepare_.check_cancelled();
    const Node& node = program_.nodes()[n];
    const size_t first_task = recipe_.tasks.size();
    fused_.clear();
    try {
      const bool empty = std::all_of(node.outputs.begin(), node.outputs.end(), [&](uint32_t v) {
        return v == kNone || ep::element_count(dims_[v]) == 0;
      });
      if (empty) {
        for (const uint32_t v : node.outputs) {
          if (v != kNone) create(v, Form::kPlain);
        }
      } else {
        node.operation->build(*this, node);
      }
    } catch (ep::Error& e) {
      e.text = cat(node.place, ": ", e.text);
      throw;
    }
    done_[n] = true;
    std::string name = node.place;
    for (const uint32_t other : fused_) name += cat(", ", program_.nodes()[other].op);
    for (size_t t = first_task; t < recipe_.tasks.size(); ++t) recipe_.tasks[t].name = name;
  }
  finish();
  return std::move(recipe_);
}

uint32_t Builder::add_buffer(Home home, int32_t index, uint64_t bytes) {
  Buffer buffer;
  buffer.home = home;
  buffer.index = index;
  buffer.piece.bytes = bytes;
  recipe_.buffers.push_back(buffer);
  return static_cast<uint32_t>(recipe_.buffers.size() - 1);
}

Tensor Builder::stored(uint32_t buffer, const Dims& dims, Form form) {
  Tensor out{buffer, 0, dims, form, 0};
  out.ld = out.columns();
  return out;
}

Tensor Builder::tensor(uint32_t value) {
  require(tensors_[value].buffer != kNone, TENON_INTERNAL, "'", program_.values()[value].name,
          "' is used before it is computed");
  return tensors_[value];
}

Tensor Builder::tensor(uint32_t value, Form form) { return convert(tensor(value), form); }

Tensor Builder::dense(uint32_t value) { return dense(value, tensor(value).form); }

Tensor Builder::dense(uint32_t value, Form form) {
  const Tensor from = tensor(value, form);
  if (from.is_dense()) return from;
  Tensor out = temporary(from.dims, form);
  add_copy(*this, from, out);
  return out;
}

Tensor Builder::convert(const Tensor& from, Form form) {
  if (from.form == form) return from;
  require(from.dims.size() >= 3 || form == Form::kPlain, TENON_INTERNAL, "a tensor of shape ", from.dims,
          " has no channels");
  if (from.is_dense() && forms_coincide(from.dims)) {
    Tensor out = from;
    out.form = form;
    out.ld = out.columns();
    return out;
  }
  const bool cacheable = from.offset == 0 && from.is_dense();
  if (cacheable) {
    const auto at = converted_.find({from.buffer, form});
    if (at != converted_.end() && at->second.dims == from.dims) return at->second;
  }
  const Tensor out = temporary(from.dims, form);
  add_conversion(*this, from, out);
  if (cacheable) converted_[{from.buffer, form}] = out;
  return out;
}

Form Builder::form_of(const std::vector<uint32_t>& values) {
  int64_t last = 0, plain = 0;
  for (const uint32_t v : values) {
    if (v == kNone) continue;
    const Tensor t = tensor(v);
    if (t.form == Form::kLast) {
      last += t.elements();
    } else if (!is_constant(v) && !forms_coincide(t.dims)) {
      plain += t.elements();
    }
  }
  return last > 0 && last >= plain ? Form::kLast : Form::kPlain;
}

Tensor Builder::temporary(const Dims& dims, Form form) {
  const auto bytes = static_cast<uint64_t>(ep::element_count(dims)) * sizeof(float);
  return stored(add_buffer(Home::kWorkspace, 0, bytes), dims, form);
}

Tensor Builder::create(uint32_t value, Form form) {
  const int32_t output = program_.values()[value].output;
  const Dims& dims = dims_[value];
  Tensor out;
  if (output >= 0 && (form == Form::kPlain || forms_coincide(dims))) {
    out = stored(add_buffer(Home::kOutput, output, 0), dims, form);
  } else {
    out = temporary(dims, form);
  }
  define(value, out);
  return out;
}

void Builder::define(uint32_t value, const Tensor& tensor) { tensors_[value] = tensor; }

void Builder::add(const std::vector<Tensor>& touched, std::function<void(const Run&)> work) {
  const int now = static_cast<int>(recipe_.tasks.size());
  for (const Tensor& t : touched) {
    ep::Piece& piece = recipe_.buffers[t.buffer].piece;
    if (piece.last < piece.first) piece.first = now;
    piece.last = now;
  }
  recipe_.tasks.push_back({std::move(work), {}});
}

std::optional<Step> Builder::step_with(const Step& step, const Dims& result, Form form, uint32_t other,
                                       Tensor* operand) {
  if (tensors_[other].buffer == kNone) return std::nullopt;  // not computed yet
  Dims given = dims_[other];
  if (given.size() > result.size()) return std::nullopt;
  given.insert(given.begin(), result.size() - given.size(), 1);
  Step out = step;
  const int64_t count = ep::element_count(given);
  if (count == 1) {
    *operand = tensor(other, Form::kPlain);
    out.ld = 0, out.scalar = true;
    return out;
  }
  if (given == result) {
    *operand = result.size() == dims_[other].size() ? tensor(other, form) : dense(other, Form::kPlain);
    if (result.size() != dims_[other].size()) {  // leading ones were missing, so the form must be found anew
      if (form == Form::kLast && !forms_coincide(result)) return std::nullopt;
      *operand = stored(operand->buffer, result, form);
    }
    out.ld = operand->ld;
    return out;
  }
  // One element per column, for all rows or for those of one image.
  const size_t axis = form == Form::kLast ? 1 : result.size() - 1;
  int64_t own = 1, rows = 1;
  for (size_t i = 0; i < result.size(); ++i) {
    if (i != axis) rows *= result[i];
    own *= i == axis || (form == Form::kLast && i == 0) ? given[i] : 1;
  }
  if (own == count && given[axis] == result[axis]) {
    *operand = dense(other, Form::kPlain);
    out.ld = 0;
    if (form == Form::kLast && given[0] != 1) out.ld = result[1], out.group = rows / result[0];
    return out;
  }
  // One element per row.
  Dims without = result;
  without[axis] = 1;
  if (given == without) {
    *operand = dense(other, Form::kPlain);
    out.ld = 1, out.scalar = true;
    return out;
  }
  return std::nullopt;
}

Steps Builder::follow(uint32_t value, Form form) {
  Steps out;
  out.value = value;
  while (out.steps.size() < isa::kMostSteps) {
    const Value& v = program_.values()[out.value];
    if (v.output >= 0 || v.consumers.size() != 1 || done_[v.consumers[0]]) break;
    const Node& node = program_.nodes()[v.consumers[0]];
    const auto pointwise = node.operation->pointwise();
    if (!pointwise || dims_[node.outputs[0]] != dims_[value]) break;
    Step step = pointwise->step;
    Tensor operand;
    if (pointwise->binary) {
      const bool first = node.inputs[0] == out.value;
      const uint32_t other = node.inputs[first ? 1 : 0];
      if (!first) step = pointwise->reversed;
      const auto made = step_with(step, dims_[value], form, other, &operand);
      if (!made) break;
      step = *made;
    }
    out.steps.push_back(step);
    out.operands.push_back(operand);
    out.value = node.outputs[0];
    done_[v.consumers[0]] = true;
    fused_.push_back(v.consumers[0]);
  }
  return out;
}

void Builder::finish() {
  const size_t first_task = recipe_.tasks.size();
  for (uint32_t v = 0; v < program_.values().size(); ++v) {
    const Value& value = program_.values()[v];
    if (value.output < 0) continue;
    const auto index = static_cast<size_t>(value.output);
    if (recipe_.output_dims.size() <= index) recipe_.output_dims.resize(index + 1);
    recipe_.output_dims[index] = dims_[v];
    const Tensor made = tensor(v);
    const Buffer& buffer = recipe_.buffers[made.buffer];
    if ((buffer.home == Home::kOutput && buffer.index == value.output) || made.elements() == 0) continue;
    const Tensor out = stored(add_buffer(Home::kOutput, value.output, 0), dims_[v], Form::kPlain);
    if (made.form == Form::kPlain || (made.is_dense() && forms_coincide(made.dims))) {
      add_copy(*this, convert(made, Form::kPlain), out);
    } else {
      add_conversion(*this, made, out);
    }
  }
  for (size_t t = first_task; t < recipe_.tasks.size(); ++t) recipe_.tasks[t].name = "copies to outputs";
  std::vector<ep::Piece*> pieces;
  for (Buffer& buffer : recipe_.buffers) {
    if (buffer.home == Home::kWorkspace && buffer.piece.last >= buffer.piece.first)
      pieces.push_back(&buffer.piece);
  }
  recipe_.workspace_bytes = ep::place_pieces(std::move(pieces));
}

}  // namespace tenon::cpu::islands
