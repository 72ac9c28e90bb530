// Kernels on tensors without elements return at once, even if other sizes are huge: a loop over
// those sizes would not end, and their product would overflow.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exir/ops/standard_ops.h"
#include "fuzz/generators/operator_call_generator.h"
#include "fuzz/oracles/execution.h"
#include "runtime/core/random.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::fuzz {
namespace {

TEST(OperatorCallTest, EmptyTensorsWithHugeSizesAreNoOps) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<exir::OpRegistry> ops, exir::CreateStandardOps());
  KernelRegistry reference, preferred;
  ASSERT_OK(AddReferenceKernels(reference));
  ASSERT_OK(AddStandardKernels(preferred));
  const BackendRegistry backends;
  std::set<std::string_view> executed;
  for (const exir::OpOverload* op : CallableOperators(*ops)) {
    if (!preferred.Contains(op->name())) continue;
    for (uint64_t index = 0; index < 40; ++index) {
      Random random(TestSeed(), index);
      std::string bytes(200, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random.Next());
      SCOPED_TRACE(absl::StrCat(op->name(), ", call ", index));
      ByteSource source(bytes);
      const std::string file =
          GenerateOperatorCallFile(source, {&op, 1}, TensorSizes::kHugeEmptyTensors);
      for (const KernelRegistry* kernels : {&reference, &preferred}) {
        ByteSource inputs("");
        const Execution execution =
            Execute(file, {.kernels = *kernels, .backends = backends}, inputs);
        if (execution.stage == "execute") executed.insert(op->name());
      }
    }
  }
  EXPECT_GT(executed.size(), 300u);
}

}  // namespace
}  // namespace belay::fuzz
