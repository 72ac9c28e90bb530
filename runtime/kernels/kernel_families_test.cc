#include "runtime/kernels/kernel_families.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

// "operator: kernel, kernel" in order of preference.
std::vector<std::string> Preferences(const KernelRegistry& registry) {
  std::vector<std::string> lines;
  for (const std::string_view op : registry.Operators()) {
    lines.push_back(absl::StrCat(op, ":"));
    for (const Kernel* kernel : registry.Candidates(op)) {
      absl::StrAppend(&lines.back(), " ", kernel->name);
    }
  }
  return lines;
}

TEST(KernelFamiliesTest, FamiliesAddUpToStandardKernels) {
  KernelRegistry standard, families;
  ASSERT_OK(AddStandardKernels(standard));
  for (const KernelFamily& family : StandardKernelFamilies()) {
    ASSERT_OK(families.Add(family.rows)) << family.file;
  }
  EXPECT_EQ(Preferences(families), Preferences(standard))
      << "a family of reference kernels is missing in kernel_families.cc";
}

// A duplicate row is an error, since it would be hidden by the existing one.
TEST(KernelFamiliesTest, RejectsDuplicateRows) {
  for (const KernelFamily& family : StandardKernelFamilies()) {
    KernelRegistry registry;
    ASSERT_OK(registry.Add(family.rows));
    EXPECT_THAT(AddStandardKernels(registry), StatusIs(absl::StatusCode::kAlreadyExists))
        << family.file;
  }
}

TEST(KernelFamiliesTest, ReferenceFamilyNamesItsFile) {
  const std::vector<KernelFamily> families = StandardKernelFamilies();
  const auto found = std::find_if(families.begin(), families.end(), [](const KernelFamily& family) {
    return family.function == "belay::DataMovementKernels";
  });
  ASSERT_NE(found, families.end());
  EXPECT_EQ(found->file, "runtime/kernels/reference/data_movement.cc");
}

}  // namespace
}  // namespace belay
