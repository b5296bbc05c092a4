// TENON_TEST_SANITIZED: 1 when a sanitizer holds memory of its own for each byte, and keeps what was freed. GCC and clang tell it in
// different ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TENON_TEST_SANITIZED 1
#endif
#endif
#ifndef TENON_TEST_SANITIZED
#define TENON_TEST_SANITIZED 0
#endif
