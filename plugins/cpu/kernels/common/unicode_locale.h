// The C library's Unicode tables, independent of the process's locale.
#pragma once

#include <locale.h>

namespace tenon::cpu {

/// Made at first use, freed when the provider is unloaded. Null if the C library has no Unicode locale.
inline locale_t unicode_locale() {
  struct Owner {
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    ~Owner() {
      if (locale != nullptr) freelocale(locale);
    }
  };
  static const Owner owner;
  return owner.locale;
}

}  // namespace tenon::cpu
