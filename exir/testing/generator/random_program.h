// Random well-typed programs over a deck of operators: all with conformance vectors
// (conformance/differential), or a few of the edge dialect (edge_programs.h).
//
// A program is built call by call: an operator, and one of its sample calls. Each tensor of the
// sample is bound to an existing value of the same dtype and sizes, or to a new input, parameter,
// buffer or constant with the sample's contents. Every call is executed during generation. Programs
// therefore run to completion on the first inputs, with values from the operators' own domains.
// Equal random numbers give equal programs on every machine.
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
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

struct RandomProgramOptions {
  int max_calls = 8;  // of a top graph; subgraphs have up to 3
  // kTraining: includes operators that write to their first argument, also through views; other
  // dialects omit such calls of the deck. kEdge: the deck has the operators of the edge dialect;
  // every node has a debug handle (some share one) and its own Provenance::origin.
  IrDialect dialect = IrDialect::kAten;
  bool control_flow = true, mutation = true, dynamic_sizes = true;
  // If set, every size of this value is one symbol, in programs with dynamic sizes, and no other
  // size is. Calls that are valid once are then always valid. If not set, each size from 2 on may
  // be a symbol.
  std::optional<int64_t> dynamic_size = {};
  int64_t least_size = 0;  // minimum of symbols
  // Contiguous parameters, buffers and constants; each program uses about half of them. If empty,
  // they are created from samples and have unique names.
  std::vector<std::pair<InputSpec, ConstantTensor>> constants = {};
};

// A program with inputs for a call.
struct RandomProgram {
  explicit RandomProgram(const OpRegistry* ops) : program(ops) {}

  ExportedProgram program;
  // Samples of the user inputs, in order.
  std::vector<SampleTensor> samples;
  std::vector<const OpOverload*> called;
  bool dynamic = false, mutates = false, control_flow = false;
};

class RandomPrograms {
 public:
  // `deck`: the operators to deal, each equally often. All arguments must outlive the generator.
  RandomPrograms(Random& random, const OpRegistry& ops, const KernelRegistry& kernels,
                 std::vector<const OperatorCalls*> deck, RandomProgramOptions options = {});

  // Returns a program that verifies, unless an operator's meta kernel is wrong.
  RandomProgram Next();

 private:
  // Returns the next operator of a shuffled deck.
  const OperatorCalls& Deal();

  Random& random_;
  const OpRegistry& ops_;
  const KernelRegistry& kernels_;
  std::vector<const OperatorCalls*> deck_;
  size_t next_ = 0;
  RandomProgramOptions options_;
};

// Creates inputs for one more call. Symbols get values from their ranges. Elements are drawn from
// those of the samples, one per user input; some floats become NaN or infinite. Without samples,
// elements are multiples of 1/8 from -2 to 2. Precondition: user inputs are tensors.
std::vector<OwnedValue> MakeInputs(const ExportedProgram& program, Random& random,
                                   absl::Span<const SampleTensor> samples = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_RANDOM_PROGRAM_H_
