// Checks of what an application gives for a Run, called or submitted.
#pragma once

#include "core/base/result.h"
#include "tenon/tenon.h"

namespace tenon::c_api {

/// The options, in the size of this version; defaults when `options` is null.
Result<tenon_run_options> read_run_options(const tenon_run_options* options);

/// Slots choose each output by itself.
Status refuse_keep_outputs(const tenon_run_options& options);

/// Pointers and texts; not whether the names exist.
Status check_run_arguments(const tenon_named_value* inputs, uint32_t input_count,
                           const tenon_str* output_names, uint32_t output_count);

}  // namespace tenon::c_api
