#include "backends/demo/demo_kernels.h"

#include "runtime/core/testing.h"

namespace belay::demo {
namespace {

// A loop over the rows would not end.
TEST(DemoKernelsTest, ProductsOfVastlyManyRowsWithoutColumnsAreDone) {
  constexpr int64_t kRows = int64_t{1} << 58;
  const TensorView a = TensorView::Contiguous(DType::kFloat32, {kRows, 0}, nullptr),
                   b = TensorView::Contiguous(DType::kFloat32, {0, 0}, nullptr);
  ASSERT_OK_AND_ASSIGN(const Sizes sizes,
                       DemoResultSizes(DEMO_OP_MM, {a.sizes, b.sizes}, /*bounds=*/false));
  EXPECT_EQ(sizes, Sizes({kRows, 0}));
  RunDemoKernel({.op = DEMO_OP_MM, .alpha = 1, .beta = 1}, {a, b},
                TensorView::Contiguous(DType::kFloat32, sizes, nullptr));
}

}  // namespace
}  // namespace belay::demo
