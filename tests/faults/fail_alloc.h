/* An allocator that fails once, at a chosen allocation, and counts.
 *
 * The library replaces malloc and its kin, either linked into a program before the C library or named by LD_PRELOAD. The
 * allocation that is to fail is looked at: when the nearest code above the C and C++ libraries belongs to neither Tenon nor
 * the program, the allocation is a foreign library's; it succeeds and that library is named.
 */
#ifndef TESTS_FAULTS_FAIL_ALLOC_H_
#define TESTS_FAULTS_FAIL_ALLOC_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FAIL_ALLOC_FRAMES = 32, FAIL_ALLOC_BLOCKS = 1 << 16 };

/* What became of the allocation; where it was made. Lives where fail_alloc_record_to says, shared memory for example, so that
 * the parent of a process that died can read it. */
typedef struct fail_alloc_record {
  volatile uint32_t reached; /* 0: not yet, 1: it failed, 2: a foreign library made it and it succeeded */
  uint32_t frames;
  char module[64]; /* who made it */
  void* frame[FAIL_ALLOC_FRAMES];
} fail_alloc_record;

/* A block that is allocated, and by whom. `block` is null where the table is free. */
typedef struct fail_alloc_block {
  void* block;
  uint32_t frames;
  void* frame[FAIL_ALLOC_FRAMES];
} fail_alloc_block;

/* Counts from 0 on; the n-th allocation of all threads from now on fails, none for 0. */
__attribute__((visibility("default"))) void fail_alloc_arm(uint64_t n, fail_alloc_record* record);
/* Allocations since fail_alloc_arm. */
__attribute__((visibility("default"))) uint64_t fail_alloc_count(void);
/* Blocks that are allocated and not freed. */
__attribute__((visibility("default"))) int64_t fail_alloc_live(void);
/* Writes what is allocated from now on into a table of FAIL_ALLOC_BLOCKS; none for null. What does not fit is left out. */
__attribute__((visibility("default"))) void fail_alloc_watch(fail_alloc_block* table);
/* The stack of the caller, innermost first; returns how many frames there are, at most FAIL_ALLOC_FRAMES. */
__attribute__((visibility("default"))) uint32_t fail_alloc_stack(void** frames);

#ifdef __cplusplus
}
#endif
#endif /* TESTS_FAULTS_FAIL_ALLOC_H_ */
