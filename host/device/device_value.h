// Tensors that stay in memory of a device: what a Run leaves there and what later Runs take from there.
//
// Such a value keeps its memory, and with it the device open and the provider loaded; it may outlive its session. When
// the device is lost, so is the content: every use then fails. In a child of fork() nothing of the device is touched,
// not even when the last count goes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "host/device/device.h"
#include "host/device/transfer.h"
#include "host/device/value.h"

namespace tenon::runtime {

/// Where a tensor is. Borrowed from the value.
const MemoryDomain& domain_of(const tenon_value& value);
/// The host can read the value in place: it is no tensor in memory of a device, or that memory has an address for the
/// host.
bool host_can_read(const tenon_value& value);
/// FAILED_PRECONDITION when the content is out of reach: the device is lost (kind DEVICE_LOST), or the process is a child
/// of the one that made the value. Names the device and the cure. OK for values in host memory.
Status check_usable(const tenon_value& value);
/// The descriptor for the host's threads. FAILED_PRECONDITION, which names value_to_host, when the host cannot read it.
Result<tenon_tensor> readable_tensor(const tenon_value& value);

/// An uninitialised numeric tensor in `domain`, which is not the host's. A tensor without elements has some memory, too.
/// `limit`: the most bytes, 0 for none (LIMIT_EXCEEDED).
Result<ValueRef> make_device_tensor(const MemoryDomain& domain, uint32_t dtype, std::span<const int64_t> dims,
                                    uint64_t limit = 0);
/// The same with memory that there is, from its begin.
Result<ValueRef> place_tensor(Buffer memory, uint32_t dtype, std::span<const int64_t> dims);
/// The first byte of the value, wherever it is.
Place place_of(const tenon_value& value);
/// The place of a frame's tensor in `domain`.
Place place_of(const MemoryDomain& domain, const tenon_tensor& tensor);

/// A value with the same content in host memory: `value` itself when it is there.
Result<ValueRef> to_host(const ValueRef& value);
/// A value with the same content in `domain`: `value` itself when it is there. INVALID_INPUT for strings and values
/// that are not tensors, unless `domain` is the host's.
Result<ValueRef> to_domain(const ValueRef& value, const MemoryDomain& domain, uint64_t limit = 0);

}  // namespace tenon::runtime
