#include "exir/testing/program_text.h"

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(ProgramTextTest, ReplacesAllOccurrencesInOrder) {
  EXPECT_EQ(Replaced("%a = f(%b, %b)", {{"%b", "%c"}, {"%c, ", ""}}), "%a = f(%c)");
}

TEST(ProgramTextTest, MissingTextFails) {
  EXPECT_NONFATAL_FAILURE(Replaced("%a", {{"%b", "%c"}}), "%b");
}

TEST(ProgramTextTest, ExpandsOperatorsOfCalls) {
  EXPECT_EQ(WithOperators("%D: f32[2] = D(%Q, 0.5) %o = edge.aten.V(%D) = To(%x)\n Pad(%x)"),
            "%D: f32[2] = edge.quantized_decomposed.dequantize_per_tensor.default(%Q, 0.5) "
            "%o = edge.aten.V(%D) = edge.dim_order_ops._to_dim_order_copy.default(%x)\n "
            "edge.aten.constant_pad_nd.default(%x)");
}

}  // namespace
}  // namespace belay::exir
