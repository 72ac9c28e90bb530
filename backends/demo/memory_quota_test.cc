// Loading delegates is an error without leaks, whichever allocation fails. A separate binary, since
// memory_quota.h replaces the allocator.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/demo/demo_blob.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/arena.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/testing/memory_quota.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::demo {

std::vector<const BackendRuntime*> Runtimes();

namespace {

using ::testing::HasSubstr;

// Enough instructions that their tables exceed the tolerance.
constexpr int kMany = 500;

std::string Repeat(std::string_view text, int count, std::string_view between) {
  std::string all;
  for (int i = 0; i < count; ++i) absl::StrAppend(&all, i > 0 ? between : "", text);
  return all;
}

// x + (1, 2, 3), followed by repeated relu.
std::string DemoBlobText() {
  DemoProgram program;
  program.set_num_arguments(1);
  for (int i = 0; i < kMany; ++i) program.add_constants()->add_sizes(3);
  DemoInstruction* add = program.add_instructions();
  add->set_op(DEMO_OP_ADD);
  add->add_operands(0);
  add->add_operands(1);
  add->set_alpha(1);
  for (uint32_t value = kMany + 1; value < 2 * kMany; ++value) {
    DemoInstruction* relu = program.add_instructions();
    relu->set_op(DEMO_OP_RELU);
    relu->add_operands(value);
  }
  program.add_outputs(2 * kMany);
  const std::vector<std::byte> constants(3 * sizeof(float));
  const std::vector<std::byte> blob = WriteDemoBlob(program, constants);
  return std::string(reinterpret_cast<const char*>(blob.data()), blob.size());
}

std::string CompilerBlob() {
  std::string blob = absl::StrCat(kMany, "version:0#");
  for (int i = 0; i < kMany; ++i) {
    absl::StrAppend(&blob, "op:demo::aten.sin.default, numel:6, dtype:torch.float32<debug_handle>",
                    i, "#");
  }
  return blob;
}

std::string MappingBlob() {
  std::string blob = absl::StrCat(kMany, "#");
  for (int i = 0; i < kMany; ++i) absl::StrAppend(&blob, "conv_relu_op,", i, ",");
  return blob;
}

std::string ExecutorBlob() {
  TestProgram program;
  TestMethod method = program.AddMethod("forward");
  uint32_t x = method.Input("x", DType::kFloat32, {2, 3});
  for (int i = 0; i < 100; ++i) {
    const uint32_t y = method.Arena(DType::kFloat32, {2, 3});
    method.Call("aten.relu.default", {x}, {y});
    x = y;
  }
  method.Output(x);
  return program.Serialize();
}

struct Case {
  std::string backend, blob;
  std::string asked;  // its memory request
};

TEST(MemoryQuotaTest, EveryFailedAllocationIsAnErrorWithoutLeaks) {
  if (!kHasMemoryQuota) GTEST_SKIP() << "the sanitizer has its own allocator";
  const Case cases[] = {
      {"demo", DemoBlobText(), "the blob's program"},
      {"demo", DemoBlobText(), "the blob's tables"},
      {"BackendWithCompilerDemo", CompilerBlob(), "the blob's tables"},
      {"BackendWithDelegateMappingDemo", MappingBlob(), "the blob's tables"},
      {"BackendWithNamedDataMap", Repeat("s", 10 * kMany, "\n"), "the blob's tables"},
      {"FirstBackendWithPreprocessAll",
       absl::StrCat("FirstBackendWithPreprocessAll#", kMany, "#",
                    Repeat("CONSTc+aten.add.Tensor", kMany, "+"), "#"),
       "the blob's tables"},
      {"SecondBackendWithPreprocessAll",
       absl::StrCat("SecondBackendWithPreprocessAll#", kMany, "#",
                    Repeat("aten.sin.default", kMany, "+"), "#"),
       "the blob's tables"},
      {"ExecutorBackend", ExecutorBlob(), "bytes of metadata"},
  };
  BackendRegistry backends;
  for (const BackendRuntime* runtime : Runtimes()) ASSERT_OK(backends.Add(runtime));
  KernelRegistry kernels;
  ASSERT_OK(AddStandardKernels(kernels));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.backend);
    TestProgram program;
    program.AddNamedData("c", std::string(6 * sizeof(float), '\0'));
    program.AddNamedData("s", "op:aten.sin.default");
    const uint32_t segment = program.AddSegment(schema::Segment::DELEGATE, c.blob);
    TestMethod method = program.AddMethod("forward");
    const uint32_t x = method.Input("x", DType::kFloat32, {2, 3});
    const uint32_t y = method.Arena(DType::kFloat32, {2, 3});
    method.Delegate(c.backend, segment, {x}, {y});
    method.Output(y);
    ASSERT_OK_AND_ASSIGN(const Program opened, OpenFileBytes(program.Serialize()));
    const auto load = [&] { return Method::Load(opened, "forward", kernels, backends).status(); };
    ASSERT_OK(load());  // one-time allocations are done
    const std::set<std::string> messages = FailEachAllocation(load);
    EXPECT_THAT(messages,
                ::testing::Contains(::testing::AllOf(HasSubstr(c.backend), HasSubstr(c.asked))));
  }
}

}  // namespace
}  // namespace belay::demo
