// Preloaded: libraries stay mapped until the process ends. LeakSanitizer looks for pointers in the memory of libraries that are
// mapped; what a driver keeps until the end would be a leak once the driver is unloaded.
extern "C" __attribute__((visibility("default"))) int dlclose(void* /*handle*/) { return 0; }
