// The end of a process: nothing of libtenon is destroyed.
//
// exit() destroys objects with static storage duration while other threads of the application go on, and a thread that makes
// a session needs tables of ours and of the ONNX library. Both register their destructors with __cxa_atexit; this one stands
// before the C library's for the code of this library alone (it is not exported) and lets them be forgotten. Nothing of ours
// has to be done at the end: memory goes with the process, and what must be told, host/base/fork.h registers by itself.
// The library is linked to stay mapped after dlclose, where destructors would run too.
//
// Not part of builds with a sanitizer, which must see the destructors.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*);
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
