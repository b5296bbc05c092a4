// The provider's library, loaded, and its answers to a host.
#pragma once

#include <string>

#include "ep-sdk/cts/check.h"
#include "tenon/ep.h"

namespace tenon::cts {

/// What to do when the library lacks its one function.
inline constexpr const char* kEntryCure =
    "write TENON_PROVIDER(Traits) of <tenon/ep/provider.hpp>, or TENON_KERNEL_PROVIDER(Traits), in one "
    "source file "
    "of the provider, outside of namespaces; without these headers define tenon_ep_negotiate with "
    "TENON_EP_EXPORT and "
    "extern \"C\"";

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
/// Negotiates with `offer`, which fits. Throws Failed when the library refuses it.
tenon_ep_negotiation accepted(const Library& library, const tenon_ep_negotiation& offer = own_offer());
/// Throws Failed unless the answer has a table with every required function and whole groups.
void require_table(const tenon_ep_negotiation& answer);

}  // namespace tenon::cts
