#include "host/control_flow/beam_model.h"

#include <cstring>

#include "core/base/half.h"

namespace tenon::runtime {

Status read_vocabulary(const ControlFlow& flow, const tenon_tensor& logits, size_t allowed,
                       size_t allowed_first, BeamOptions* options) {
  BeamOptions& o = *options;
  if (logits.kind != TENON_KIND_TENSOR || logits.rank != 3)
    return invalid_model("the logits are of rank ", logits.rank, ", not 3");
  if (o.vocabulary <= 0) o.vocabulary = logits.dims[2];
  if (o.vocabulary < 1) return invalid_model("the logits have an empty vocabulary");
  if (flow.has_input(allowed)) {
    ASSIGN_OR_RETURN(o.allowed, read_list<int32_t>(flow.input(allowed), "vocab_mask"));
  }
  if (flow.has_input(allowed_first)) {
    ASSIGN_OR_RETURN(o.allowed_first, read_list<int32_t>(flow.input(allowed_first), "prefix_vocab_mask"));
  }
  const auto width = static_cast<size_t>(o.vocabulary);
  if ((!o.allowed.empty() && o.allowed.size() != width) ||
      (!o.allowed_first.empty() && o.allowed_first.size() != width * static_cast<size_t>(o.batch)))
    return invalid_input("vocab_mask or prefix_vocab_mask does not fit a vocabulary of ", width);
  return ok_status();
}

Status read_last_scores(const tenon_tensor& logits, const BeamOptions& options, std::span<float> out) {
  const int64_t rows = options.batch * options.beams, vocabulary = options.vocabulary;
  const bool half = logits.dtype == TENON_FLOAT16;
  if (logits.kind != TENON_KIND_TENSOR || (!half && logits.dtype != TENON_FLOAT32) || logits.rank != 3 ||
      (logits.dims[0] != rows && logits.dims[0] != options.batch) || logits.dims[1] < 1 ||
      logits.dims[2] < vocabulary)
    return invalid_model("the logits are not float [", rows, ", length, ", vocabulary, "]");
  const int64_t per_row = rows / logits.dims[0];
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = ((r / per_row + 1) * logits.dims[1] - 1) * logits.dims[2];
    float* row = out.data() + r * vocabulary;
    for (int64_t i = 0; i < vocabulary; ++i)
      row[i] = half ? half_to_float(static_cast<const uint16_t*>(logits.data)[at + i])
                    : static_cast<const float*>(logits.data)[at + i];
  }
  return ok_status();
}

Result<BeamPrompts> read_tokens(const ControlFlow& flow, size_t input, std::string_view what) {
  if (!flow.has_input(input) || flow.input(input).rank != 2) return invalid_input(what, " must be of rank 2");
  const tenon_tensor& tensor = flow.input(input);
  BeamPrompts out;
  ASSIGN_OR_RETURN(out.tokens, read_list<int32_t>(tensor, what));
  out.batch = tensor.dims[0];
  out.length = tensor.dims[1];
  if (out.batch < 1 || out.length < 1)
    return invalid_input(what, " is [", out.batch, ", ", out.length, "]: there is no prompt to continue");
  return out;
}

Result<std::span<int32_t>> make_ints(std::initializer_list<int64_t> dims, ValueRef* out) {
  ASSIGN_OR_RETURN(*out, make_tensor(TENON_INT32, std::span<const int64_t>(dims.begin(), dims.size())));
  return std::span<int32_t>(static_cast<int32_t*>((*out)->tensor.data),
                            (*out)->tensor.byte_size / sizeof(int32_t));
}

Result<ValueRef> gather_rows(const tenon_tensor& t, size_t axis, int64_t count,
                             std::span<const int32_t> rows) {
  if (t.kind != TENON_KIND_TENSOR || t.rank <= axis || t.dims[axis] != count)
    return invalid_model("the graph returns a value that does not have ", count, " rows along axis ", axis);
  std::vector<int64_t> dims(t.dims, t.dims + t.rank);
  uint64_t outer = 1;  // cannot overflow, because the tensor exists
  for (size_t i = 0; i < axis; ++i) outer *= static_cast<uint64_t>(dims[i]);
  dims[axis] = static_cast<int64_t>(rows.size());
  ASSIGN_OR_RETURN(ValueRef out, make_tensor(t.dtype, dims));
  const uint64_t parts = outer * static_cast<uint64_t>(count);
  if (t.byte_size == 0 || rows.empty()) return out;
  if (t.byte_size % parts != 0) return invalid_model("the rows of a value do not begin at whole bytes");
  const size_t row = t.byte_size / parts;
  auto* to = static_cast<std::byte*>(out->tensor.data);
  for (uint64_t block = 0; block < outer; ++block) {
    const auto* from = static_cast<const std::byte*>(t.data) + block * static_cast<uint64_t>(count) * row;
    for (const int32_t source : rows) {
      std::memcpy(to, from + static_cast<size_t>(source) * row, row);
      to += row;
    }
  }
  return out;
}

Result<ValueRef> empty_cache(const ir::Value& value, size_t row_axis, int64_t rows) {
  const size_t heads = row_axis + 1, length = row_axis + 2, size = row_axis + 3;
  const auto& declared = value.type.shape.dims;
  if (!value.type.is_tensor() || declared.size() != size + 1 || !declared[heads].known() ||
      !declared[size].known())
    return unsupported("the heads and sizes of '", value.name, "' are not known");
  std::vector<int64_t> dims(size + 1, 2);  // an axis before the rows is of size 2: keys, then values
  dims[row_axis] = rows;
  dims[heads] = declared[heads].value;
  dims[length] = 0;
  dims[size] = declared[size].value;
  return make_tensor(static_cast<uint32_t>(value.type.element), dims);
}

}  // namespace tenon::runtime
