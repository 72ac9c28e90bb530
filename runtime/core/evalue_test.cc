#include "runtime/core/evalue.h"

#include <complex>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

static_assert(!std::is_constructible_v<EValue, const char*>, "a pointer is no bool");

TEST(EValueTest, HasKindOfInitializer) {
  EXPECT_TRUE(EValue().is_none());
  EXPECT_TRUE(EValue(true).is<bool>());
  EXPECT_TRUE(EValue(int64_t{1}).is<int64_t>());
  EXPECT_TRUE(EValue(1.0).is<double>());
  EXPECT_TRUE(EValue(std::string_view("x")).is<std::string_view>());
  EXPECT_TRUE(EValue(DType::kBool).is<DType>());
  EXPECT_TRUE(EValue(MemoryFormat::kPreserve).is<MemoryFormat>());
}

TEST(EValueTest, GetIfOfAnotherKindIsNull) {
  const EValue value(int64_t{3});
  ASSERT_NE(value.get_if<int64_t>(), nullptr);
  EXPECT_EQ(*value.get_if<int64_t>(), 3);
  EXPECT_EQ(value.get_if<double>(), nullptr);
  EXPECT_EQ(value.get_if<TensorView>(), nullptr);
}

TEST(EValueTest, ScalarsAreIntDoubleBoolAndComplex) {
  EXPECT_TRUE(EValue(int64_t{1}).is_number());
  EXPECT_TRUE(EValue(1.0).is_number());
  EXPECT_TRUE(EValue(false).is_number());
  EXPECT_TRUE(EValue(std::complex<double>(1, 2)).is_number());
  EXPECT_FALSE(EValue().is_number());
  EXPECT_FALSE(EValue(DType::kInt8).is_number());
}

TEST(EValueTest, KindNameNamesTheKind) {
  EValue element(int64_t{1});
  EValue* const elements[] = {&element, &element};
  const TestTensor tensor = TestTensor::Zeros(DType::kFloat32, {2, 3});
  EXPECT_EQ(EValue().KindName(), "none");
  EXPECT_EQ(EValue(int64_t{1}).KindName(), "int");
  EXPECT_EQ(EValue(1.0).KindName(), "float");
  EXPECT_EQ(EValue(true).KindName(), "bool");
  EXPECT_EQ(EValue(std::complex<double>(0, 1)).KindName(), "complex");
  EXPECT_EQ(EValue(std::string_view("s")).KindName(), "string");
  EXPECT_EQ(EValue(tensor.view()).KindName(), "tensor f32[2,3]");
  EXPECT_EQ(EValue(ListView{elements}).KindName(), "list of 2");
  EXPECT_EQ(EValue(DType::kBool).KindName(), "dtype");
  EXPECT_EQ(EValue(MemoryFormat::kContiguous).KindName(), "memory_format");
}

TEST(EValueTest, ListsSeeUpdatesOfTheirSlots) {
  EValue slot(int64_t{1});
  EValue* const slots[] = {&slot};
  const EValue list(ListView{slots});
  slot = EValue(int64_t{5});
  EXPECT_EQ(*list.get_if<ListView>()->elements[0]->get_if<int64_t>(), 5);
}

}  // namespace
}  // namespace belay
