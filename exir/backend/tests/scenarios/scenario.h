// Fixture for the tests of ExecuTorch's scenarios: parses programs, provides backends, and compares
// a lowered program with the original by executing both.
#ifndef BELAY_EXIR_BACKEND_TESTS_SCENARIOS_SCENARIO_H_
#define BELAY_EXIR_BACKEND_TESTS_SCENARIOS_SCENARIO_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/backend/introspection.h"
#include "exir/backend/partitioners/capability_partitioner.h"
#include "exir/backend/testing/recording_backend.h"
#include "exir/backend/to_backend.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/exported_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Backend "recorder" writes the names of the operators, joined by ','. Backends "first" and
// "second" write the format of the multi-method demo, <id>#<number of operators of all
// partitions>#<operators>#<specs>, with CONST<name> for each constant in front.
class ScenarioTest : public ::testing::Test {
 protected:
  ScenarioTest();

  // Parses and verifies. Constants get nonzero elements.
  ExportedProgram Parse(std::string_view text) const;
  // Lowers with TextPartitioner: nodes with `tag="…"`, and all constants that their users have tags
  // for.
  absl::StatusOr<ExportedProgram> LowerTagged(
      const ExportedProgram& program,
      std::vector<std::pair<std::string, DelegationSpec>> delegation = {}) const;
  // Lowers all nodes of these operators, in few large partitions, to a backend.
  absl::StatusOr<ExportedProgram> LowerOps(const ExportedProgram& program,
                                           std::vector<std::string> ops,
                                           std::string backend = "recorder") const;

  // Expects the same results and the same state from both programs in repeated calls, and that not
  // all elements are 0. Boolean inputs alternate, other inputs are small numbers of both signs.
  void ExpectSameResults(const ExportedProgram& expected, const ExportedProgram& actual,
                         int calls = 3) const;

  // Returns the operators of the nodes of a graph, delegate calls as "delegate".
  static std::vector<std::string> OpsOf(const ExportedProgram& program,
                                        GraphId graph = ExportedProgram::kTop);
  static std::vector<std::string> OpsOfModule(const LoweredBackendModule& module) {
    return OpsOf(module.original);
  }
  static std::vector<std::string> Payloads(const ExportedProgram& program);
  // Returns the number of inputs of kind parameter, and of the other constant kinds.
  static size_t CountParameters(const ExportedProgram& program);
  static size_t CountOtherConstants(const ExportedProgram& program);
  static size_t CountMutations(const ExportedProgram& program);

  const OpRegistry* ops_;
  KernelRegistry kernels_;
  const std::unique_ptr<const Backend> recorder_, first_, second_;
  BackendSet backends_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TESTS_SCENARIOS_SCENARIO_H_
