// Random well-typed programs over the operators of a deck: all that have conformance vectors
// (conformance/differential), or a few of the edge dialect (edge_programs.h).
//
// A program is made call by call: an operator, one of its sample calls, and for each tensor of the
// sample either a value that the program has already (of the same dtype and sizes) or a new input,
// parameter, buffer or constant with the sample's contents. Every call is executed while the
// program is made, so that programs run to their end on the first inputs, with values from the
// operators' own domains. The same random numbers give the same programs on every machine.
#ifndef BELAY_EXIR_TESTING_GENERATOR_RANDOM_PROGRAM_H_
#define BELAY_EXIR_TESTING_GENERATOR_RANDOM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "exir/testing/generator/sample_call.h"
#include "runtime/core/random.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::exir {

struct RandomProgramOptions {
  int max_calls = 8;  // of a top graph; bodies have up to 3
  // kTraining: operators that write to their first argument, through views too; such calls of the
  // deck are left out otherwise. kEdge: the operators of the deck are those of the edge dialect;
  // every node has a debug handle (some share one) and a Provenance::origin of its own.
  IrDialect dialect = IrDialect::kAten;
  bool control_flow = true, mutation = true, dynamic_sizes = true;
  // Where set, every size of this value is one symbol, in programs with dynamic sizes, and no other
  // is, so that calls which fit once fit always. Else each from 2 on may be one or not.
  std::optional<int64_t> dynamic_size = {};
  int64_t least_size = 0;  // of symbols
  // The contiguous parameters, buffers and constants of the programs; each has about half of them.
  // Where there are none, they are made of samples and have names of their own.
  std::vector<std::pair<InputSpec, ConstantTensor>> constants = {};
};

// A program, and what it can be called with.
struct RandomProgram {
  explicit RandomProgram(const OpRegistry* ops) : program(ops) {}

  ExportedProgram program;
  // Of the user inputs, in order.
  std::vector<SampleTensor> samples;
  std::vector<const OpOverload*> called;
  bool dynamic = false, mutates = false, control_flow = false;
};

class RandomPrograms {
 public:
  // `deck`: the operators to deal, each as often as any other. All must outlive the generator.
  RandomPrograms(Random& random, const OpRegistry& ops, const KernelRegistry& kernels,
                 std::vector<const OperatorCalls*> deck, RandomProgramOptions options = {});

  // Verifies, unless an operator's meta kernel is wrong.
  RandomProgram Next();

 private:
  // The next of a shuffled deck.
  const OperatorCalls& Deal();

  Random& random_;
  const OpRegistry& ops_;
  const KernelRegistry& kernels_;
  std::vector<const OperatorCalls*> deck_;
  size_t next_ = 0;
  RandomProgramOptions options_;
};

// Inputs for one more call: symbols get values from their ranges, elements are drawn from those of
// the samples, one for each user input; some floats become NaN or infinite. Without samples elements
// are eighths from -2 to 2. Precondition: user inputs are tensors.
std::vector<OwnedValue> MakeInputs(const ExportedProgram& program, Random& random,
                                   absl::Span<const SampleTensor> samples = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_RANDOM_PROGRAM_H_
