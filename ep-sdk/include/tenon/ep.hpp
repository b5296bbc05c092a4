// tenon/ep.hpp: header-only C++20 over ep.h. One include for a provider.
//
//   numeric.hpp           element types that C++ lacks, exact conversions
//   detail/error.hpp      Error, fail(), guard(): no exception crosses the border
//   detail/dispatch.hpp   type lists, dispatch from element type to C++ type
//   detail/tensor.hpp     TensorView, OutputTensor, StringBuilder
//   detail/value.hpp      ValueRef: sequences, optionals and maps by count
//   detail/graph.hpp      NodeView: operator, values, attributes
//   detail/support.hpp    Support and Check: what a kernel answers about a node
//   detail/context.hpp    PrepareContext, Context: what a kernel works with
//   detail/kernel.hpp     TENON_KERNEL, the registry
//   negotiate.hpp         negotiate(): for a provider that writes its own table
//   detail/claims.hpp     which kernel takes a node
//   detail/provider.hpp   TENON_KERNEL_PROVIDER: the whole provider around the kernels
//
// What it does not do: it holds no state but the host's table and the list of kernels, starts no thread, and
// prints nothing. Build with hidden visibility, as tenon_add_provider() does: the state is this library's
// own.
#ifndef TENON_EP_HPP_
#define TENON_EP_HPP_

#include "tenon/detail/provider.hpp"

#endif  // TENON_EP_HPP_
