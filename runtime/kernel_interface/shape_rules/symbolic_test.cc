#include "runtime/kernel_interface/shape_rules/symbolic.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(SymbolicTest, DimensionMustExist) {
  EXPECT_THAT(ReadStatus<OfDimensionCall<K>>("self dim", {Tensor({}), 0}),
              StatusIs(kRange, "argument 'dim': dim 0 of a tensor without dimensions"));
  EXPECT_THAT(ReadStatus<OfDimensionCall<K>>("self dim", {Tensor({3}), 1}),
              StatusIs(kRange, "argument 'dim': dim 1 is out of range [-1, 0]"));
}

TEST(SymbolicTest, AssertedTensorHasOneElement) {
  EXPECT_OK(CheckShapesOf<AssertTensorCall<K>>("self", {Tensor({1, 1})}));
  EXPECT_THAT(CheckShapesOf<AssertTensorCall<K>>("self", {Tensor({2})}),
              StatusIs(kInvalid, "argument 'self': expected one element, got 2"));
}

TEST(SymbolicTest, AbsentMetadataIsNotAsserted) {
  const TestCall call("a size dtype", {Tensor({3}, DType::kInt8), None(), None()});
  ASSERT_OK_AND_ASSIGN(const AssertMetadataCall<K> read, call.Read<AssertMetadataCall<K>>());
  EXPECT_FALSE(read.has_sizes);
  EXPECT_EQ(read.dtype, DType::kInt8);
}

TEST(SymbolicTest, MemoryFormatDefaultsToContiguous) {
  const TestCall other("self memory_format", {Tensor({3}), EValue(MemoryFormat::kChannelsLast)});
  EXPECT_EQ(other.Read<IsContiguousCall<K>>()->format, MemoryFormat::kChannelsLast);
  EXPECT_THAT(ReadStatus<IsContiguousCall<K>>("self memory_format", {Tensor({3}), 1}),
              StatusIs(kInvalid, HasSubstr("argument 'memory_format'")));
}

}  // namespace
}  // namespace belay
