#include "compiler/builder.h"

#include <algorithm>
#include <cstring>

#include "openmp/parallel.h"
#include "openmp/threads.h"

namespace tenon::onednn {
namespace {

constexpr int64_t kCopyGrain = 1 << 18;  // bytes
/// The end of the name of a slow task in traces.
constexpr std::string_view kByReferenceCode = ", by oneDNN's reference code";

Type type_of(uint32_t dtype) {
  switch (dtype) {
    case TENON_FLOAT32:
      return Type::kFloat32;
    case TENON_BFLOAT16:
      return Type::kBFloat16;
    case TENON_INT32:
      return Type::kInt32;
    case TENON_INT64:
      return Type::kInt64;
    case TENON_INT8:
      return Type::kInt8;
    case TENON_BOOL:
    case TENON_UINT8:
      return Type::kUInt8;
    default:
      fail(TENON_UNIMPLEMENTED, "element type number ", dtype, " is not supported by oneDNN");
  }
}

}  // namespace

Builder::Builder(const Program& program, const std::vector<const Dims*>& dims, uint32_t threads, bool checked)
    : program_(program),
      dims_(dims),
      recipe_(std::make_shared<Recipe>()),
      tensors_(program.values().size()),
      done_(program.nodes().size(), false),
      checked_(checked && !program.instance().relaxed),
      makers_(program.values().size(), kNone),
      bounds_(program.values().size(), kUnbounded) {
  recipe_->threads = threads;
  set_team_size(threads);
  check_sizes();
  for (const Node& node : program.nodes()) check_shapes(node);
  for (uint32_t v = 0; v < program.values().size(); ++v) {
    const Value& value = program.values()[v];
    if (value.constant == nullptr && value.input == kNone) continue;
    const bool constant = value.constant != nullptr;
    const uint32_t buffer = add_buffer(constant ? Home::kConstant : Home::kInput, value.input, 0);
    if (constant) {
      recipe_->buffers[buffer].constant = value.constant->data;
      constant_of_[buffer] = v;
    }
    buffer_values_[buffer].push_back(v);
    tensors_[v].buffer = buffer;  // its layout is made on demand: some inputs have none
  }
  for (uint32_t n = 0; n < program.nodes().size(); ++n) {
    const Node& node = program.nodes()[n];
    for (const uint32_t v : node.outputs) {
      if (v != kNone) makers_[v] = n;
    }
    blocked_ = blocked_ || node.operation->likes_blocks(*this, node);
  }
}

std::shared_ptr<const Recipe> Builder::build() {
  for (uint32_t n = 0; n < program_.nodes().size(); ++n) {
    const Node& node = program_.nodes()[n];
    if (done_[n]) continue;
    const size_t first_task = recipe_->tasks.size();
    fused_.clear();
    try {
      learn(n);
      const bool empty = std::all_of(node.outputs.begin(), node.outputs.end(), [&](uint32_t v) {
        return v == kNone || ep::element_count(dims(v)) == 0;
      });
      if (empty && !node.operation->checks_inputs()) {
        for (const uint32_t v : node.outputs) {
          if (v != kNone) define(v, temporary(Layout::plain(type(v), dims(v))));
        }
      } else {
        node.operation->build(*this, node);
      }
    } catch (ep::Error& e) {
      e.where = node.place;
      throw;
    }
    done_[n] = true;
    name_tasks(first_task, n);
  }
  const size_t first_task = recipe_->tasks.size();
  finish();
  for (size_t t = first_task; t < recipe_->tasks.size(); ++t) recipe_->tasks[t].name = "copies to outputs";
  return recipe_;
}

void Builder::name_tasks(size_t first_task, uint32_t node) {
  std::string name = program_.nodes()[node].place;
  for (const uint32_t n : fused_) name += cat(", ", program_.nodes()[n].op);
  for (size_t t = first_task; t < recipe_->tasks.size(); ++t) {
    Task& task = recipe_->tasks[t];
    const bool is_slow = task.primitive && task.primitive.is_reference();
    task.name = is_slow ? cat(name, kByReferenceCode) : name;
  }
}

const Dims& Builder::dims(uint32_t value) const {
  require(dims_[value] != nullptr, TENON_UNIMPLEMENTED, "the shape of '", program_.values()[value].name,
          "' is not known before the run");
  return *dims_[value];
}

Type Builder::type(uint32_t value) const { return type_of(program_.values()[value].dtype); }

uint32_t Builder::add_buffer(Home home, uint32_t index, uint64_t bytes) {
  Buffer buffer;
  buffer.home = home;
  buffer.index = index;
  buffer.piece.bytes = bytes;
  recipe_->buffers.push_back(buffer);
  buffer_values_.emplace_back();
  dead_values_.push_back(0);
  constant_of_.push_back(kNone);
  versions_.push_back(0);
  return static_cast<uint32_t>(recipe_->buffers.size() - 1);
}

void Builder::touch(uint32_t buffer) {
  if (recipe_->buffers[buffer].home == Home::kInside) buffer = recipe_->buffers[buffer].whole;
  ep::Piece& piece = recipe_->buffers[buffer].piece;
  const int now = static_cast<int>(recipe_->tasks.size());
  if (piece.last < piece.first) piece.first = now;
  piece.last = now;
}

Tensor Builder::tensor(uint32_t value) {
  const Tensor out = kept(value);
  return out.layout.type() == type(value) ? out : as(out, out.layout.with_type(type(value)));
}

Tensor Builder::kept(uint32_t value) {
  Tensor& out = tensors_[value];
  require(out.buffer != kNone, TENON_INTERNAL, "'", program_.values()[value].name,
          "' is used before it is computed");
  if (!out.layout) out.layout = Layout::plain(type(value), dims(value));
  return out;
}

Tensor Builder::plain(uint32_t value) {
  const Tensor t = tensor(value);
  return as(t, Layout::plain(t.layout.type(), t.layout.dims()));
}

Tensor Builder::compact(const Tensor& t) {
  return t.layout.has_gaps() ? as(t, Layout::plain(t.layout.type(), t.layout.dims())) : t;
}

Primitive Builder::suit(const Tensor& given, const std::function<Primitive(const Layout&)>& make,
                        Tensor* out) {
  *out = compact(given);
  if (out->layout.is_plain()) return make(out->layout);
  try {
    Primitive primitive = make(out->layout);
    if (!primitive.is_reference()) return primitive;
  } catch (const ep::Error& e) {
    if (e.code != TENON_UNIMPLEMENTED) throw;
  }
  const Layout wanted = Layout::plain(out->layout.type(), out->layout.dims());
  Primitive primitive = make(wanted);
  *out = as(*out, wanted);
  return primitive;
}

Tensor Builder::as(const Tensor& from, const Layout& layout) {
  if (from.layout == layout || from.is_empty()) return {layout, from.buffer};
  if (constant_of_[from.buffer] != kNone) return constant_as(constant_of_[from.buffer], from, layout);
  const std::string key =
      cat(from.buffer, ".", versions_[from.buffer], "/", from.layout.key(), "/", layout.key());
  if (const auto at = reordered_.find(key); at != reordered_.end()) return at->second;
  const Tensor out = temporary(layout);
  call(make_reorder(engine(), from.layout, layout), {{kSource, from}, {kDestination, out}});
  return reordered_[key] = out;
}

Tensor Builder::constant_as(uint32_t value, const Tensor& from, const Layout& layout) {
  const std::shared_ptr<const Packed> packed = program_.packed(value, from.layout, layout);
  recipe_->constants.push_back(packed);
  const uint32_t buffer = add_buffer(Home::kConstant, kNone, 0);
  recipe_->buffers[buffer].constant = packed->data;
  return {layout, buffer};
}

Tensor Builder::reshaped(const Tensor& from, DimsView dims) {
  if (const auto layout = from.layout.reshaped(dims)) return {*layout, from.buffer};
  const Tensor dense = as(from, Layout::plain(from.layout.type(), from.layout.dims()));
  return {*dense.layout.reshaped(dims), dense.buffer};
}

bool Builder::dies_with(uint32_t buffer, const std::vector<uint32_t>& nodes) {
  if (recipe_->buffers[buffer].home != Home::kWorkspace) return false;
  const std::vector<uint32_t>& values = buffer_values_[buffer];
  // A long chain can share one buffer. Values at its beginning whose uses are done are not checked again.
  size_t& begin = dead_values_[buffer];
  while (begin < values.size() && is_free_after(values[begin], {})) ++begin;
  for (size_t i = begin; i < values.size(); ++i) {
    if (!is_free_after(values[i], nodes)) return false;
  }
  return !values.empty();
}

bool Builder::is_free_after(uint32_t value, const std::vector<uint32_t>& nodes) const {
  const Value& v = program_.values()[value];
  return v.output == kNone && std::all_of(v.consumers.begin(), v.consumers.end(), [&](uint32_t n) {
           return done_[n] || std::count(nodes.begin(), nodes.end(), n) != 0;
         });
}

bool Builder::may_overwrite(const Node& node, uint32_t value) {
  const auto number = static_cast<uint32_t>(&node - program_.nodes().data());
  return tensors_[value].buffer != kNone && dies_with(tensors_[value].buffer, {number});
}

Tensor Builder::temporary(const Layout& layout) {
  return {layout, add_buffer(Home::kWorkspace, kNone, layout.bytes())};
}

Tensor Builder::create(uint32_t value, const Layout& layout) {
  const uint32_t output = program_.values()[value].output;
  Tensor out;
  if (const auto part = place_in_join(value, layout)) {
    out = *part;
  } else if (output != kNone && layout.is_plain() && layout.type() == type(value)) {
    out = {layout, add_buffer(Home::kOutput, output, 0)};
  } else {
    out = temporary(layout);
  }
  define(value, out);
  return out;
}

Tensor Builder::overwrite(uint32_t value, const Tensor& tensor) {
  ++versions_[tensor.buffer];
  define(value, tensor);
  return tensor;
}

void Builder::define(uint32_t value, const Tensor& tensor) {
  require_elements(value, tensor.layout);
  tensors_[value] = tensor;
  buffer_values_[tensor.buffer].push_back(value);
}

void Builder::call(const Primitive& primitive, std::initializer_list<std::pair<int, Tensor>> arguments) {
  call(primitive, std::vector<std::pair<int, Tensor>>(arguments));
}

void Builder::call(const Primitive& primitive, const std::vector<std::pair<int, Tensor>>& arguments) {
  Task out;
  out.primitive = primitive;
  for (const auto& argument : arguments) {
    touch(argument.second.buffer);
    out.arguments.push_back({argument.first, argument.second.buffer});
  }
  if (const uint64_t bytes = primitive.scratch_bytes(); bytes != 0) {
    const uint32_t scratch = add_buffer(Home::kWorkspace, kNone, bytes);
    touch(scratch);
    out.arguments.push_back({kScratch, scratch});
  }
  recipe_->tasks.push_back(std::move(out));
}

void Builder::local(std::initializer_list<Tensor> arguments, Local work) {
  Task out;
  out.local = std::move(work);
  for (const Tensor& argument : arguments) {
    touch(argument.buffer);
    out.arguments.push_back({0, argument.buffer});
  }
  recipe_->tasks.push_back(std::move(out));
}

void Builder::copy(const Tensor& from, const Tensor& to) {
  if (!from.layout.is_plain() || from.layout != to.layout) {
    call(make_reorder(engine(), from.layout, to.layout), {{kSource, from}, {kDestination, to}});
    return;
  }
  local({from, to}, [bytes = static_cast<int64_t>(to.layout.bytes())](std::span<void* const> addresses) {
    parallel(bytes, kCopyGrain, [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<std::byte*>(addresses[1]) + begin,
                  static_cast<const std::byte*>(addresses[0]) + begin, static_cast<size_t>(end - begin));
    });
  });
}

Tensor Builder::filled(const Layout& layout, float number) {
  Tensor out = temporary(layout);
  local({out}, [n = layout.elements(), number](std::span<void* const> addresses) {
    std::fill_n(static_cast<float*>(addresses[0]), n, number);
  });
  return out;
}

void Builder::fill(uint32_t value, float number) {
  define(value, filled(Layout::plain(type(value), dims(value)), number));
}

void Builder::finish() {
  for (uint32_t v = 0; v < program_.values().size(); ++v) {
    const uint32_t output = program_.values()[v].output;
    if (output == kNone) continue;
    if (recipe_->output_dims.size() <= output) recipe_->output_dims.resize(output + 1);
    recipe_->output_dims[output] = dims(v);
  }
  for (uint32_t v = 0; v < program_.values().size(); ++v) {
    const Value& value = program_.values()[v];
    if (value.output == kNone) continue;
    const Tensor made = kept(v);
    if (made.is_empty()) continue;
    const Buffer& buffer = recipe_->buffers[made.buffer];
    if (buffer.home == Home::kOutput && buffer.index == value.output) continue;
    const Layout layout = Layout::plain(type(v), dims(v));
    const Tensor out{layout, add_buffer(Home::kOutput, value.output, 0)};
    copy(made, out);
  }
  std::vector<ep::Piece*> pieces;
  for (Buffer& buffer : recipe_->buffers) {
    if (buffer.home == Home::kWorkspace && buffer.piece.last >= buffer.piece.first)
      pieces.push_back(&buffer.piece);
  }
  recipe_->workspace_bytes = ep::place_pieces(std::move(pieces));
}

}  // namespace tenon::onednn
