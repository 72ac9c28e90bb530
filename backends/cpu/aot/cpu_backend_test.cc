#include "backends/cpu/aot/cpu_backend.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;

// A matmul with a weight of 32 columns: one panel.
exir::ExportedProgram Product(int rows) {
  return exir::ParseOrDie(
      absl::StrCat("program edge { constants { constant \"w\": f32[", rows, ",32] } graph(%w: f32[",
                   rows, ",32] tensor_constant \"w\", %x: f32[2,", rows,
                   "] user_input) { %y: f32[2,32] = edge.aten.mm.default(%x, %w) "
                   "return (%y user_output) } }"),
      CpuPassTestOps());
}

TEST(CpuBackend, SharesConstantsOf1024Bytes) {
  const auto shared = [](int rows) {
    const absl::StatusOr<exir::PreprocessResult> result =
        CpuBackend().Preprocess(Product(rows), {});
    EXPECT_OK(result);
    return result->named_data.buffers.size();
  };
  EXPECT_EQ(shared(7), 0u);  // 896 bytes
  EXPECT_EQ(shared(8), 1u);
}

TEST(CpuBackend, RejectsUnknownCompileSpecs) {
  const exir::CompileSpec spec = {.key = "speed", .value = "10"};
  EXPECT_THAT(CpuBackend().Preprocess(Product(8), {spec}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("compile spec 'speed'")));
}

}  // namespace
}  // namespace belay::cpu
