#include "fuzz/oracles/agreement.h"

#include <cstdint>
#include <memory>
#include <string>

#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/generators/edge_program_generator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"

namespace belay::fuzz {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AgreementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps());
    ASSERT_OK_AND_ASSIGN(checker_, AgreementChecker::Create());
  }
  std::unique_ptr<exir::OpRegistry> ops_;
  std::unique_ptr<AgreementChecker> checker_;
};

TEST_F(AgreementTest, HoldsForGeneratedPrograms) {
  for (uint64_t i = 0; i < 60; ++i) {
    Random random(TestSeed(), i);
    std::string bytes(60, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Next());
    ByteSource source(bytes);
    EXPECT_OK(checker_->Check(GenerateEdgeProgram(source, *ops_), TestSeed() + i));
  }
}

TEST_F(AgreementTest, HoldsForDemoBackendPrograms) {
  EXPECT_OK(checker_->Check(exir::ParseOrDie(R"(program edge {
  graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input) {
    %a: f32[2,3] = edge.aten.add.Tensor(%x, %y)
    %t: f32[2,3] = edge.aten.tanh.default(%a)
    %r: f32[2,3] = edge.aten.relu.default(%t)
    return (%r user_output)
  }
})",
                                             *ops_),
                            1));
}

// A program that no engine can execute does not count as agreement.
TEST_F(AgreementTest, NamesTheEngineAndPrintsTheProgram) {
  const absl::Status status = checker_->Check(exir::ParseOrDie(R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %r: f32[2,3] = zoo.unknown.default(%x)
    return (%r user_output)
  }
})",
                                                               *ops_),
                                              1);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                               AllOf(HasSubstr("interpreter"), HasSubstr("zoo.unknown.default"))));
}

}  // namespace
}  // namespace belay::fuzz
