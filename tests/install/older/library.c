#include <stddef.h>
#include <tenon/tenon.h>

/* A libtenon from before the last function of tenon.h was added. Its table has no function that could be called. */
const tenon_api* tenon_get_api(uint32_t version) {
  static const tenon_api table = {.struct_size = sizeof table - sizeof(void (*)(void)),
                                  .version = TENON_API_VERSION};
  return version <= TENON_API_VERSION ? &table : NULL;
}
