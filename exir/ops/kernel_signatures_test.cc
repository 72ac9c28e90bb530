// Kernels read their arguments by the names of the operator's schema: checks that the names in the
// runtime's rows are those of the compiler's rows.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "exir/op_definition/op_registry.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::exir {
namespace {

std::string SignatureOf(const FunctionSchema& schema) {
  std::string text;
  for (const SchemaArgument& argument : schema.arguments) {
    absl::StrAppend(&text, text.empty() ? "" : " ", argument.name);
  }
  if (schema.returns.size() != 1) absl::StrAppend(&text, " -> ", schema.returns.size());
  return text;
}

TEST(KernelSignaturesTest, MatchTheNamesOfTheSchemas) {
  KernelRegistry kernels;
  ASSERT_OK(AddStandardKernels(kernels));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, CreateStandardOps());
  int signatures = 0;
  for (std::string_view name : kernels.Operators()) {
    for (const Kernel* kernel : kernels.Candidates(name)) {
      if (name.starts_with("belay.")) continue;  // only emitted, not in programs
      const OpOverload* op = ops->Find(name);
      ASSERT_NE(op, nullptr) << name;
      ASSERT_NE(op->schema(), nullptr) << name;
      EXPECT_EQ(kernel->signature, SignatureOf(*op->schema())) << name << ", " << kernel->name;
      ++signatures;
    }
  }
  EXPECT_GT(signatures, 30);
}

}  // namespace
}  // namespace belay::exir
