#include "core/ir/tensor.h"

#include <cstring>

namespace tenon::ir {

/// Fills the private members of a Tensor. There is no other way to make one.
class TensorBuilder {
 public:
  static Result<std::shared_ptr<Tensor>> start(ElementType type, std::vector<int64_t> dims) {
    auto tensor = std::make_shared<Tensor>();
    int64_t count = 1;
    bool overflow = false, zero = false;
    for (int64_t dim : dims) {
      if (dim < 0)
        return invalid_model("a tensor has dimension ", dim, "; constants need dimensions of 0 or more");
      zero |= dim == 0;
      overflow |= __builtin_mul_overflow(count, dim, &count);
    }
    // [0, 2^62, 2^62] is empty and valid, in any order of its dimensions.
    if (zero) count = 0;
    if (overflow && !zero) {
      return invalid_model("a tensor of shape ", Shape::of(dims).to_string(),
                           " has more than 2^63 - 1 elements");
    }
    tensor->type_ = type;
    tensor->dims_ = std::move(dims);
    tensor->count_ = count;
    return tensor;
  }

  static Status set_bytes(Tensor& tensor, const std::byte* data, size_t byte_size,
                          std::shared_ptr<const void> owner) {
    int64_t expected = 0;
    if (!packed_bytes(tensor.type_, tensor.count_, &expected)) {
      return invalid_model("a tensor ", describe(tensor), " has no size in bytes");
    }
    if (static_cast<uint64_t>(expected) != byte_size) {
      return invalid_model("a tensor ", describe(tensor), " takes ", expected, " bytes and has ", byte_size);
    }
    tensor.data_ = data;
    tensor.byte_size_ = byte_size;
    tensor.owner_ = std::move(owner);
    return ok_status();
  }

  static void set_origin(Tensor& tensor, FileSpan origin) { tensor.origin_ = std::move(origin); }

  static void set_strings(Tensor& tensor, const std::vector<std::string>& strings) {
    size_t total = 0;
    for (const std::string& s : strings) total += s.size();
    auto bytes = std::make_shared<std::string>();
    bytes->reserve(total);
    tensor.offsets_.reserve(strings.size() + 1);
    tensor.offsets_.push_back(0);
    for (const std::string& s : strings) {
      *bytes += s;
      tensor.offsets_.push_back(static_cast<int64_t>(bytes->size()));
    }
    tensor.data_ = reinterpret_cast<const std::byte*>(bytes->data());
    tensor.byte_size_ = bytes->size();
    tensor.owner_ = std::move(bytes);
  }

 private:
  static std::string describe(const Tensor& tensor) {
    return Type::tensor(tensor.type_, tensor.shape()).to_string();
  }
};

Result<std::shared_ptr<const Tensor>> Tensor::make(ElementType type, std::vector<int64_t> dims,
                                                   std::vector<std::byte> bytes) {
  ASSIGN_OR_RETURN(auto tensor, TensorBuilder::start(type, std::move(dims)));
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::byte* data = owner->data();
  size_t byte_size = owner->size();
  RETURN_IF_ERROR(TensorBuilder::set_bytes(*tensor, data, byte_size, std::move(owner)));
  return std::shared_ptr<const Tensor>(std::move(tensor));
}

Result<std::shared_ptr<const Tensor>> Tensor::refer(ElementType type, std::vector<int64_t> dims,
                                                    const std::byte* data, size_t byte_size,
                                                    std::shared_ptr<const void> owner, FileSpan origin) {
  ASSIGN_OR_RETURN(auto tensor, TensorBuilder::start(type, std::move(dims)));
  RETURN_IF_ERROR(TensorBuilder::set_bytes(*tensor, data, byte_size, std::move(owner)));
  TensorBuilder::set_origin(*tensor, std::move(origin));
  return std::shared_ptr<const Tensor>(std::move(tensor));
}

Result<std::shared_ptr<const Tensor>> Tensor::make_strings(std::vector<int64_t> dims,
                                                           const std::vector<std::string>& strings) {
  ASSIGN_OR_RETURN(auto tensor, TensorBuilder::start(ElementType::kString, std::move(dims)));
  if (static_cast<uint64_t>(tensor->element_count()) != strings.size()) {
    return invalid_model("a tensor ", Type::tensor(ElementType::kString, tensor->shape()).to_string(),
                         " has ", tensor->element_count(), " elements, but holds ", strings.size(),
                         " strings");
  }
  TensorBuilder::set_strings(*tensor, strings);
  return std::shared_ptr<const Tensor>(std::move(tensor));
}

namespace {

// Does not go through make(), because the sizes fit by construction.
std::shared_ptr<const Tensor> ints(std::vector<int64_t> dims, const int64_t* values, size_t count) {
  std::vector<std::byte> bytes(count * sizeof(int64_t));
  if (count != 0) std::memcpy(bytes.data(), values, bytes.size());
  return Tensor::make(ElementType::kInt64, std::move(dims), std::move(bytes)).value();
}

}  // namespace

std::shared_ptr<const Tensor> Tensor::of_ints(const std::vector<int64_t>& values) {
  return ints({static_cast<int64_t>(values.size())}, values.data(), values.size());
}

std::shared_ptr<const Tensor> Tensor::scalar_int(int64_t value) { return ints({}, &value, 1); }

std::string_view Tensor::string_at(int64_t index) const {
  auto at = static_cast<size_t>(index);
  auto size = static_cast<size_t>(offsets_[at + 1] - offsets_[at]);
  return {reinterpret_cast<const char*>(data_) + offsets_[at], size};
}

bool Tensor::to_ints(std::vector<int64_t>* out_values) const {
  out_values->clear();
  auto count = static_cast<size_t>(count_);
  if (type_ == ElementType::kInt64) {
    out_values->resize(count);
    if (count != 0) std::memcpy(out_values->data(), data_, byte_size_);
    return true;
  }
  if (type_ != ElementType::kInt32) return false;
  out_values->reserve(count);
  for (size_t i = 0; i < count; ++i) {
    int32_t value = 0;
    std::memcpy(&value, data_ + i * sizeof value, sizeof value);
    out_values->push_back(value);
  }
  return true;
}

bool Tensor::same_as(const Tensor& other) const {
  if (type_ != other.type_ || dims_ != other.dims_ || offsets_ != other.offsets_) return false;
  if (byte_size_ != other.byte_size_) return false;
  return data_ == other.data_ || byte_size_ == 0 || std::memcmp(data_, other.data_, byte_size_) == 0;
}

}  // namespace tenon::ir
