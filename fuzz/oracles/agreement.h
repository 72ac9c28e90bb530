// Every engine that can run a program gives the same results.
#ifndef BELAY_FUZZ_ORACLES_AGREEMENT_H_
#define BELAY_FUZZ_ORACLES_AGREEMENT_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::fuzz {

// Runs edge programs in the interpreter, and lowered in the runtime: with the reference kernels,
// with the kernels that are preferred, and delegated to each backend of backends.bzl.
class AgreementChecker {
 public:
  static absl::StatusOr<std::unique_ptr<AgreementChecker>> Create();

  // Two calls on random inputs of this seed. Results, mutated inputs and state are those of the
  // interpreter: bit by bit with the reference kernels; otherwise within a bound that grows with
  // the largest intermediate value, for programs without control flow and without indices (where a
  // rounding error decides, anything may come).
  //   kInternal  names the engine, the call and the result, and prints the program
  // Precondition: user inputs are tensors.
  absl::Status Check(const exir::ExportedProgram& program, uint64_t seed) const;

 private:
  AgreementChecker() = default;
  KernelRegistry reference_, preferred_;
};

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_AGREEMENT_H_
