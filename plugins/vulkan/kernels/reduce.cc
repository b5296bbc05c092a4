// Reductions over any axes, and ArgMax and ArgMin over one.
#include "tenon/ep/device/ops/reduce.hpp"

#include "kernels/common/copy.h"
#include "shaders/arg_reduce.float.h"
#include "shaders/arg_reduce.int.h"
#include "shaders/arg_reduce.long.h"
#include "shaders/arg_reduce.uint.h"
#include "shaders/arg_reduce.ulong.h"
#include "shaders/reduce.float.h"
#include "shaders/reduce.int.h"
#include "shaders/reduce.long.h"
#include "shaders/reduce.uint.h"
#include "shaders/reduce.ulong.h"

namespace tenon::vulkan {
namespace {

constexpr KernelSource kSources[] = {
    {"ReduceSum", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint, &shaders::reduce_long,
     &shaders::reduce_ulong},
    {"ReduceSumSquare", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint,
     &shaders::reduce_long, &shaders::reduce_ulong},
    {"ReduceMean", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint, &shaders::reduce_long,
     &shaders::reduce_ulong},
    {"ReduceProd", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint, &shaders::reduce_long,
     &shaders::reduce_ulong},
    {"ReduceMax", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint, &shaders::reduce_long,
     &shaders::reduce_ulong},
    {"ReduceMin", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint, &shaders::reduce_long,
     &shaders::reduce_ulong},
    {"ReduceL1", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint, &shaders::reduce_long,
     &shaders::reduce_ulong},
    {"ReduceL2", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint, &shaders::reduce_long,
     &shaders::reduce_ulong},
    {"ReduceLogSum", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint,
     &shaders::reduce_long, &shaders::reduce_ulong},
    {"ReduceLogSumExp", &shaders::reduce_float, &shaders::reduce_int, &shaders::reduce_uint,
     &shaders::reduce_long, &shaders::reduce_ulong},
};
using Kernels = Backend<kSources>;

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

constexpr KernelSource kArgSources[] = {
    {"ArgMax", &shaders::arg_reduce_float, &shaders::arg_reduce_int, &shaders::arg_reduce_uint,
     &shaders::arg_reduce_long, &shaders::arg_reduce_ulong},
    {"ArgMin", &shaders::arg_reduce_float, &shaders::arg_reduce_int, &shaders::arg_reduce_uint,
     &shaders::arg_reduce_long, &shaders::arg_reduce_ulong},
};
using ArgKernels = Backend<kArgSources>;

TENON_KERNEL(ops::ArgReduce<ArgKernels>, .op_type = "ArgMax", .since = 1, .contract = "data: rank 1..")
TENON_KERNEL(ops::ArgReduce<ArgKernels>, .op_type = "ArgMin", .since = 1, .contract = "data: rank 1..")

}  // namespace
}  // namespace tenon::vulkan
