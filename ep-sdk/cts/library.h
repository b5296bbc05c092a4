// The provider's library, opened, and what it answers to a host.
#pragma once

#include <string>

#include "ep-sdk/cts/check.h"
#include "tenon/ep.h"

namespace tenon::cts {

class Library {
 public:
  /// Throws Failed when the dynamic loader says no, or there is no entry.
  explicit Library(const Target& target);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  tenon_ep_negotiate_fn negotiate = nullptr;
  /// Gives the library back to the dynamic loader before the destructor does.
  void close();

 private:
  void* handle_ = nullptr;
};

/// Calls tenon_ep_negotiate as a host of this header does, with `flags`. What comes out as an exception is Failed.
tenon_status negotiate(const Library& library, tenon_ep_negotiation* io);
/// A struct that is ready to be sent.
tenon_ep_negotiation own_offer(uint32_t flags = 0);

/// The text of a field of fixed size; Failed when it is not terminated.
std::string field(const char* text, size_t size, const char* name);
/// The names of slots that are NULL and should not be.
std::string missing_slots(const tenon_ep_api& api);

}  // namespace tenon::cts
