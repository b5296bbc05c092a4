// What no provider may have: a second exported function.
#include "tenon/ep.h"

extern "C" TENON_EP_EXPORT int planted_second() { return 2; }
