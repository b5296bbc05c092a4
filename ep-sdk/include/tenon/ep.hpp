// tenon/ep.hpp: ep.h for C++20, header-only. The one include of a provider.
//
//   numeric.hpp           element types that C++ lacks, exact conversions
//   detail/error.hpp      Error, fail(), guard(): no exception crosses the border
//   detail/dispatch.hpp   type lists, dispatch from element type to C++ type
//   detail/tensor.hpp     TensorView, OutputTensor, StringBuilder
//   detail/value.hpp      ValueRef: reference-counted sequences, optionals and maps
//   detail/graph.hpp      NodeView: operator, values, attributes
//   detail/support.hpp    Support and Check: whether a kernel supports a node, and why not
//   detail/context.hpp    PrepareContext, Context: the arguments of a kernel's prepare and run
//   detail/registry.hpp   Registry: the operators that a library implements
//   detail/kernel.hpp     TENON_KERNEL
//   negotiate.hpp         negotiate(), for a provider that writes its own table
//   detail/claims.hpp     choice of the kernel for a node; claims and rejections
//   detail/provider.hpp   TENON_KERNEL_PROVIDER: the whole provider around the kernels
//
// What it does not do: it starts no thread and prints nothing. Its only state is the host's table and the list of
// kernels. Build with hidden visibility, as tenon_add_provider() does, so that each library has its own state.
#ifndef TENON_EP_HPP_
#define TENON_EP_HPP_

#include "tenon/detail/provider.hpp"

#endif  // TENON_EP_HPP_
