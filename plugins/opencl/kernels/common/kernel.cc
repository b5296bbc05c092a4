#include "kernels/common/kernel.h"

namespace tenon::opencl {

std::string_view cl_type(uint32_t dtype) {
  switch (dtype) {
    case TENON_FLOAT32:
      return "float";
    case TENON_FLOAT64:
      return "double";
    case TENON_FLOAT16:
      return "half";
    case TENON_INT8:
      return "char";
    case TENON_BOOL:
    case TENON_UINT8:
      return "uchar";
    case TENON_INT16:
      return "short";
    case TENON_UINT16:
      return "ushort";
    case TENON_INT32:
      return "int";
    case TENON_UINT32:
      return "uint";
    case TENON_INT64:
      return "long";
    case TENON_UINT64:
      return "ulong";
    default:
      fail(TENON_UNIMPLEMENTED, "element type ", dtype_name(dtype), " is not supported here");
  }
}

std::string defines_for(uint32_t dtype, std::string_view name) {
  const std::string_view type = cl_type(dtype);
  const bool half = dtype == TENON_FLOAT16;
  const std::string suffix = name == "T" ? "" : cat("_", name);
  return cat("-D", name, "=", type, " -DC", suffix, "=", half ? "float" : type, " -DLOAD", suffix,
             half ? "(p,i)=vload_half(i,p)" : "(p,i)=(p)[i]", " -DSTORE", suffix,
             half ? "(p,i,v)=vstore_half(v,i,p)" : "(p,i,v)=(p)[i]=(v)", " ");
}

std::string defines_to_move(uint32_t dtype) {
  switch (dtype_bits(dtype)) {
    case 8:
      return "-DM=uchar ";
    case 16:
      return "-DM=ushort ";
    case 32:
      return "-DM=uint ";
    case 64:
      return "-DM=ulong ";
    default:
      fail(TENON_UNIMPLEMENTED, "element type ", dtype_name(dtype), " is not supported here");
  }
}

namespace {

/// The lowest and the highest number of an integer type.
std::string limits(uint32_t dtype) {
  if (kRealTypes.contains(dtype)) return "";
  if (dtype == TENON_BOOL) return "-DLOWEST=0 -DHIGHEST=1";
  const std::string bits = std::to_string(dtype_bits(dtype) - 1);
  if (kUnsignedIntTypes.contains(dtype)) return "-DLOWEST=0 -DHIGHEST=((C)~(C)0)";
  return cat("-DLOWEST=((C)(1UL<<", bits, ")) -DHIGHEST=((C)((1UL<<", bits, ")-1))");
}

}  // namespace

std::string defines_of(const Settings& settings) {
  std::string out;
  for (const Setting& setting : settings) {
    switch (setting.kind) {
      case Setting::Kind::kCompute:
        out += defines_for(static_cast<uint32_t>(setting.value), setting.name);
        if (setting.name == "T")
          out += cat("-DIS_REAL=", kRealTypes.contains(static_cast<uint32_t>(setting.value)) ? 1 : 0, " ",
                     limits(static_cast<uint32_t>(setting.value)), " ");
        break;
      case Setting::Kind::kMove:
        out += defines_to_move(static_cast<uint32_t>(setting.value));
        break;
      case Setting::Kind::kNumber:
        out += cat("-D", setting.name, "=", setting.value, " ");
        break;
    }
  }
  return out;
}

namespace detail {

Arguments::Arguments(Launches& launches, const tenon_tensor* workspace, const KernelRef& ref)
    : launches_(launches), workspace_(workspace), ref_(ref) {
  cl_int code = CL_SUCCESS;
  kernel_ = KernelHandle(clCreateKernel(ref.built->get(), ref.name.c_str(), &code));
  check(code, "clCreateKernel");
}

void Arguments::add(const TensorArg& arg) {
  const tenon_tensor& tensor = *arg.tensor;
  if (tensor.kind == TENON_KIND_NONE) return add_buffer(nullptr, 0);
  const BufferRange range = launches_.find(tensor);
  add_buffer(range.buffer,
             range.byte_offset * 8 / dtype_bits(tensor.dtype) + static_cast<uint64_t>(arg.first));
}

void Arguments::add(const WorkspaceArg& arg) {
  const BufferRange range = launches_.find(*workspace_);
  add_buffer(range.buffer, (range.byte_offset + arg.byte_offset) / arg.element_bytes);
}

void Arguments::add(const FlagArg&) {
  cl_mem buffer = launches_.flag_buffer();
  check(clSetKernelArg(kernel_.get(), next_++, sizeof(cl_mem), &buffer), "clSetKernelArg");
}

void Arguments::add_buffer(cl_mem buffer, uint64_t element_offset) {
  check(clSetKernelArg(kernel_.get(), next_++, sizeof(cl_mem), buffer == nullptr ? nullptr : &buffer),
        "clSetKernelArg");
  add(static_cast<cl_ulong>(element_offset));
}

void Arguments::record(Size3 global) {
  Command command{std::move(kernel_), global, ref_.local};
  for (size_t d = 0; d < 3; ++d)
    command.global[d] = (global[d] + ref_.local[d] - 1) / ref_.local[d] * ref_.local[d];
  launches_.add(std::move(command));
}

}  // namespace detail
}  // namespace tenon::opencl
