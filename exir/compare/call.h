// Calls a program in one of the engines (the interpreter or the runtime), records the outcome of
// each call, and reports differences between two engines.
//
//   ABSL_ASSIGN_OR_RETURN(Interpreter oracle, Interpreter::Create(program, reference_kernels));
//   ABSL_ASSIGN_OR_RETURN(const Program file, OpenImage(image));
//   ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(file, "forward", kernels, backends));
//   FirstDifference(RunCalls(oracle, calls), RunCalls(method, calls), kIdentical)
#ifndef BELAY_EXIR_COMPARE_CALL_H_
#define BELAY_EXIR_COMPARE_CALL_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/compare/compare.h"
#include "exir/emit/program_image.h"
#include "exir/interpreter/interpreter.h"
#include "exir/interpreter/owned_value.h"
#include "runtime/core/evalue.h"
#include "runtime/executor/method.h"
#include "runtime/program/program.h"

namespace belay::exir {

// Opens the serialized program from memory. Errors of SerializeProgram and Program::OpenBytes. The
// image may be destroyed afterwards.
absl::StatusOr<Program> OpenImage(const ProgramImage& image);

// Outcome of one call; all values are copies.
struct CallOutcome {
  absl::Status status;  // status of the call; the other fields are empty on error
  std::vector<OwnedValue> outputs;
  std::vector<OwnedValue> inputs;                  // after the call
  absl::btree_map<std::string, OwnedValue> state;  // named state of the engine
};

// Calls with dense copies of the inputs, one for each user input, specialized ones included.
//   status: errors of Interpreter::Run, Method::SetInput and Method::Execute; kInvalidArgument for
//   a wrong number of inputs
CallOutcome RunCall(Interpreter& interpreter, absl::Span<const EValue> inputs);
CallOutcome RunCall(Method& method, absl::Span<const EValue> inputs);

// Inputs of consecutive calls on the same state.
using CallSequence = std::vector<std::vector<OwnedValue>>;
std::vector<EValue> ValuesOf(const std::vector<OwnedValue>& owned);

// Stops after the first failed call, which is then the last outcome.
template <class Engine>
std::vector<CallOutcome> RunCalls(Engine& engine, const CallSequence& calls) {
  std::vector<CallOutcome> outcomes;
  for (const std::vector<OwnedValue>& inputs : calls) {
    outcomes.push_back(RunCall(engine, ValuesOf(inputs)));
    if (!outcomes.back().status.ok()) break;
  }
  return outcomes;
}

// Required closeness for the parts of two outcomes: `others`, except for parts with an entry of
// their own.
struct CallCloseness {
  CallCloseness(const Closeness& all) : others(all) {}  // one for all

  Closeness others;
  absl::btree_map<size_t, Closeness> outputs, inputs;  // by position; inputs: after the call
  absl::btree_map<std::string, Closeness> state;
};

struct CallDifference {
  std::string where;  // "outputs", "output 0", "input 0 afterwards", "state 'n'"
  std::string difference;
};
// Lists all differences of two successful calls. Compares only state that both engines name: a
// delegate's state has no name in the runtime.
std::vector<CallDifference> CompareCalls(const CallOutcome& want, const CallOutcome& got,
                                         const CallCloseness& closeness);

// Returns "" or the first difference, with the index of its call. Two failed calls are equal.
std::string FirstDifference(absl::Span<const CallOutcome> want, absl::Span<const CallOutcome> got,
                            const CallCloseness& closeness);

}  // namespace belay::exir

#endif  // BELAY_EXIR_COMPARE_CALL_H_
