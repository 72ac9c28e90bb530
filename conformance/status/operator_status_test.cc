#include "conformance/status/operator_status.h"

#include <fstream>
#include <iterator>
#include <string>

#include "conformance/status/forgotten.h"
#include "conformance/status/operator_index.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::conformance {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ReadPage(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class OperatorStatusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK(AddStandardKernels(kernels_));
    ASSERT_OK_AND_ASSIGN(files_.cases, ReadOpCaseFiles("conformance/opcases"));
    ASSERT_OK_AND_ASSIGN(const auto more, ReadOpCaseFiles("conformance/opcases_more"));
    for (const OpCaseFile& file : more) files_.more.insert(file.op);
    std::ifstream list("conformance/status/without_vectors.txt");
    for (std::string line; std::getline(list, line);) {
      if (!line.empty() && line[0] != '#') files_.without_vectors.insert(line);
    }
    files_.status = ReadPage("conformance/STATUS.md");
    files_.index = ReadPage("conformance/opcases/INDEX.md");
  }
  std::vector<std::string> Missing() const { return Forgotten(files_, *ops_, kernels_); }

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_;
  OperatorFiles files_;
};

TEST_F(OperatorStatusTest, OperatorsAreComplete) {
  for (const std::string& line : Missing()) ADD_FAILURE() << line;
}

// Adds an operator like a newcomer would: a row in a table, and nothing else.
TEST_F(OperatorStatusTest, ReportsMissingPartsOfNewOperator) {
  ASSERT_OK(ops_->Define({.schema = "mine::op(Tensor self) -> Tensor",
                          .meta = ops_->Find("aten.relu.default")->def()->meta}));
  EXPECT_THAT(Missing(), ElementsAre("mine.op.default: no reference kernel, a row in "
                                     "runtime/kernels/reference/<family>.cc; no vectors, "
                                     "conformance/opcases/mine.op.default.json"));
  OpCaseFile file = files_.cases[0];
  file.op = "mine.op.default";
  files_.cases.push_back(file);
  EXPECT_THAT(Missing(),
              ElementsAre("mine.op.default: no reference kernel, a row in "
                          "runtime/kernels/reference/<family>.cc; no row in STATUS, which "
                          "tools/bazel run //conformance/status writes; no row in INDEX, which "
                          "tools/bazel run //conformance/status writes"));
  files_.status = OperatorStatus(files_.cases, *ops_, kernels_);
  files_.index = OperatorIndex(files_.cases);
  EXPECT_THAT(Missing(), ElementsAre("mine.op.default: no reference kernel, a row in "
                                     "runtime/kernels/reference/<family>.cc"));
}

TEST_F(OperatorStatusTest, ReportsVectorsWithoutOperator) {
  files_.cases.push_back({.op = "mine.op.default", .schema = "", .family = "unary"});
  files_.status = OperatorStatus(files_.cases, *ops_, kernels_);
  files_.index = OperatorIndex(files_.cases);
  EXPECT_THAT(Missing(), ElementsAre("mine.op.default: vectors, but no row with a meta kernel in "
                                     "exir/ops/<family>.cc"));
}

TEST_F(OperatorStatusTest, ReportsStaleAndUnnecessaryRows) {
  const std::string row = "| aten.relu.default | yes | yes |";
  const size_t at = files_.status.find(row);
  ASSERT_NE(at, std::string::npos);
  files_.status.replace(at, row.size(), "| aten.relu.default | yes | no |");
  files_.index += "| mine.op.default | unary | 1 | 0 | f32 |  |\n";
  EXPECT_THAT(Missing(), ElementsAre(AllOf(HasSubstr("aten.relu.default: an old row in STATUS"),
                                           Not(HasSubstr("\n"))),
                                     HasSubstr("mine.op.default: a row in INDEX, but no vectors")));
}

TEST_F(OperatorStatusTest, ShowsFirstStaleLine) {
  const size_t at = files_.status.find("280 operators");
  if (at != std::string::npos) files_.status.replace(at, 3, "281");
  files_.status += "x";
  const std::vector<std::string> missing = Missing();
  ASSERT_EQ(missing.size(), 1);
  EXPECT_THAT(missing[0], HasSubstr("STATUS: run tools/bazel run //conformance/status: line "));
}

TEST_F(OperatorStatusTest, ReportsUnnecessaryListLines) {
  files_.without_vectors.insert("aten.relu.default");
  files_.without_vectors.insert("mine.op.default");
  EXPECT_THAT(
      Missing(),
      ElementsAre("aten.relu.default: vectors by now, and still a line in without_vectors.txt",
                  "mine.op.default: no such operator, but a line in without_vectors.txt"));
}

TEST(OperatorIndexTest, RejectsFolderWithoutVectors) {
  EXPECT_THAT(ReadOpCaseFiles("conformance/status"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace belay::conformance
