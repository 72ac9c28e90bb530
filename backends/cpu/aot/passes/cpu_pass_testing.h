// The operators that tests of the CPU backend's passes rewrite, and numbers for constants.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"

namespace belay::cpu {

// The standard operators and belay_cpu::*; the same registry at every call.
const exir::OpRegistry& CpuPassTestOps();

// What all elements of a program's constants of these dtypes are: in the text form they are zeros.
struct Numbers {
  int8_t i8 = 9;
  int32_t i32 = 0;
  float f32 = 0.5;
};
void Fill(exir::ExportedProgram& program, const Numbers& numbers);

// The pass changes nothing of the program, with these numbers, and says so. The program need not
// verify: passes take no number, size or type for granted that they ask for.
void ExpectLeftAsItIs(std::string_view program,
                      const std::function<absl::StatusOr<bool>(exir::ExportedProgram&)>& pass,
                      const Numbers& numbers = {});

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_CPU_PASS_TESTING_H_
