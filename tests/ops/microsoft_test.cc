// Operators of com.microsoft that have kernels. With keys of zero every key weighs the same, so that an output is
// the mean of the values that its query may see.
#include "tests/ops/op_cases.h"

namespace tenon::test {

namespace {

const Tensor kNone = none();

std::vector<Attribute> one_head(std::vector<Attribute> more = {}) {
  std::vector<Attribute> all = {{"num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Tensor zeros(std::vector<int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return f32(std::move(dims), std::vector<float>(static_cast<size_t>(count), 0.0f));
}

}  // namespace

// query, key?, value?, past_key?, past_value?, seqlens_k (keys - 1), total_sequence_length, cos?, sin?,
// position_ids?, attention_bias?, head_sink?
OP_CASES_IN(
    "com.microsoft", GroupQueryAttention, 1,
    {{"causal",
      {zeros({1, 3, 2}), zeros({1, 3, 1}), f32({1, 3, 1}, {1, 2, 6}), kNone, kNone, i32({1}, {2}),
       i32({1}, {3})},
      {f32({1, 3, 2}, {1, 1, 1.5f, 1.5f, 3, 3}), zeros({1, 1, 3, 1}), f32({1, 1, 3, 1}, {1, 2, 6})},
      {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}}},
     {"all_see_all",
      {zeros({1, 3, 2}), zeros({1, 3, 1}), f32({1, 3, 1}, {1, 2, 6}), kNone, kNone, i32({1}, {2}),
       i32({1}, {3})},
      {f32({1, 3, 2}, {3, 3, 3, 3, 3, 3}), zeros({1, 1, 3, 1}), f32({1, 1, 3, 1}, {1, 2, 6})},
      {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}, {"causal", int64_t{0}}}},
     {"cache",
      {zeros({1, 1, 1}), zeros({1, 1, 1}), f32({1, 1, 1}, {6}), zeros({1, 1, 2, 1}),
       f32({1, 1, 2, 1}, {1, 2}), i32({1}, {2}), i32({1}, {3})},
      {f32({1, 1, 1}, {3}), zeros({1, 1, 3, 1}), f32({1, 1, 3, 1}, {1, 2, 6})},
      one_head()},
     {"window",
      {zeros({1, 1, 1}), zeros({1, 1, 1}), f32({1, 1, 1}, {6}), zeros({1, 1, 2, 1}),
       f32({1, 1, 2, 1}, {1, 2}), i32({1}, {2}), i32({1}, {3})},
      {f32({1, 1, 1}, {4}), zeros({1, 1, 3, 1}), f32({1, 1, 3, 1}, {1, 2, 6})},
      one_head({{"local_window_size", int64_t{2}}})},
     {"sequences_of_two_lengths",
      {zeros({2, 1, 1}), zeros({2, 1, 1}), f32({2, 1, 1}, {6, 9}), zeros({2, 1, 2, 1}),
       f32({2, 1, 2, 1}, {1, 100, 3, 0}), i32({2}, {1, 2}), i32({1}, {3})},
      {f32({2, 1, 1}, {3.5f, 4}), zeros({2, 1, 3, 1}), f32({2, 1, 3, 1}, {1, 6, 0, 3, 0, 9})},
      one_head()},
     {"room_for_more",
      {zeros({1, 1, 1}), zeros({1, 1, 1}), f32({1, 1, 1}, {6}), zeros({1, 1, 4, 1}),
       f32({1, 1, 4, 1}, {2, 8, 8, 8}), i32({1}, {1}), i32({1}, {2})},
      {f32({1, 1, 1}, {4}), zeros({1, 1, 4, 1}), f32({1, 1, 4, 1}, {2, 6, 0, 0})},
      one_head()},
     {"rotary",
      {zeros({1, 1, 2}), f32({1, 1, 2}, {3, 4}), f32({1, 1, 2}, {5, 7}), zeros({1, 1, 1, 2}),
       f32({1, 1, 1, 2}, {1, 1}), i32({1}, {1}), i32({1}, {2}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1})},
      {f32({1, 1, 2}, {3, 4}), f32({1, 1, 2, 2}, {0, 0, -4, 3}), f32({1, 1, 2, 2}, {1, 1, 5, 7})},
      one_head({{"do_rotary", int64_t{1}}})},
     {"positions",
      {zeros({1, 1, 2}), f32({1, 1, 2}, {3, 4}), f32({1, 1, 2}, {5, 7}), kNone, kNone, i32({1}, {0}),
       i32({1}, {1}), f32({2, 1}, {1, 0}), f32({2, 1}, {0, 1}), i64({1, 1}, {1})},
      {f32({1, 1, 2}, {5, 7}), f32({1, 1, 1, 2}, {-4, 3}), f32({1, 1, 1, 2}, {5, 7})},
      one_head({{"do_rotary", int64_t{1}}})},
     {"packed",
      {f16({1, 1, 3}, {0, 5, 7}), kNone, kNone, kNone, kNone, i32({1}, {0}), i32({1}, {1})},
      {f16({1, 1, 1}, {7}), f16({1, 1, 1, 1}, {5}), f16({1, 1, 1, 1}, {7})},
      one_head()},
     {"capped_scores",
      {f32({1, 1, 1}, {100}), f32({1, 1, 1}, {100}), f32({1, 1, 1}, {6}), zeros({1, 1, 1, 1}),
       f32({1, 1, 1, 1}, {0}), i32({1}, {1}), i32({1}, {2})},
      {f32({1, 1, 1}, {4.386351f}), f32({1, 1, 2, 1}, {0, 100}), f32({1, 1, 2, 1}, {0, 6})},
      one_head({{"softcap", 1.0f}})},
     {"bias",
      {zeros({1, 1, 1}), zeros({1, 1, 1}), f32({1, 1, 1}, {6}), zeros({1, 1, 1, 1}), f32({1, 1, 1, 1}, {2}),
       i32({1}, {1}), i32({1}, {2}), kNone, kNone, kNone, f32({1, 1, 1, 2}, {-1e30f, 1})},
      {f32({1, 1, 1}, {6}), zeros({1, 1, 2, 1}), f32({1, 1, 2, 1}, {2, 6})},
      one_head()},
     {"smooth_softmax",
      {zeros({1, 1, 1}), zeros({1, 1, 1}), f32({1, 1, 1}, {6}), kNone, kNone, i32({1}, {0}), i32({1}, {1})},
      {f32({1, 1, 1}, {3}), zeros({1, 1, 1, 1}), f32({1, 1, 1, 1}, {6})},
      one_head({{"smooth_softmax", int64_t{1}}})},
     {"head_sink",
      {zeros({1, 1, 2}), zeros({1, 1, 1}), f32({1, 1, 1}, {6}), kNone, kNone, i32({1}, {0}), i32({1}, {1}),
       kNone, kNone, kNone, kNone, f32({2}, {-1e30f, 1.0986123f})},
      {f32({1, 1, 2}, {6, 1.5f}), zeros({1, 1, 1, 1}), f32({1, 1, 1, 1}, {6})},
      {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{1}}}}})

// Quarter turns at position 1, half turns at 2: (x, y) becomes (-y, x), then (-x, -y).
const Tensor kCosines = f32({3, 1}, {1, 0, -1}), kSines = f32({3, 1}, {0, 1, 0});
OP_CASES_IN("com.microsoft", RotaryEmbedding, 1,
            {{"heads_by_the_caches",
              {f32({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({1}, {1}), kCosines, kSines},
              {f32({1, 2, 4}, {-2, 1, -4, 3, -5, -6, -7, -8})}},
             {"positions",
              {f32({2, 1, 2}, {1, 2, 3, 4}), i64({2, 1}, {2, 1}), kCosines, kSines},
              {f32({2, 1, 2}, {-1, -2, -4, 3})}},
             {"four_dims",
              {f32({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({1}, {0}), kCosines, kSines},
              {f32({1, 2, 2, 2}, {1, 2, -4, 3, 5, 6, -8, 7})},
              {{"interleaved", int64_t{1}}}},
             {"part_of_a_head",
              {f32({1, 1, 3}, {1, 2, 3}), i64({1}, {2}), kCosines, kSines},
              {f32({1, 1, 3}, {-1, -2, 3})},
              {{"num_heads", int64_t{1}}, {"rotary_embedding_dim", int64_t{2}}}}})
OP_FAILS_IN("com.microsoft", RotaryEmbedding, 1,
            {{"beyond_the_caches",
              {f32({1, 2, 2}, {1, 2, 3, 4}), i64({1}, {2}), kCosines, kSines},
              {f32({1, 2, 2}, {})},
              {},
              "2 positions from 2 of 3"},
             {"width",
              {f32({1, 1, 3}, {1, 2, 3}), i64({1}, {0}), kCosines, kSines},
              {f32({1, 1, 3}, {})},
              {},
              "caches of shape {3, 1} for input {1, 1, 3}"}})

OP_FAILS_IN("com.microsoft", GroupQueryAttention, 1,
            {{"longer_than_the_cache",
              {zeros({1, 1, 1}), zeros({1, 1, 1}), zeros({1, 1, 1}), zeros({1, 1, 2, 1}), zeros({1, 1, 2, 1}),
               i32({1}, {7}), i32({1}, {3})},
              {zeros({1, 1, 1}), zeros({1, 1, 3, 1}), zeros({1, 1, 3, 1})},
              one_head(),
              "has 8 keys of 3"},
             {"no_cosines",
              {zeros({1, 1, 2}), zeros({1, 1, 2}), zeros({1, 1, 2}), kNone, kNone, i32({1}, {0}),
               i32({1}, {1})},
              {zeros({1, 1, 2}), zeros({1, 1, 1, 2}), zeros({1, 1, 1, 2})},
              one_head({{"do_rotary", int64_t{1}}}),
              "cos_cache and sin_cache are missing"}})

OP_CASES_IN("com.microsoft", Inverse, 1,
            {{"batch",
              {f32({2, 2, 2}, {2, 0, 0, 4, 1, 2, 3, 4})},
              {f32({2, 2, 2}, {0.5f, 0, 0, 0.25f, -2, 1, 1.5f, -0.5f})}},
             {"zero_as_first_pivot",
              {f64({3, 3}, {0, 2, 0, 1, 0, 0, 0, 0, 5})},
              {f64({3, 3}, {0, 1, 0, 0.5, 0, 0, 0, 0, 0.2})}},
             {"one_by_one", {f32({1, 1}, {-8})}, {f32({1, 1}, {-0.125f})}},
             {"no_matrices", {f32({0, 2, 2}, {})}, {f32({0, 2, 2}, {})}},
             {"empty_matrices", {f32({2, 0, 0}, {})}, {f32({2, 0, 0}, {})}}})
OP_FAILS_IN("com.microsoft", Inverse, 1,
            {{"not_square", {f32({2, 3}, {1, 2, 3, 4, 5, 6})}, {f32({2, 3}, {})}, {}, "[B..., N, N]"},
             {"one_dim", {f32({4}, {1, 2, 3, 4})}, {f32({4}, {})}, {}, "[B..., N, N]"}})

namespace {

std::vector<Attribute> tokens(std::vector<Attribute> more, int64_t mark = 0, int64_t least = 1) {
  std::vector<Attribute> all = {{"mark", mark}, {"mincharnum", least}, {"pad_value", std::string("#")}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
Attribute separators(std::vector<std::string> list) { return {"separators", std::move(list)}; }
Attribute expression(const char* text) { return {"tokenexp", std::string(text)}; }

}  // namespace

OP_CASES_IN(
    "com.microsoft", Tokenizer, 1,
    {{"characters_with_marks",
      {strings({2}, {"a\u00e9\u65e5", ""})},
      {strings({2, 5}, {"\x02", "a", "\u00e9", "\u65e5", "\x03", "\x02", "\x03", "#", "#", "#"})},
      tokens({separators({""})}, 1)},
     {"dot_is_characters",
      {strings({1}, {"a\n"})},
      {strings({1, 2}, {"a", "\n"})},
      tokens({expression(".")})},
     {"separators_one_after_the_other",
      {strings({1, 2}, {"ab, cd", "e,,f"})},
      {strings({1, 2, 2}, {"ab", "cd", "e", "f"})},
      tokens({separators({",+", " "})})},
     {"the_longest_separator",
      {strings({1}, {"xabcy"})},
      {strings({1, 2}, {"x", "y"})},
      tokens({separators({"ab|abc"})})},
     {"a_part_has_its_own_begin",
      {strings({1}, {"ax,ay"})},
      {strings({1, 2}, {"x", "y"})},
      tokens({separators({",", "^a"})})},
     {"short_ones_are_dropped",
      {strings({2}, {"a bc \u00e9", "d"})},
      {strings({2, 1}, {"bc", "#"})},
      tokens({separators({" "})}, 0, 2)},
     {"expression",
      {strings({2}, {"Ab1c", "xyz"})},
      {strings({2, 2}, {"b", "c", "xyz", "#"})},
      tokens({expression("[a-z]+")})},
     {"too_short_a_match_is_searched_again",
      {strings({1}, {"1ab22"})},
      {strings({1, 2}, {"ab", "22"})},
      tokens({expression("[a-z]+|[0-9]+")}, 0, 2)},
     {"nothing_left", {strings({2}, {" ", ""})}, {strings({2, 0}, {})}, tokens({separators({" "})}, 1)},
     {"no_strings", {strings({0}, {})}, {strings({0}, {})}, tokens({separators({" "})})},
     {"no_strings_in_rows", {strings({2, 0}, {})}, {strings({2, 0}, {})}, tokens({separators({" "})})}})
OP_FAILS_IN("com.microsoft", Tokenizer, 1,
            {{"not_utf8",
              {strings({2}, {"a", "b\xC3"})},
              {strings({2, 1}, {"", ""})},
              tokens({separators({" "})}),
              "string 1 of 'X' is not valid UTF-8"},
             {"a_surrogate",
              {strings({1}, {"\xED\xA0\x80"})},
              {strings({1, 1}, {""})},
              tokens({separators({""})}),
              "not valid UTF-8"},
             {"rank_3",
              {strings({1, 1, 1}, {"a"})},
              {strings({1, 1, 1, 1}, {""})},
              tokens({separators({" "})}),
              "rank 1..2"},
             {"a_separator_of_nothing",
              {strings({1}, {"a"})},
              {strings({1, 1}, {""})},
              tokens({separators({"x*"})}),
              "also matches the empty string"},
             {"a_broken_pattern",
              {strings({1}, {"a"})},
              {strings({1, 1}, {""})},
              tokens({expression("(")}),
              "unmatched '('"}})

// Expected values are those of scikit-learn's murmurhash3_32.
OP_CASES_IN("com.microsoft", MurmurHash3, 1,
            {{"texts_of_all_lengths",
              {strings({3, 3}, {"", "a", "ab", "abc", "abcd", "abcde", "abcdefgh", "abcdefghi",
                                "abcdefghijklmnopq"})},
              {u32({3, 3}, {0, 1009084850, 2613040991, 3017643002, 1139631978, 3902511862, 1239272644,
                            1108608752, 3060096586})}},
             {"signed_with_a_seed",
              {strings({4}, {"", "\u00e9", "\u65e5\u672c", "Hello World!"})},
              {i32({4}, {142593372, 1023967903, 685738085, 3565178})},
              {{"positive", int64_t{0}}, {"seed", int64_t{42}}}},
             {"negative_seed",
              {strings({2}, {"", "ab"})},
              {u32({2}, {2180083513, 2944253413})},
              {{"seed", int64_t{-1}}}},
             {"int32", {i32({3}, {3, -4, 0})}, {u32({3}, {847579505, 3462397793, 593689054})}},
             {"int32_signed",
              {i32({3}, {3, -4, 0})},
              {i32({3}, {847579505, -832569503, 593689054})},
              {{"positive", int64_t{0}}}},
             {"uint32", {u32({2, 1}, {3, 4})}, {u32({2, 1}, {847579505, 1889779975})}},
             {"int64", {i64({2}, {3, -4})}, {u32({2}, {2738575283, 2872867874})}},
             {"uint64", {u64({2}, {3, 4})}, {u32({2}, {2738575283, 3491892518})}},
             {"float", {f32({2}, {1.5f, -0.0f})}, {u32({2}, {376679366, 2576668564})}},
             {"double", {f64({2}, {1.5, -0.0})}, {u32({2}, {4034560987, 1366273829})}},
             {"scalar", {i32({}, {3})}, {u32({}, {847579505})}},
             {"nothing", {strings({2, 0}, {})}, {u32({2, 0}, {})}}})
OP_FAILS_IN("com.microsoft", MurmurHash3, 1,
            {{"small_integers", {i16({1}, {1})}, {u32({1}, {0})}, {}, "a number of 32 or 64 bits"}})

}  // namespace tenon::test
