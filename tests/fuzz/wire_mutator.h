// Mutations of protobuf messages that keep lengths right, so that a fuzzer gets past the wire format.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::fuzz {

/// For LLVMFuzzerCustomMutator: changes the message in place and returns its new size, at most `max_size`.
/// Some calls fall back to libFuzzer's own mutations of bytes.
size_t mutate_message(uint8_t* data, size_t size, size_t max_size, unsigned seed);

}  // namespace tenon::fuzz
