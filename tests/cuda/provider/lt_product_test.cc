// What cuBLASLt is asked for: layouts, sums and clamps of a product.
#include "plugins/cuda/product.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon::test {
namespace {

using cuda::LtProduct;
using cuda::ProductTypes;
using ep::ops::GemmArgs;

GemmArgs plain(int32_t rows, int32_t depth, int32_t columns) {
  GemmArgs out;
  out.shape.rows = rows;
  out.shape.columns = columns;
  out.shape.depth = depth;
  out.shape.a_row = depth;
  out.shape.b_depth = out.shape.y_row = columns;
  out.shape.batches = ep::make_walk({}, {}, true);
  return out;
}

TEST(CudaLtProduct, PutsSumsAndClampsWhereTheLibraryHasThem) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  GemmArgs args = plain(4, 5, 6);
  args.beta = 1;
  args.shape.bias_column = 1;
  args.lowest = 0;
  args.highest = kInfinity;
  auto product = cuda::lt_product(args, {}, false);
  ASSERT_TRUE(product.has_value());
  EXPECT_TRUE(product->has_bias && product->relu && product->is_finished());
  EXPECT_EQ(product->addition, LtProduct::Addition::kNone);

  product = cuda::lt_product(args, {}, true);  // a tensor to add too
  EXPECT_TRUE(product->has_bias && product->relu && product->is_finished());
  EXPECT_EQ(product->addition, LtProduct::Addition::kAddend);
  EXPECT_EQ(product->beta, 1);

  args.highest = 6;
  product = cuda::lt_product(args, {}, false);
  EXPECT_TRUE(product->has_bias && !product->relu && product->clamps_later);

  args.beta = 2;  // the library adds a vector unscaled
  product = cuda::lt_product(args, {}, false);
  EXPECT_TRUE(!product->has_bias && product->adds_bias_later);

  args = plain(4, 5, 6);
  args.beta = 2;
  args.shape.bias_row = 6;
  args.shape.bias_column = 1;
  product = cuda::lt_product(args, {}, false);
  EXPECT_EQ(product->addition, LtProduct::Addition::kBias);
  EXPECT_EQ(product->beta, 2);
  EXPECT_TRUE(product->is_finished());
  product = cuda::lt_product(args, {}, true);
  EXPECT_EQ(product->addition, LtProduct::Addition::kAddend);
  EXPECT_TRUE(product->adds_bias_later && !product->adds_addend_later);

  args.beta = 1;
  args.shape.bias_row = 1;
  args.shape.bias_column = 0;  // a number for each row
  EXPECT_TRUE(cuda::lt_product(args, {}, false)->adds_bias_later);

  const ProductTypes doubles{TENON_FLOAT64, TENON_FLOAT64, 0, false};
  args = plain(4, 5, 6);
  args.highest = kInfinity;
  product = cuda::lt_product(args, doubles, true);
  EXPECT_TRUE(product->adds_addend_later && product->clamps_later && !product->relu);
}

TEST(CudaLtProduct, TakesStridesAsTheyAre) {
  GemmArgs args = plain(4, 5, 6);
  args.shape.a_row = 1;  // a by columns
  args.shape.a_depth = 7;
  args.shape.b_depth = 9;
  args.shape.y_row = 11;
  auto product = cuda::lt_product(args, {}, false);
  ASSERT_TRUE(product.has_value());
  EXPECT_TRUE(product->right_transposed && !product->left_transposed);
  EXPECT_EQ(product->right.leading, 7);
  EXPECT_EQ(product->left.leading, 9);
  EXPECT_EQ(product->d.leading, 11);
  EXPECT_EQ(product->d.rows, 6);
  EXPECT_EQ(product->d.columns, 4);
  const ProductTypes turned{TENON_FLOAT32, TENON_FLOAT32, 0, true};
  product = cuda::lt_product(args, turned, false);
  EXPECT_TRUE(product->left_transposed);
  EXPECT_EQ(product->left.rows, 5);
  args.shape.a_depth = 2;  // steps along both axes
  args.shape.a_row = 10;
  EXPECT_FALSE(cuda::lt_product(args, {}, false).has_value());
  EXPECT_FALSE(cuda::lt_product(plain(4, 0, 6), {}, false).has_value());
  EXPECT_FALSE(cuda::lt_product(plain(4, 5, 6), {TENON_INT64, TENON_INT64, 0, false}, false).has_value());
  EXPECT_FALSE(cuda::lt_product(plain(0, 5, 6), {}, false).has_value());
}

TEST(CudaLtProduct, TakesBytesOnlyInTheLayoutOfTensorCores) {
  const ProductTypes bytes{TENON_INT8, TENON_INT32, 0, true};
  GemmArgs args = plain(3, 8, 12);
  args.shape.b_depth = 8;
  EXPECT_TRUE(cuda::lt_product(args, bytes, false).has_value());
  ProductTypes other = bytes;
  other.b_turned = false;
  EXPECT_FALSE(cuda::lt_product(plain(3, 8, 12), other, false).has_value());
  args.shape.columns = args.shape.y_row = 10;  // no whole words
  EXPECT_FALSE(cuda::lt_product(args, bytes, false).has_value());
}

TEST(CudaLtProduct, AskAboutLikeProductsOnce) {
  const auto question = [](int32_t rows, int32_t depth, int32_t columns, uint32_t alignment) {
    return cuda::question_of(*cuda::lt_product(plain(rows, depth, columns), {}, false), {}, alignment);
  };
  EXPECT_EQ(question(1000, 64, 64, 16), question(1016, 64, 64, 16));
  EXPECT_NE(question(1000, 64, 64, 16), question(1001, 64, 64, 16));
  EXPECT_NE(question(1000, 64, 64, 16), question(2000, 64, 64, 16));
  EXPECT_NE(question(1000, 64, 64, 16), question(64, 64, 1000, 16));
  EXPECT_NE(question(1000, 64, 64, 16), question(1000, 64, 64, 4));
  EXPECT_EQ(question(8, 8, 8, 4).find(' '), std::string::npos);
}

}  // namespace
}  // namespace tenon::test
