// Checks that all engines that can execute a program give the same results.
#ifndef BELAY_FUZZ_ORACLES_AGREEMENT_H_
#define BELAY_FUZZ_ORACLES_AGREEMENT_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::fuzz {

// Executes edge programs in the interpreter, and lowered in the runtime: with the reference
// kernels, with the preferred kernels, and delegated to each backend of backends.bzl.
class AgreementChecker {
 public:
  static absl::StatusOr<std::unique_ptr<AgreementChecker>> Create();

  // Executes two calls on random inputs of this seed. Compares results, mutated inputs and state
  // with the interpreter's. With reference kernels they must be bitwise equal. Otherwise, they must
  // agree within a bound that grows with the largest intermediate value; programs with control flow
  // or indices are not compared, since a rounding error may change any result.
  //   kInternal  names the engine, the call and the result, and prints the program
  // Precondition: user inputs are tensors.
  absl::Status Check(const exir::ExportedProgram& program, uint64_t seed) const;

 private:
  AgreementChecker() = default;
  KernelRegistry reference_, preferred_;
};

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_AGREEMENT_H_
