// Embeddings with quantized weights against the reference kernels: equal bits.
#include "gtest/gtest.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

struct Packed {
  const char* op;
  int64_t low, high, per_byte;
};
constexpr Packed kPacked[] = {{"quantized_decomposed.embedding_byte", -128, 127, 1},
                              {"quantized_decomposed.embedding_4bit", -8, 7, 2},
                              {"quantized_decomposed.embedding_2bit", -2, 1, 4}};

// `groups` scales per row; 0: scales are a vector.
KernelCall Embedding(const Packed& packed, DType weight, int64_t bytes, int64_t groups,
                     bool zero_points, Layout layout) {
  const Sizes scales = groups == 0 ? Sizes{9} : Sizes{9, groups};
  KernelCall call = {
      std::string(packed.op) + ".default",
      {TestTensorSpec{weight, {9, bytes}, layout, Values::kWide, 0},
       TestTensorSpec{DType::kFloat32, scales, layout, Values::kPositive, 0}, EValue(),
       EValue(packed.low), EValue(packed.high),
       TestTensorSpec{DType::kInt64, {2, 3}, Layout::kRowMajor, Values::kNormal, 9}}};
  if (zero_points) {
    call.arguments[2] = TestTensorSpec{DType::kFloat32, scales, layout, Values::kNormal, 7};
  }
  return call;
}

TEST(QuantizedEmbeddingTest, EveryWidthTypeAndLayout) {
  KernelComparison comparison;
  for (const Packed& packed : kPacked) {
    for (DType weight : {DType::kInt8, DType::kUint8}) {
      for (int64_t bytes : {1, 2, 3, 4, 8, 15, 16, 17, 33, 64, 100, 1040}) {
        for (int64_t groups : {0, 1, 2, 4}) {
          const int64_t width = bytes * packed.per_byte;
          if (groups > 0 && (width % groups != 0 || width / groups < 2)) continue;
          if (groups == 0 && width < 2) continue;
          for (bool zero_points : {false, true}) {
            for (Layout layout : {Layout::kRowMajor, Layout::kReversed, Layout::kGaps}) {
              KernelCall call = Embedding(packed, weight, bytes, groups, zero_points, layout);
              ASSERT_TRUE(comparison.Compare(call));
              call.output_layout = layout;
              ASSERT_TRUE(comparison.Compare(call));
            }
          }
        }
      }
    }
  }
}

TEST(QuantizedEmbeddingTest, EveryResultType) {
  KernelComparison comparison;
  for (const Packed& packed : kPacked) {
    for (DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
      KernelCall call = Embedding(packed, DType::kUint8, 40, 2, true, Layout::kRowMajor);
      call.op = std::string(packed.op) + ".dtype";
      call.arguments.push_back(EValue(dtype));
      call.outputs = {dtype};
      ASSERT_TRUE(comparison.Compare(call));
    }
  }
}

}  // namespace
}  // namespace belay
