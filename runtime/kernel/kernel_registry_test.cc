#include "runtime/kernel/kernel_registry.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::Status Succeed(KernelContext&) { return absl::OkStatus(); }
bool TakesInts(const KernelContext& context) { return context.Int(0).ok(); }

constexpr Kernel kReferenceKernels[] = {
    {.op = "aten.relu.default", .name = "Relu", .engine = KernelEngine::kReference, .run = Succeed},
    {.op = "aten.add.Tensor", .name = "Add", .engine = KernelEngine::kReference, .run = Succeed},
};
constexpr Kernel kFastKernels[] = {
    {.op = "aten.add.Tensor",
     .name = "AddInt",
     .engine = KernelEngine::kHighway,
     .run = Succeed,
     .accepts = TakesInts},
};

TEST(KernelRegistryTest, FindTakesTheLastRowThatAccepts) {
  KernelRegistry registry;
  ASSERT_OK(registry.Add(kReferenceKernels));
  ASSERT_OK(registry.Add(kFastKernels));
  EValue number(int64_t{1}), none;
  EValue* const numbers[] = {&number};
  EValue* const nones[] = {&none};
  EXPECT_EQ(registry.Find("aten.add.Tensor", KernelContext(numbers, {}, nullptr, {})),
            &kFastKernels[0]);
  EXPECT_EQ(registry.Find("aten.add.Tensor", KernelContext(nones, {}, nullptr, {})),
            &kReferenceKernels[1]);
}

TEST(KernelRegistryTest, FindOfAnUnknownOrRefusedCallIsNull) {
  KernelRegistry registry;
  ASSERT_OK(registry.Add(kFastKernels));
  EValue none;
  EValue* const nones[] = {&none};
  const KernelContext context(nones, {}, nullptr, {});
  EXPECT_EQ(registry.Find("aten.mul.Tensor", context), nullptr);
  EXPECT_EQ(registry.Find("aten.add.Tensor", context), nullptr);
}

TEST(KernelRegistryTest, CandidatesAreInOrderOfPreference) {
  KernelRegistry registry;
  ASSERT_OK(registry.Add(kReferenceKernels));
  ASSERT_OK(registry.Add(kFastKernels));
  EXPECT_THAT(registry.Candidates("aten.add.Tensor"),
              ElementsAre(&kFastKernels[0], &kReferenceKernels[1]));
  EXPECT_THAT(registry.Candidates("none"), IsEmpty());
}

TEST(KernelRegistryTest, OperatorsAreSorted) {
  KernelRegistry registry;
  ASSERT_OK(registry.Add(kReferenceKernels));
  EXPECT_THAT(registry.Operators(), ElementsAre("aten.add.Tensor", "aten.relu.default"));
  EXPECT_TRUE(registry.Contains("aten.add.Tensor"));
  EXPECT_FALSE(registry.Contains("aten.add"));
}

TEST(KernelRegistryTest, ARepeatedNameAddsNothing) {
  constexpr Kernel kMixed[] = {
      {.op = "aten.mul.Tensor", .name = "Mul", .engine = KernelEngine::kReference, .run = Succeed},
      {.op = "aten.add.Tensor", .name = "Add", .engine = KernelEngine::kReference, .run = Succeed},
  };
  KernelRegistry registry;
  ASSERT_OK(registry.Add(kReferenceKernels));
  EXPECT_THAT(registry.Add(kMixed),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("aten.add.Tensor already has a kernel named Add")));
  EXPECT_FALSE(registry.Contains("aten.mul.Tensor"));
  EXPECT_EQ(registry.Candidates("aten.add.Tensor").size(), 1u);
}

TEST(KernelRegistryTest, ANameRepeatedWithinOneTableAddsNothing) {
  constexpr Kernel kTwice[] = {kFastKernels[0], kFastKernels[0]};
  KernelRegistry registry;
  EXPECT_THAT(registry.Add(kTwice), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(registry.Operators(), IsEmpty());
}

}  // namespace
}  // namespace belay
