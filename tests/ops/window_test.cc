// Windows, quantised numbers and recurrent networks.
#include "tests/ops/halves.h"

namespace tenon::test {
namespace {

OP_CASES(AveragePool, 19,
         {{"pads",
           {halves({1, 1, 3, 3})},
           {f32({1, 1, 3, 3}, {-2.5f, -0.75f, 0, 0, 0.375f, -0.25f, 2.25f, 1.25f, -0.75f})},
           {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}}}})

OP_CASES(MaxPool, 12,
         {{"strides",
           {halves({1, 1, 4, 4})},
           {f32({1, 1, 2, 2}, {1, 2.5f, 1.5f, 2.5f})},
           {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}}})

OP_CASES(LpPool, 18,
         {{"line",
           {halves({1, 1, 5})},
           {f32({1, 1, 4}, {2.6925824f, 1.4142135f, 2.6925824f, 2.5495098f})},
           {{"kernel_shape", Ints{2}}, {"p", int64_t{2}}}}})

OP_CASES(GlobalAveragePool, 1, {{"planes", {halves({1, 2, 2, 2})}, {f32({1, 2, 1, 1}, {0, 0.25f})}}})

OP_CASES(GlobalMaxPool, 1, {{"planes", {halves({1, 2, 2, 2})}, {f32({1, 2, 1, 1}, {2.5f, 2})}}})

OP_CASES(GlobalLpPool, 2, {{"planes", {f32({1, 1, 2}, {3, 4})}, {f32({1, 1, 1}, {5})}}})

OP_CASES(MaxUnpool, 11,
         {{"plane",
           {f32({1, 1, 2, 2}, {1, 2, 3, 4}), i64({1, 1, 2, 2}, {5, 7, 13, 15})},
           {f32({1, 1, 4, 4}, {0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4})},
           {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}}})

OP_CASES(ConvTranspose, 11,
         {{"strides",
           {halves({1, 1, 2, 2}), halves({1, 2, 2, 2}), f32({2}, {1, 2})},
           {f32({1, 2, 4, 3}, {7.25f, -4,    2,    3.5f, -6.25f, 3.5f, 3.5f, -6.25f, 3.5f,   2, -4, 7.25f,
                               0.75f, 6.25f, 0.5f, -3,   4,      2,    1.5f, 4.75f,  -1.75f, 0, 7,  2})},
           {{"strides", Ints{2, 1}}}}})

OP_CASES(ConvInteger, 10,
         {{"plane",
           {u8({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}), u8({1, 1, 2, 2}, {1, 2, 1, 1}), u8({}, {1})},
           {i32({1, 1, 2, 2}, {14, 19, 29, 34})}}})

OP_CASES(QLinearConv, 10,
         {{"plane",
           {u8({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}), f32({}, {0.5f}), u8({}, {2}),
            u8({1, 1, 2, 2}, {1, 2, 3, 1}), f32({}, {0.25f}), u8({}, {1}), f32({}, {0.25f}), u8({}, {10})},
           {u8({1, 1, 2, 2}, {10, 12, 15, 16})}}})

OP_CASES(QLinearMatMul, 10,
         {{"rows",
           {u8({2, 2}, {10, 20, 30, 5}), f32({}, {0.5f}), u8({}, {3}), u8({2, 1}, {2, 7}), f32({}, {0.25f}),
            u8({}, {1}), f32({}, {2}), u8({}, {100})},
           {u8({2, 1}, {107, 102})}}})

OP_CASES(QuantizeLinear, 13,
         {{"axis",
           {halves({2, 3}), f32({2}, {0.5f, 0.25f}), u8({2}, {10, 20})},
           {u8({2, 3}, {5, 12, 8, 30, 22, 14})},
           {{"axis", int64_t{0}}}},
          {"tensor", {halves({2, 2}), f32({}, {0.5f})}, {u8({2, 2}, {0, 2, 0, 5})}}})

OP_CASES(DequantizeLinear, 19,
         {{"axis",
           {i8({2, 2}, {1, 2, 3, 4}), f32({2}, {0.5f, 2}), i8({2}, {1, -1})},
           {f32({2, 2}, {0, 6, 1, 10})},
           {{"axis", int64_t{1}}}}})

OP_CASES(
    DynamicQuantizeLinear, 11,
    {{"range", {halves({5})}, {u8({5}, {0, 178, 76, 254, 153}), f32({}, {0.019607844f}), u8({}, {127})}}})

OP_CASES(RNN, 14,
         {{"forward",
           {halves({2, 1, 2}), halves({1, 2, 2}), halves({1, 2, 2})},
           {f32({2, 1, 1, 2}, {0.99999899f, 0.99990922f, 0.99817759f, 0.99999994f}),
            f32({1, 1, 2}, {0.99817759f, 0.99999994f})},
           {{"hidden_size", int64_t{2}}}}})

OP_CASES(GRU, 14,
         {{"forward",
           {halves({2, 1, 2}), halves({1, 6, 2}), halves({1, 6, 2})},
           {f32({2, 1, 1, 2}, {0.0007096497f, -0.0056774155f, 0.0074473252f, -0.0063936338f}),
            f32({1, 1, 2}, {0.0074473252f, -0.0063936338f})},
           {{"hidden_size", int64_t{2}}}}})

OP_CASES(LSTM, 14,
         {{"forward",
           {halves({2, 1, 2}), halves({1, 8, 2}), halves({1, 8, 2}), halves({1, 16})},
           {f32({2, 1, 1, 2}, {0.0086395843f, -0.0050955266f, 0.0026648771f, -0.067028075f}),
            f32({1, 1, 2}, {0.0026648771f, -0.067028075f}), f32({1, 1, 2}, {1.1880972f, -0.62387151f})},
           {{"hidden_size", int64_t{2}}}}})

OP_CASES(RotaryEmbedding, 23,
         {{"positions",
           {halves({1, 1, 2, 4}), halves({3, 2}), f32({3, 2}, {1, 1, 1, 1, 1, 1}), i64({1, 2}, {0, 2})},
           {f32({1, 1, 2, 4}, {7.25f, -1.5f, 0, 3.5f, -1.75f, 2.25f, 1.5f, -1.5f})}}})

OP_CASES(Attention, 23,
         {{"one_head",
           {halves({1, 1, 2, 2}), f32({1, 1, 2, 2}, {-1, 2.5f, -2.5f, 1}), halves({1, 1, 2, 2})},
           {f32({1, 1, 2, 2}, {-1.253867f, 2.2461331f, -2.2461331f, 1.253867f})}}})

OP_CASES(CastLike, 15, {{"int32", {halves({4}), i32({1}, {0})}, {i32({4}, {-2, 1, -1, 2})}}})

OP_CASES(Dropout, 13, {{"inference", {halves({4})}, {halves({4})}}})

}  // namespace
}  // namespace tenon::test
