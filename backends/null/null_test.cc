#include "backends/aot_backend.h"
#include "backends/null/null_backend.h"
#include "backends/null/null_partitioner.h"
#include "backends/null/null_runtime.h"
#include "exir/backend/to_backend.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "fuzz/negative/broken_blobs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::null {
namespace {

constexpr std::string_view kRelu = R"(program edge {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = edge.aten.relu.default(%x)
    return (%y user_output)
  }
})";

TEST(NullPartitionerTest, RejectsEveryNodeWithAReason) {
  const exir::ExportedProgram program = exir::ParseOrDie(kRelu, exir::TestOps());
  const auto partitioner = CreateNullPartitioner({});
  ASSERT_OK_AND_ASSIGN(const exir::PartitionResult result, partitioner->Partition(program));
  EXPECT_TRUE(result.nodes.empty());
  ASSERT_EQ(result.rejections.size(), 1);
  EXPECT_EQ(result.rejections[0].reason, "operator aten.relu.default is not supported");
}

TEST(NullPartitionerTest, LeavesTheProgramUnchanged) {
  const exir::ExportedProgram program = exir::ParseOrDie(kRelu, exir::TestOps());
  const NullBackend backend;
  exir::BackendSet backends;
  ASSERT_TRUE(backends.Add(&backend).ok());
  ASSERT_OK_AND_ASSIGN(const exir::ExportedProgram lowered,
                       exir::ToBackend(program, *CreateNullPartitioner({}), backends));
  EXPECT_EQ(exir::PrintProgram(lowered), exir::PrintProgram(program));
}

TEST(NullBackendTest, NamesTheNodeItCannotCompile) {
  const exir::ExportedProgram program = exir::ParseOrDie(kRelu, exir::TestOps());
  const NullBackend backend;
  exir::BackendSet backends;
  ASSERT_TRUE(backends.Add(&backend).ok());
  const auto lowered = exir::ToBackend("null", program, {}, backends);
  EXPECT_EQ(lowered.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(lowered.status().message()),
              ::testing::HasSubstr("%y: f32[2] = edge.aten.relu.default(%x)"));
}

TEST(NullBackendTest, CompilesEmptyProgramsAndRejectsSpecs) {
  const exir::ExportedProgram empty = exir::ParseOrDie(
      "program edge { graph(%x: f32[2] user_input) { return (%x user_output) } }", exir::TestOps());
  const NullBackend backend;
  ASSERT_OK_AND_ASSIGN(const exir::PreprocessResult result, backend.Preprocess(empty.Clone(), {}));
  EXPECT_TRUE(result.processed.bytes.empty());
  const exir::CompileSpec spec{"level", "3"};
  EXPECT_THAT(backend.Preprocess(empty.Clone(), absl::MakeConstSpan(&spec, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("unknown compile spec 'level'")));
}

// For a call from f32[2,3] to f32[2,3]. One row for each way in which a blob can be invalid.
const fuzz::NegativeBytes kBrokenBlobs[] = {
    {"D1_not_empty", "bytes where none must be", absl::StatusCode::kInvalidArgument,
     "the blob must be empty, but has 1 bytes", [] { return std::string("x"); }},
    {"D8_outputs", "no bytes, but the call has an output", absl::StatusCode::kInvalidArgument,
     "the call has 1 outputs, the blob computes none", [] { return std::string(); }},
};

TEST(NullRuntimeTest, RefusesBrokenBlobs) { fuzz::ExpectRefusals(NullRuntime(), kBrokenBlobs); }

TEST(NullRuntimeTest, AcceptsTheEmptyBlob) {
  ASSERT_OK_AND_ASSIGN(const auto handle, NullRuntime().Init({}, {}));
  KernelContext context({}, {}, nullptr, {});
  EXPECT_OK(handle->Execute(context));
  const EValue output(int64_t{3});
  const EValue* outputs[] = {&output};
  EXPECT_THAT(NullRuntime().Init({.outputs = outputs}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "the call has 1 outputs, the blob computes none"));
}

}  // namespace
}  // namespace belay::null
