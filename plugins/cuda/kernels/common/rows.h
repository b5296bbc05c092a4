// Kernels that go over rows of a tensor: launches in the form that is the fastest for the rows (variants.h).
//
// A text has both forms: FORM is 0 where a thread does a row and 1 where a block does (kRowForms in texts.h). A `Family`
// (tenon/ep/device/rows.hpp) says how kernels with the same arguments go over rows.
#pragma once

#include <functional>

#include "kernels/common/kernel.h"
#include "tenon/ep/device/rows.hpp"
#include "variants.h"

namespace tenon::cuda {

/// A kernel in both forms, by Form.
struct KernelForms {
  std::array<KernelRef, 2> of;
};
template <class Family>
struct RowKernel : KernelForms {};

/// As load_kernel() does.
KernelForms load_forms(const NodeView& node, const Source& source, std::string_view name,
                       const Settings& settings);

/// A Backend whose kernels go over rows.
template <const Source& kSource, class Family>
struct RowBackend : Backend<kSource> {
  using Kernel = RowKernel<Family>;
  static Kernel load(const NodeView& node, std::string_view name, const Settings& settings) {
    return {load_forms(node, kSource, name, settings)};
  }
  static Kernel find(const NodeView& node, std::string_view name, const Settings& settings) {
    return load(node, name, settings);
  }
  static void warm_up(const NodeView&, const Kernel&) {}
};

namespace detail {

/// Lists a launch over rows in a form that reads the first piece and writes the second.
using ListProbe = std::function<void(Recorder& to, Form form, const Rows& rows, const PieceArg& read,
                                     const PieceArg& written)>;

/// The form for a launch.
Form form_for(Recorder& ctx, const KernelForms& kernel, const Rows& rows, const ListProbe& list);

/// The threads of a block for a row.
Size3 members_for(const Rows& rows);

template <class... Args>
void launch_as(Recorder& ctx, const KernelForms& kernel, Form form, const Rows& rows, const Size3& items,
               const Args&... args) {
  const KernelRef& chosen = kernel.of[static_cast<size_t>(form)];
  if (form == Form::kThread) return launch(ctx, chosen, items, args...);
  launch_blocks(ctx, chosen, items, members_for(rows), args...);
}

}  // namespace detail

/// As launch() of a KernelRef.
template <class Family, class... Args>
void launch(Recorder& ctx, const RowKernel<Family>& kernel, const Size3& items, const Args&... args) {
  if (detail::is_empty(items)) return;
  const Rows rows = Family::rows_of(args...);
  const auto probe = [&](Recorder& to, Form form, const Rows& others, const PieceArg& read,
                         const PieceArg& written) {
    const auto list = [&](const Size3& of_others, const auto&... given) {
      detail::launch_as(to, kernel, form, others, of_others, given...);
    };
    list_on<Family>(others, read, written, list, args...);
  };
  detail::launch_as(ctx, kernel, detail::form_for(ctx, kernel, rows, probe), rows, items, args...);
}

}  // namespace tenon::cuda
