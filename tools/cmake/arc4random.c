/* libstdc++.a of Debian 12 refers to arc4random, which glibc has from 2.36 on, for std::random_device. Nothing of Tenon uses
 * that class, and the wheel is for older versions of glibc, too. */
#define _GNU_SOURCE
#include <unistd.h>

__attribute__((weak, visibility("hidden"))) unsigned int arc4random(void) {
  unsigned int value = 0;
  while (getentropy(&value, sizeof value) != 0) {
  }
  return value;
}
