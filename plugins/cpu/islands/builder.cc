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

Element element_of(const Value& value) {
  if (value.dtype == TENON_UINT8) return Element::kByte;
  return value.dtype == TENON_INT8 ? Element::kSigned : Element::kFloat;
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
    const bool constant = value.is_constant;
    if (!constant && value.input < 0) continue;
    const DimsView dims = constant ? DimsView(program.constant_dims(v)) : prepare.input(value.input).dims();
    dims_[v].assign(dims.begin(), dims.end());
    const uint32_t buffer = add_buffer(constant ? Home::kConstant : Home::kInput, value.input, 0);
    if (value.constant != nullptr) recipe_.buffers[buffer].constant = value.constant->data;
    tensors_[v] = stored(buffer, dims_[v], Form::kPlain, element_of(value));
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
      e.where = node.place;
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
      e.where = node.place;
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

Tensor Builder::stored(uint32_t buffer, const Dims& dims, Form form, Element element) {
  Tensor out;
  out.buffer = buffer, out.dims = dims, out.form = form, out.element = element;
  out.ld = out.columns();
  return out;
}

bool Builder::is_dequantised(uint32_t value) const {
  return tensors_[value].buffer == kNone && dequantised_.count(value) != 0;
}
bool Builder::is_computed(uint32_t value) const {
  return tensors_[value].buffer != kNone || is_dequantised(value);
}

/// Whether the value is what computed bytes stand for. Its node may not have been built yet.
bool Builder::dequantise(uint32_t value) {
  const uint32_t n = program_.values()[value].producer;
  if (is_computed(value) || n == kNone) return is_dequantised(value);
  const Node& node = program_.nodes()[n];
  if (!node.operation->dequantises() || !is_computed(node.inputs[0])) return false;
  node.operation->build(*this, node);
  done_[n] = true;
  return true;
}

Tensor Builder::tensor(uint32_t value) {
  require(is_computed(value), TENON_INTERNAL, "'", program_.values()[value].name,
          "' is used before it is computed");
  if (is_dequantised(value)) {
    const Tensor bytes = dequantised_.at(value);
    add_steps(*this, bytes, create(value, bytes.form), Steps{});
  }
  return convert(tensors_[value], tensors_[value].form);
}

Tensor Builder::tensor(uint32_t value, Form form) {
  return is_dequantised(value) ? convert(tensor(value), form) : convert(tensors_[value], form);
}

Tensor Builder::readable(uint32_t value, Form form) {
  if (!is_dequantised(value)) return tensor(value, form);
  const Tensor& bytes = dequantised_.at(value);
  Tensor out = convert(bytes, form);
  out.scaling = bytes.scaling;
  return out;
}

Tensor Builder::padded(const Tensor& bytes) {
  if (recipe_.buffers[bytes.buffer].home == Home::kWorkspace) return bytes;
  Tensor out = temporary(bytes.dims, bytes.form, bytes.element);
  add_copy(*this, bytes, out);
  return out;
}

Tensor Builder::dense(uint32_t value) { return dense(value, tensor(value).form); }

Tensor Builder::dense(uint32_t value, Form form) {
  Tensor from = tensor(value, form);
  if (from.is_dense()) return from;
  Tensor out = temporary(from.dims, form, from.element);
  add_copy(*this, from, out);
  return out;
}

Tensor Builder::convert(const Tensor& from, Form form) {
  const bool is_signed = from.element == Element::kSigned;
  if (from.form == form && !is_signed) return from;
  require(from.dims.size() >= 3 || form == Form::kPlain, TENON_INTERNAL, "a tensor of shape ", from.dims,
          " has no channels");
  const bool same_order = from.form == form || (from.is_dense() && forms_coincide(from.dims));
  Tensor renamed = from;
  if (same_order && from.form != form) {
    renamed.form = form;
    renamed.ld = renamed.columns();
  }
  if (same_order && !is_signed) return renamed;
  const bool cacheable = from.offset == 0 && from.is_dense();
  if (cacheable) {
    const auto at = converted_.find({from.buffer, form});
    if (at != converted_.end() && at->second.dims == from.dims) return at->second;
  }
  Tensor out = temporary(from.dims, form, is_signed ? Element::kByte : from.element);
  if (same_order) {
    add_copy(*this, renamed, out);
  } else {
    add_conversion(*this, from, out);
  }
  if (cacheable) converted_[{from.buffer, form}] = out;
  return out;
}

Form Builder::form_of(const std::vector<uint32_t>& values) {
  int64_t last = 0, plain = 0;
  for (const uint32_t v : values) {
    if (v == kNone) continue;
    require(is_computed(v), TENON_INTERNAL, "'", program_.values()[v].name,
            "' is used before it is computed");
    const Tensor& t = is_dequantised(v) ? dequantised_.at(v) : tensors_[v];
    if (t.form == Form::kLast) {
      last += t.elements();
    } else if (!is_constant(v) && !forms_coincide(t.dims)) {
      plain += t.elements();
    }
  }
  return last > 0 && last >= plain ? Form::kLast : Form::kPlain;
}

Tensor Builder::temporary(const Dims& dims, Form form, Element element) {
  const auto count = static_cast<uint64_t>(ep::element_count(dims));
  const uint64_t bytes = element == Element::kFloat ? count * sizeof(float) : count + kSlack;
  return stored(add_buffer(Home::kWorkspace, 0, bytes), dims, form, element);
}

Tensor Builder::create(uint32_t value, Form form) {
  const int32_t output = program_.values()[value].output;
  const Element element = element_of(program_.values()[value]);
  const Dims& dims = dims_[value];
  Tensor out;
  if (output >= 0 && element != Element::kSigned && (form == Form::kPlain || forms_coincide(dims))) {
    out = stored(add_buffer(Home::kOutput, output, 0), dims, form, element);
  } else {
    out = temporary(dims, form, element == Element::kSigned ? Element::kByte : element);
  }
  define(value, out);
  return out;
}

void Builder::define(uint32_t value, const Tensor& tensor) { tensors_[value] = tensor; }

void Builder::define_dequantised(uint32_t value, const Tensor& bytes) { dequantised_[value] = bytes; }

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
  if (!is_computed(other)) return std::nullopt;
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
    *operand = result.size() == dims_[other].size() ? readable(other, form) : dense(other, Form::kPlain);
    if (result.size() != dims_[other].size()) {  // leading ones were missing, so the form must be found anew
      if (form == Form::kLast && !forms_coincide(result)) return std::nullopt;
      *operand = stored(operand->buffer, result, form, operand->element);
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

Steps Builder::follow(uint32_t value, Form form) { return follow(value, form, false); }
Steps Builder::follow_elementwise(uint32_t value, Form form) { return follow(value, form, true); }

uint32_t Builder::take_in(uint32_t node) {
  done_[node] = true;
  fused_.push_back(node);
  return program_.nodes()[node].outputs[0];
}

uint32_t Builder::only_consumer(uint32_t value) const {
  const Value& v = program_.values()[value];
  const bool one = v.output < 0 && v.consumers.size() == 1 && !done_[v.consumers[0]];
  return one ? v.consumers[0] : kNone;
}

Steps Builder::follow(uint32_t value, Form form, bool elementwise) {
  Steps out;
  out.value = value;
  while (true) {
    const uint32_t next = only_consumer(out.value);
    if (next == kNone) break;
    const Node& node = program_.nodes()[next];
    if (const auto scaling = node.operation->quantises(); scaling && elementwise) {
      out.scaling = *scaling;
      out.value = take_in(next);
      break;
    }
    const auto pointwise = node.operation->pointwise();
    if (out.steps.size() == isa::kMostSteps || !pointwise || dims_[node.outputs[0]] != dims_[value]) break;
    Step step = pointwise->step;
    Tensor operand;
    if (pointwise->binary) {
      const bool first = node.inputs[0] == out.value;
      const uint32_t other = node.inputs[first ? 1 : 0];
      if (!first) step = pointwise->reversed;
      if (!elementwise && is_computed(other)) tensor(other);  // as floats
      const auto made = step_with(step, dims_[value], form, other, &operand);
      if (!made) break;
      step = *made;
    }
    out.steps.push_back(step);
    out.operands.push_back(operand);
    out.value = take_in(next);
  }
  return out;
}

std::optional<ByteSum> Builder::follow_sum(uint32_t value, Form form) {
  ByteSum out;
  const auto operation = [&](uint32_t n) -> const Operation& { return *program_.nodes()[n].operation; };
  const uint32_t reader = only_consumer(value);
  if (reader == kNone || !operation(reader).dequantises()) return std::nullopt;
  out.own = *operation(reader).dequantises();
  const uint32_t floats = program_.nodes()[reader].outputs[0], add = only_consumer(floats);
  const auto pointwise = add == kNone ? std::nullopt : operation(add).pointwise();
  if (!pointwise || !pointwise->binary || pointwise->step.kind != Step::Kind::kAdd) return std::nullopt;
  const Node& sum = program_.nodes()[add];
  const uint32_t other = sum.inputs[sum.inputs[0] == floats ? 1 : 0];
  if (other == floats || dims_[other] != dims_[value] || !dequantise(other)) return std::nullopt;
  uint32_t last = only_consumer(sum.outputs[0]), relu = kNone;
  if (last != kNone) {
    const auto clamp = operation(last).pointwise();
    if (clamp && is_relu(clamp->step)) {
      relu = last;
      last = only_consumer(program_.nodes()[relu].outputs[0]);
    }
  }
  if (last == kNone || !operation(last).quantises()) return std::nullopt;
  out.result = *operation(last).quantises();
  out.relu = relu != kNone;
  out.other = readable(other, form);
  for (const uint32_t node : {reader, add, relu, last}) {
    if (node != kNone) out.value = take_in(node);
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
    const Tensor out =
        stored(add_buffer(Home::kOutput, value.output, 0), dims_[v], Form::kPlain, element_of(value));
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
