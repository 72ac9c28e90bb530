#include "runtime/kernel_interface/kernel_registry.h"

#include <cstdint>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_arguments.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct IntCall {
  static absl::StatusOr<IntCall> Read(const KernelArguments& arguments) {
    ABSL_RETURN_IF_ERROR(arguments.StaticInt("x").status());
    return IntCall();
  }
};
absl::Status Succeed(KernelContext&, const IntCall&) { return absl::OkStatus(); }
bool TakesInts(const KernelContext&, const IntCall&) { return true; }

constexpr Kernel Row(std::string_view op, std::string_view name) {
  return KernelRow<&Succeed>(op, "x -> 0", name, KernelEngine::kReference);
}
constexpr Kernel kReferenceKernels[] = {Row("aten.relu.default", "Relu"),
                                        Row("aten.add.Tensor", "Add")};
constexpr Kernel kFastKernels[] = {
    KernelRow<&Succeed, &TakesInts>("aten.add.Tensor", "x -> 0", "AddInt", KernelEngine::kHighway),
};

TEST(KernelRegistryTest, FindReturnsTheLastAcceptingRow) {
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

TEST(KernelRegistryTest, FindReturnsNullForUnknownOrRejectedCalls) {
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

TEST(KernelRegistryTest, DuplicateNameAddsNothing) {
  constexpr Kernel kMixed[] = {Row("aten.mul.Tensor", "Mul"), Row("aten.add.Tensor", "Add")};
  KernelRegistry registry;
  ASSERT_OK(registry.Add(kReferenceKernels));
  EXPECT_THAT(registry.Add(kMixed),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("aten.add.Tensor already has a kernel named Add")));
  EXPECT_FALSE(registry.Contains("aten.mul.Tensor"));
  EXPECT_EQ(registry.Candidates("aten.add.Tensor").size(), 1u);
}

TEST(KernelRegistryTest, DuplicateNameInOneTableAddsNothing) {
  constexpr Kernel kTwice[] = {kFastKernels[0], kFastKernels[0]};
  KernelRegistry registry;
  EXPECT_THAT(registry.Add(kTwice), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(registry.Operators(), IsEmpty());
}

}  // namespace
}  // namespace belay
