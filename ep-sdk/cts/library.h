// The provider's library, loaded, and its answers to a host.
#pragma once

#include <string>

#include "ep-sdk/cts/check.h"
#include "tenon/ep.h"

namespace tenon::cts {

class Library {
 public:
  /// Throws Failed when the dynamic loader cannot load the library or it has no tenon_ep_negotiate.
  explicit Library(const Target& target);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  tenon_ep_negotiate_fn negotiate = nullptr;
  /// Unloads the library before the destructor does.
  void close();

 private:
  void* handle_ = nullptr;
};

/// Calls tenon_ep_negotiate. Throws Failed when an exception escapes it.
tenon_status negotiate(const Library& library, tenon_ep_negotiation* io);
/// The negotiation struct of a host of this header, with `flags`.
tenon_ep_negotiation own_offer(uint32_t flags = 0);

/// The text of a field of fixed size. Throws Failed when it is not terminated.
std::string field(const char* text, size_t size, const char* name);
/// The names of required functions, alone or in a group, that are NULL.
std::string missing_functions(const tenon_ep_api& api);

}  // namespace tenon::cts
