// Reductions over any axes, and ArgMax and ArgMin over one.
#include "tenon/ep/device/ops/reduce.hpp"

#include "kernels/common/copy.h"
#include "kernels/common/rows.h"
#include "shaders/arg_reduce.float.h"
#include "shaders/arg_reduce.float_shared.h"
#include "shaders/arg_reduce.float_subgroup.h"
#include "shaders/arg_reduce.int.h"
#include "shaders/arg_reduce.long.h"
#include "shaders/arg_reduce.uint.h"
#include "shaders/arg_reduce.ulong.h"
#include "shaders/reduce.float.h"
#include "shaders/reduce.float_shared.h"
#include "shaders/reduce.float_subgroup.h"
#include "shaders/reduce.int.h"
#include "shaders/reduce.long.h"
#include "shaders/reduce.uint.h"
#include "shaders/reduce.ulong.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource source(std::string_view name) {
  return {.name = name,
          .real = &shaders::reduce_float,
          .int32 = &shaders::reduce_int,
          .uint32 = &shaders::reduce_uint,
          .int64 = &shaders::reduce_long,
          .uint64 = &shaders::reduce_ulong,
          .shared = &shaders::reduce_float_shared,
          .subgroup = &shaders::reduce_float_subgroup};
}
constexpr KernelSource kSources[] = {
    source("ReduceSum"),    source("ReduceSumSquare"), source("ReduceMean"), source("ReduceProd"),
    source("ReduceMax"),    source("ReduceMin"),       source("ReduceL1"),   source("ReduceL2"),
    source("ReduceLogSum"), source("ReduceLogSumExp"),
};

/// The shaders of work-groups follow no walk.
using Kernels = RowBackend<kSources, Reductions<false>>;

TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceSum", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceSumSquare", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceMean", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceProd", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceMax", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceMin", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceL1", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceL2", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceLogSum", .since = 1,
             .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::Reduce<Kernels>, .op_type = "ReduceLogSumExp", .since = 1,
             .contract = "data: any; axes?: rank 0..1")

constexpr KernelSource arg_source(std::string_view name) {
  return {.name = name,
          .real = &shaders::arg_reduce_float,
          .int32 = &shaders::arg_reduce_int,
          .uint32 = &shaders::arg_reduce_uint,
          .int64 = &shaders::arg_reduce_long,
          .uint64 = &shaders::arg_reduce_ulong,
          .shared = &shaders::arg_reduce_float_shared,
          .subgroup = &shaders::arg_reduce_float_subgroup};
}
constexpr KernelSource kArgSources[] = {arg_source("ArgMax"), arg_source("ArgMin")};

using ArgKernels = RowBackend<kArgSources, ArgReductions>;

TENON_KERNEL(ops::ArgReduce<ArgKernels>, .op_type = "ArgMax", .since = 1, .contract = "data: rank 1..")
TENON_KERNEL(ops::ArgReduce<ArgKernels>, .op_type = "ArgMin", .since = 1, .contract = "data: rank 1..")

}  // namespace
}  // namespace tenon::vulkan
