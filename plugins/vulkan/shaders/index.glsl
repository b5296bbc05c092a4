// Indices of int32 or int64, and the flag for those out of range: is_set, size, low and high word. It is bound at FLAG_BINDING;
// `flag_at` is its first word.
layout(std430, binding = FLAG_BINDING) buffer Flag { uint flag[]; };

// Keeps the first index out of range. The host looks after it has waited.
void flag_index(uint low, uint high, int size) {
  if (atomicCompSwap(flag[flag_at], 0u, 1u) != 0u) return;
  flag[flag_at + 1] = uint(size);
  flag[flag_at + 2] = low;
  flag[flag_at + 3] = high;
}
// The place of an index; negative ones count from the end. Out of range: sets the flag and returns -1.
int place_of(uint low, uint high, int size) {
  const int index = int(low);
  const bool fits = high == (index < 0 ? 0xffffffffu : 0u);
  const int at = index < 0 ? index + size : index;
  if (fits && at >= 0 && at < size) return at;
  flag_index(low, high, size);
  return -1;
}
#define PLACE_OF(words, type, i, size)                                        \
  ((type) == INT64 ? place_of(words[2 * uint(i)], words[2 * uint(i) + 1], size) \
                   : place_of(words[uint(i)], int(words[uint(i)]) < 0 ? 0xffffffffu : 0u, size))
