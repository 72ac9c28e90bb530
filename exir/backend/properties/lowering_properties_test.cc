#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "exir/backend/properties/lowering_properties.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

ABSL_FLAG(uint64_t, seed, 1, "the seed of the first program; the others follow");
ABSL_FLAG(int, programs, 10000, "how many programs are lowered");

namespace belay::exir {
namespace {

class LoweringPropertiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
    properties_ = std::make_unique<LoweringProperties>(*ops_, kernels_);
  }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
  std::unique_ptr<LoweringProperties> properties_;
};

TEST_F(LoweringPropertiesTest, HoldOnRandomPrograms) {
  const uint64_t first = absl::GetFlag(FLAGS_seed);
  const int programs = absl::GetFlag(FLAGS_programs);
  for (int i = 0; i < programs; ++i) {
    const uint64_t seed = first + static_cast<uint64_t>(i);
    LoweringCase lowering_case = properties_->Random(seed);
    const std::string wrong = properties_->Check(lowering_case);
    if (wrong.empty()) continue;
    properties_->Shrink(lowering_case);
    FAIL() << "seed " << seed << ": " << wrong
           << "\nshrunken: " << properties_->Check(lowering_case) << "\n"
           << lowering_case.ToString();
  }
  // It is worth nothing if what can go wrong is rare.
  const LoweringProperties::Coverage& coverage = properties_->coverage();
  for (const auto& [what, count] : {
           std::pair{"lowered", coverage.lowered},
           std::pair{"cyclic", coverage.cyclic},
           std::pair{"lowered again", coverage.lowered_again},
           std::pair{"delegates inside of delegates", coverage.nested},
           std::pair{"delegates with constants", coverage.owns_constants},
           std::pair{"delegates with state", coverage.owns_state},
           std::pair{"delegates in bodies", coverage.body_calls},
           std::pair{"dynamic sizes", coverage.dynamic},
           std::pair{"several methods", coverage.several_methods},
       }) {
    std::cout << what << ": " << count << " of " << programs << "\n";
    EXPECT_GT(count * 100, programs) << what;
  }
}

// A fault is made small: the program that is left has nothing that the fault does not need.
TEST_F(LoweringPropertiesTest, ShrinkingKeepsTheFault) {
  RandomPrograms random(absl::GetFlag(FLAGS_seed), *ops_, {.max_nodes = 40});
  const auto has_tanh = [&](const ExportedProgram& program) {
    for (const Graph& graph : program.graphs) {
      for (NodeId node : graph.nodes()) {
        if (graph.node(node).target->op() == "tanh") return true;
      }
    }
    return false;
  };
  ExportedProgram program = random.Next();
  while (!has_tanh(program)) program = random.Next();
  random.Tag(program, 3);
  ShrinkProgram(program, has_tanh);
  EXPECT_TRUE(has_tanh(program));
  EXPECT_LE(program.top().num_nodes(), 2);
  EXPECT_EQ(program.top().outputs().size(), 1);
}

TEST_F(LoweringPropertiesTest, SameSeedSamePrograms) {
  EXPECT_EQ(properties_->Random(5).ToString(), properties_->Random(5).ToString());
  EXPECT_NE(properties_->Random(5).ToString(), properties_->Random(6).ToString());
}

}  // namespace
}  // namespace belay::exir

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  absl::ParseCommandLine(argc, argv);
  return RUN_ALL_TESTS();
}
