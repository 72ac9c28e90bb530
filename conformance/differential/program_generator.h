// Random well-typed programs over all operators that have conformance vectors.
//
// A program is made call by call: an operator, one of its sample calls, and for each tensor of the
// sample either a value that the program has already (of the same dtype and sizes) or a new input,
// parameter, buffer or constant with the sample's contents. Every call is executed while the
// program is made, so that programs run to their end on the first inputs, with values from the
// operators' own domains.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_PROGRAM_GENERATOR_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_PROGRAM_GENERATOR_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/types/span.h"
#include "conformance/differential/call_corpus.h"
#include "exir/ir/exported_program.h"
#include "runtime/kernel/kernel_registry.h"

namespace belay::conformance {

// Random numbers, the same on every machine.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t Below(uint64_t limit) { return random_() % limit; }  // precondition: limit > 0
  bool Chance(int percent) { return Below(100) < static_cast<uint64_t>(percent); }
  template <class T>
  const T& Pick(const std::vector<T>& items) {
    return items[Below(items.size())];
  }

 private:
  std::mt19937_64 random_;
};

struct GeneratorOptions {
  int max_calls = 8;  // of a top graph; bodies have up to 3
  // The TRAINING dialect: operators that write to their first argument, through views too.
  bool training = false;
};

// A program, and what it can be called with.
struct GeneratedProgram {
  explicit GeneratedProgram(const exir::OpRegistry* ops) : program(ops) {}

  exir::ExportedProgram program;
  // Of the user inputs, in order.
  std::vector<SampleTensor> samples;
  std::vector<const exir::OpOverload*> called;
  bool dynamic = false, mutates = false, control_flow = false;
};

class ProgramGenerator {
 public:
  // `deck`: the operators to deal, each as often as any other. All must outlive the generator.
  ProgramGenerator(uint64_t seed, const exir::OpRegistry& ops, const KernelRegistry& kernels,
                   std::vector<const OperatorCalls*> deck, GeneratorOptions options = {});

  // Verifies, unless an operator's meta kernel is wrong.
  GeneratedProgram Next();

 private:
  // The next of a shuffled deck.
  const OperatorCalls& Deal();

  Dice dice_;
  const exir::OpRegistry& ops_;
  const KernelRegistry& kernels_;
  std::vector<const OperatorCalls*> deck_;
  size_t next_ = 0;
  GeneratorOptions options_;
};

// Inputs for one more call: symbols get values from their ranges, elements are drawn from those of
// the samples; some floats become NaN or infinite.
std::vector<SampleTensor> MakeInputs(const GeneratedProgram& generated, Dice& dice);

// The operator that computes what this one writes to its first argument: aten.add.Tensor for
// aten.add_.Tensor. nullptr when there is none of that name.
const exir::OpOverload* TwinOf(const exir::OpOverload& in_place, const exir::OpRegistry& ops);

// Whether the interpreter knows the operator only by its twin.
bool NeedsTwin(const exir::OpOverload& op);

// The program with a call of the twin and a copy_ in the place of each call that NeedsTwin.
absl::StatusOr<exir::ExportedProgram> WritesAsCopies(const exir::ExportedProgram& program);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_PROGRAM_GENERATOR_H_
