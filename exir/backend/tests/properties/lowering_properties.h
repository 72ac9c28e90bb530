// Checks the invariants of lowering on random programs. Source: docs/lowering.md §8.
//
//   (a) interpreting the lowered programs and the originals gives the same results, state and
//       mutated inputs included, in repeated calls
//   (b) every tagged node is in exactly one delegate, with the others of its tag and graph; every
//       other node remains once
//   (c) the constants of program and delegates are those of the original by name, and no tensor
//       remains that no input names
//   (d) a call has as many arguments as its program has user inputs, as many results as it has user
//       outputs
//   (e) programs and delegates' programs verify
//   (f) lowering fails exactly if tags depend on each other in a cycle, and then names a tag
//   (g) the input program is unchanged, whether lowering succeeds or fails
//   (h) the output bytes are the same in every run and with any number of threads
//   (i) the handles in a delegate's map are handles of its program
//
// The result is tagged and lowered again, with delegate calls treated like other nodes. Then all
// invariants but (f) are checked again.
#ifndef BELAY_EXIR_BACKEND_TESTS_PROPERTIES_LOWERING_PROPERTIES_H_
#define BELAY_EXIR_BACKEND_TESTS_PROPERTIES_LOWERING_PROPERTIES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exir/backend/to_backend.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// Input of a check: nodes carry their tags. Tags that are not in `delegation` are ignored.
struct LoweringCase {
  MethodPrograms methods;
  std::vector<std::pair<std::string, DelegationSpec>> delegation;
  enum class Constants : uint8_t { kNone, kByUsers, kRandom } constants = Constants::kNone;
  uint64_t seed = 0;  // seed of the random tags of constants, and of random inputs

  std::string ToString() const;  // in text form
};

class LoweringProperties {
 public:
  // ToBackend for several methods, or a version of it with an injected fault.
  using Lowering =
      std::function<absl::StatusOr<MethodPrograms>(const MethodPrograms&, const MethodPartitioners&,
                                                   const BackendSet&, const ToBackendOptions&)>;

  // `ops` and `kernels` must outlive it.
  LoweringProperties(const OpRegistry& ops, const KernelRegistry& kernels);
  LoweringProperties(const OpRegistry& ops, const KernelRegistry& kernels, Lowering lowering)
      : ops_(ops), kernels_(kernels), lowering_(std::move(lowering)) {}

  LoweringCase RandomCase(uint64_t seed) const;
  // Returns "" if all properties hold, else "(x) …" for the first violated one.
  std::string Check(const LoweringCase& lowering_case) const;
  // Reduces the case while it violates the same property.
  void Shrink(LoweringCase& lowering_case) const;

  // Counts features of the checked cases, so that tests can require that all of them occur.
  struct Coverage {
    int lowered = 0, cyclic = 0;
    int lowered_again = 0, nested = 0;  // nested: delegates inside delegates
    int owns_constants = 0, owns_state = 0, body_calls = 0, dynamic = 0, several_methods = 0;
  };
  const Coverage& coverage() const { return coverage_; }

 private:
  std::string CheckMethod(const ExportedProgram& source, const ExportedProgram& lowered,
                          uint64_t seed) const;
  void Cover(const ExportedProgram& lowered) const;

  mutable Coverage coverage_;
  const OpRegistry& ops_;
  const KernelRegistry& kernels_;
  Lowering lowering_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TESTS_PROPERTIES_LOWERING_PROPERTIES_H_
