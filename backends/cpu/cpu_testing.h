// Test fixture that lowers programs with the CPU partitioner, executes them, and compares with the
// interpreted original program.
#ifndef BELAY_BACKENDS_CPU_CPU_TESTING_H_
#define BELAY_BACKENDS_CPU_CPU_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "backends/aot_backend.h"
#include "exir/backend/backend.h"
#include "exir/compare/call.h"
#include "exir/compare/compare.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"
#include "gtest/gtest.h"
#include "runtime/backend/backend_registry.h"
#include "runtime/core/element.h"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/program/program.h"

namespace belay::cpu {

AotBackend Aot();
std::vector<const BackendRuntime*> Runtimes();

inline constexpr exir::Closeness kClose = {.atol = 1e-5, .rtol = 1e-5};

// Returns a value with few binary digits, so that sums of a few values are exact.
inline float Draw(Random& random) { return static_cast<float>(random.Next() % 257) / 128 - 1; }

// Returns a tensor of zeros.
exir::OwnedValue Tensor(DType dtype, std::vector<int64_t> sizes);

template <class T = float>
exir::OwnedValue RandomTensor(std::vector<int64_t> sizes, Random& random) {
  exir::OwnedValue made = Tensor(DTypeOf<T>, std::move(sizes));
  const TensorView& tensor = *made.tensor();
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.as<T>()[i] = T(Draw(random));
  return made;
}

// Parses a program and fills constants of float32, bfloat16, float16 and int8 with random elements
// instead of the text form's zeros. Exceptions: scalars are `scalar`, constants named "scale…" are
// powers of two, and constants named "four…" have four bits.
exir::ExportedProgram ParseWithNumbers(std::string_view text, const exir::OpRegistry& ops,
                                       float scalar = 3);

class CpuTest : public ::testing::Test {
 protected:
  void SetUp() override;

  absl::StatusOr<exir::ExportedProgram> Lower(const exir::ExportedProgram& program);

  // Emits a program file with one method, "forward", and opens it.
  static absl::StatusOr<Program> Emit(exir::ExportedProgram lowered);

  // Lowers the program, expects that a single delegate holds all of it, and compares each call with
  // the interpreter. Writes the delegate's operators to `operators`.
  void ExpectSame(std::string_view text, const exir::CallSequence& calls, float scalar = 3,
                  const exir::Closeness& closeness = kClose,
                  std::vector<std::string>* operators = nullptr);

  // Operators of the first delegate, ascending.
  static std::vector<std::string> OperatorsOf(const exir::ExportedProgram& lowered);

  std::unique_ptr<exir::OpRegistry> ops_;
  KernelRegistry kernels_;
  exir::BackendSet set_;
  BackendRegistry registry_;
  Random random_{TestSeed(), 1};
  std::vector<exir::CompileSpec> compile_specs_;  // used by Lower and ExpectSame
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_CPU_TESTING_H_
