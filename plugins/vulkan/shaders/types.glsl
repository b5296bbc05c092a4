// For shaders with the variants float, int, uint, long and ulong: C is the type in which they compute, LOAD and STORE read and
// write elements of a type that it stands for.
#if defined(IS_float)
#define C float
#define LOAD(words, type, i) LOAD_FLOAT(words, type, i)
#define STORE(words, type, i, value) STORE_FLOAT(words, type, i, value)
#elif defined(IS_int)
#define C int
#define LOAD(words, type, i) LOAD_INT(words, type, i)
#define STORE(words, type, i, value) STORE_INT(words, type, i, value)
#elif defined(IS_uint)
#define C uint
#define LOAD(words, type, i) words[uint(i)]
#define STORE(words, type, i, value) words[uint(i)] = (value);
#else
#if defined(IS_long)
#define C int64_t
#else
#define C uint64_t
#endif
#define LOAD(words, type, i) C(pack64(uvec2(words[2 * uint(i)], words[2 * uint(i) + 1])))
#define STORE(words, type, i, value)                       \
  {                                                        \
    const uvec2 halves_ = unpack32(uint64_t(value));       \
    words[2 * uint(i)] = halves_.x;                        \
    words[2 * uint(i) + 1] = halves_.y;                    \
  }
#endif
