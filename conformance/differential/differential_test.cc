// Interpreter and runtime agree on random programs of all operators.
#include "conformance/differential/differential.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

constexpr int kChunks = 8;
constexpr int kProgramsPerChunk = 250;

// Operators with vectors that no lowered program calls, with the reason.
struct Exception {
  std::string_view op, reason;
};
constexpr Exception kExceptions[] = {
    {"aten.resize_.default", "the contents after growing are not specified"},
    {"aten.sym_storage_offset.default", "tensors of the runtime begin with their first element"},
};

const DifferentialSetup& SharedSetup() {
  static const DifferentialSetup* const setup = [] {
    auto made = DifferentialSetup::Create("conformance/opcases");
    if (!made.ok()) {
      std::fprintf(stderr, "%s\n", made.status().ToString().c_str());
      std::abort();
    }
    return made->release();
  }();
  return *setup;
}

std::string_view ReasonNotCalled(std::string_view op) {
  for (const Exception& exception : kExceptions) {
    if (exception.op == op) return exception.reason;
  }
  return "";
}

void ExpectNoProblems(const DifferentialReport& report) {
  std::printf("%s\n", report.ToString().c_str());
  for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
}

class DifferentialTest : public ::testing::TestWithParam<int> {};

TEST_P(DifferentialTest, EnginesAgreeOnFunctionalPrograms) {
  DifferentialOptions options;
  options.seed = TestSeed() + static_cast<uint64_t>(GetParam());
  options.programs = kProgramsPerChunk;
  const DifferentialReport report = RunDifferential(SharedSetup(), options);
  ExpectNoProblems(report);
  // Typical shares are 35, 25, 12 and 1 %; 4 % if few operators fit control flow.
  EXPECT_GT(report.dynamic * 100, report.programs * 10);
  EXPECT_GT(report.mutating * 100, report.programs * 5);
  EXPECT_GT(report.control_flow, 0);
  EXPECT_LT(report.refused * 100, report.programs * 10);
}

TEST_P(DifferentialTest, EnginesAgreeOnTrainingPrograms) {
  DifferentialOptions options;
  options.seed = TestSeed() + static_cast<uint64_t>(GetParam()) + 100;
  options.programs = kProgramsPerChunk / 2;
  options.training = true;
  const DifferentialReport report = RunDifferential(SharedSetup(), options);
  ExpectNoProblems(report);
  EXPECT_GT(report.mutating * 100, report.programs * 20);
}

// Calls every operator, as a single node and in a chain with others.
TEST_P(DifferentialTest, EveryOperatorIsCalled) {
  const CallCorpus& corpus = SharedSetup().corpus;
  size_t index = 0;
  for (const bool in_place : {false, true}) {
    for (const OperatorCalls& calls : in_place ? corpus.in_place() : corpus.functional()) {
      if (index++ % kChunks != static_cast<size_t>(GetParam())) continue;
      const std::string& name = calls.op->name();
      DifferentialReport report;
      for (uint64_t i = 0; i < 8 && report.called.empty(); ++i) {
        DifferentialOptions options;
        options.seed = TestSeed() + i;
        options.programs = 4;
        options.training = in_place;
        options.only = {name};
        report = RunDifferential(SharedSetup(), options);
        ExpectNoProblems(report);
      }
      EXPECT_EQ(report.called.empty(), !ReasonNotCalled(name).empty())
          << name << ": " << report.ToString() << "\n"
          << ReasonNotCalled(name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chunks, DifferentialTest, ::testing::Range(0, kChunks));

}  // namespace
}  // namespace belay::conformance
