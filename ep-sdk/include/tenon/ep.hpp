// tenon/ep.hpp: ep.h for C++20, header-only. The one include of a provider.
//
//   error.hpp            Error, fail(): no exception crosses the border; the host's table
//   numeric.hpp          element types that C++ lacks, exact conversions
//   dispatch.hpp         type lists, dispatch from element type to C++ type
//   tensor.hpp           TensorView, OutputTensor, StringBuilder
//   value.hpp            ValueRef: reference-counted sequences, optionals and maps
//   options.hpp          InstanceSettings, the options of an instance, log()
//   graph.hpp            NodeView: operator, values, attributes
//   support.hpp          Support and Check: whether a kernel supports a node, and why not
//   contract.hpp         what a kernel demands of the shapes of its inputs
//   context.hpp          PrepareContext, Context: the arguments of a kernel's prepare and run; parallel_for()
//   registry.hpp         Registry: the operators that a library implements
//   kernel.hpp           TENON_KERNEL
//   claims.hpp           choice of the kernel for a node; claims and rejections
//   groups.hpp           convex_groups(): the nodes that can be claimed together
//   workspace.hpp        place_pieces(): what lives between the tasks of a program, in one workspace
//   kernel_node.hpp      KernelNode: a node compiled to its kernel
//   negotiate.hpp        negotiate()
//   trace.hpp            the clock of times, spans inside a claim
//   sinks.hpp            what a provider tells of its devices, their memory and the times of work
//   provider.hpp         TENON_PROVIDER: the table, made from a provider's classes
//   kernel_provider.hpp  TENON_KERNEL_PROVIDER: the whole provider around the kernels
//
// What it does not do: it starts no thread and prints nothing. Its only state is the host's table and the list of
// kernels. Build with hidden visibility, as tenon_add_provider() does, so that each library has its own state.
#ifndef TENON_EP_HPP_
#define TENON_EP_HPP_

#include "tenon/ep/groups.hpp"
#include "tenon/ep/kernel_provider.hpp"
#include "tenon/ep/workspace.hpp"

#endif  // TENON_EP_HPP_
