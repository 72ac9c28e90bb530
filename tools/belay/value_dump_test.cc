#include "tools/belay/value_dump.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/npy.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kProgram = R"(program edge {
    graph(%x: f32[2] user_input) {
      %r: f32[2] = edge.aten.relu.default(%x) @"m.py":3
      %n: f32[2] = edge.aten.neg.default(%r) @"m.py":4
      return (%n user_output)
    } })";

class ValueDumpTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
  }
  absl::StatusOr<int> Dump(std::string_view text) {
    return DumpValues(exir::ParseOrDie(text, *ops_), kernels_, {EValue(x_.view())}, Path("dump"));
  }
  absl::StatusOr<DumpComparison> Compare() {
    return CompareWithDump(exir::ParseOrDie(kProgram, *ops_), kernels_, {EValue(x_.view())},
                           Path("dump"), {.atol = 1e-6});
  }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_;
  const TestTensor x_ = TestTensor::Of<float>({2}, {-1, 2});
};

TEST_F(ValueDumpTest, WritesEveryValueByName) {
  ASSERT_OK_AND_ASSIGN(const int files, Dump(kProgram));
  EXPECT_EQ(files, 2);
  ASSERT_OK_AND_ASSIGN(const NpyArray relu, ReadNpyFile(Path("dump/r.npy")));
  EXPECT_THAT(ToVector<float>(relu.view()), ElementsAre(0, 2));
  ASSERT_OK_AND_ASSIGN(const NpyArray neg, ReadNpyFile(Path("dump/n.npy")));
  EXPECT_THAT(ToVector<float>(neg.view()), ElementsAre(0, -2));
}

TEST_F(ValueDumpTest, NamesFirstDifferingNode) {
  ASSERT_OK(Dump(kProgram).status());
  ASSERT_OK_AND_ASSIGN(const DumpComparison same, Compare());
  EXPECT_EQ(same.compared, 2);
  EXPECT_FALSE(same.node.has_value());
  const TestTensor other = TestTensor::Of<float>({2}, {0, 2.5});
  ASSERT_OK(WriteNpy(Path("dump/r.npy"), other.view()));
  ASSERT_OK(WriteNpy(Path("dump/n.npy"), other.view()));
  ASSERT_OK_AND_ASSIGN(const DumpComparison differs, Compare());
  EXPECT_EQ(differs.compared, 2);
  ASSERT_TRUE(differs.node.has_value());
  EXPECT_THAT(*differs.node, HasSubstr("%r: f32[2] = edge.aten.relu.default(%x) (m.py:3)"));
  EXPECT_THAT(differs.difference, HasSubstr("element 1: expected 2.5, got 2"));
}

TEST_F(ValueDumpTest, DirectoryWithoutValuesIsNotFound) {
  EXPECT_THAT(Compare(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("dump")));
}

TEST_F(ValueDumpTest, NamesUnreadableAndUnwritableFiles) {
  std::filesystem::create_directories(Path("dump/n.npy/x"));
  EXPECT_THAT(Dump(kProgram),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(Path("dump/n.npy"))));
  Write("dump/r.npy", "no array");
  EXPECT_THAT(Compare(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(Path("dump/r.npy"))));
}

TEST_F(ValueDumpTest, InterpreterErrorsLeaveNoFiles) {
  kernels_ = KernelRegistry();
  EXPECT_THAT(Dump(kProgram), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("relu")));
  EXPECT_THAT(Compare(), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("relu")));
}

// Names come from the archive and are untrusted.
TEST_F(ValueDumpTest, RejectsNamesWithPathCharacters) {
  std::string text(kProgram);
  for (const std::string_view name : {"\"../r\"", "\".r\"", "\"a/r\""}) {
    std::string hostile = text;
    for (size_t at = 0; (at = hostile.find("%r", at)) != std::string::npos;) {
      hostile.replace(at, 2, std::string("%") + std::string(name));
      at += name.size();
    }
    EXPECT_THAT(Dump(hostile), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("a value name that is a valid file name")));
  }
}

TEST_F(ValueDumpTest, AcceptsValidFileNames) {
  ASSERT_OK_AND_ASSIGN(const int files, Dump(R"(program edge {
    graph(%x: f32[2] user_input) {
      %"a_1": f32[2] = edge.aten.relu.default(%x)
      %"b.c": f32[2] = edge.aten.neg.default(%"a_1")
      %"D-e": f32[2] = edge.aten.neg.default(%"b.c")
      return (%"D-e" user_output)
    } })"));
  EXPECT_EQ(files, 3);
  ASSERT_OK_AND_ASSIGN(const NpyArray last, ReadNpyFile(Path("dump/D-e.npy")));
  EXPECT_THAT(ToVector<float>(last.view()), ElementsAre(0, 2));
}

// Subgraphs may run any number of times; lists and None have no array.
TEST_F(ValueDumpTest, DumpsOnlyTopGraphValues) {
  ASSERT_OK_AND_ASSIGN(const int files, Dump(R"(program edge {
    graph(%x: f32[2] user_input) {
      %s: f32[] = edge.aten.sum.default(%x)
      %p: b8[] = edge.aten.gt.Scalar(%s, 0)
      %y: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      %n: symint(2) = aten.sym_size.int(%y, 0)
      return (%y user_output)
    }
    graph yes(%a: f32[2]) { %b: f32[2] = edge.aten.relu.default(%a) return (%b) }
    graph no(%a: f32[2]) { %b: f32[2] = edge.aten.neg.default(%a) return (%b) }
  })"));
  EXPECT_EQ(files, 4);
  EXPECT_THAT(ReadNpyFile(Path("dump/b.npy")).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("b.npy")));
}

}  // namespace
}  // namespace belay::tools
