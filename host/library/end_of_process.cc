// Nothing of libtenon is destroyed when the process ends.
//
// exit() destroys objects with static storage duration while other threads of the application still run. A thread that
// makes a session needs the tables of libtenon and of the ONNX library, which register their destructors with
// __cxa_atexit. This definition replaces the C library's for the code of this library only, because it is not exported,
// and it drops the destructors. Nothing is lost: the memory goes with the process, and host/base/fork.h registers what
// must run at the end. libtenon is linked to stay mapped after dlclose, where destructors would run too.
//
// Not in builds with a sanitizer, which needs the destructors.
#if !defined(TENON_SANITIZE)
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
#endif
