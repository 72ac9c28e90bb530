// Operator registry and constant values for tests of the CPU backend's passes.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"

namespace belay::cpu {

// The standard operators and belay_cpu::*. Returns the same registry at every call.
const exir::OpRegistry& CpuPassTestOps();

// Element values for a program's constants, by dtype. The text form has only zeros.
struct Numbers {
  int8_t i8 = 9;
  int32_t i32 = 0;
  float f32 = 0.5;
};
void Fill(exir::ExportedProgram& program, const Numbers& numbers);

// Expects that the pass changes nothing in the program, with these constants, and returns false.
// The program need not verify: passes check every scalar, size and type that they depend on.
void ExpectLeftAsItIs(std::string_view program,
                      const std::function<absl::StatusOr<bool>(exir::ExportedProgram&)>& pass,
                      const Numbers& numbers = {});

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_
