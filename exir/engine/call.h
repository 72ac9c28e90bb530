// Calls a program in one of the engines — the interpreter or the runtime —, keeps what each call left
// behind, and says where two engines differ.
//
//   ABSL_ASSIGN_OR_RETURN(Interpreter oracle, Interpreter::Create(program, reference_kernels));
//   ABSL_ASSIGN_OR_RETURN(const Program file, OpenImage(image));
//   ABSL_ASSIGN_OR_RETURN(Method method, Method::Load(file, "forward", kernels, backends));
//   FirstDifference(RunCalls(oracle, calls), RunCalls(method, calls), kIdentical)
#ifndef BELAY_EXIR_ENGINE_CALL_H_
#define BELAY_EXIR_ENGINE_CALL_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/emit/program_image.h"
#include "exir/engine/compare.h"
#include "exir/interpreter/interpreter.h"
#include "exir/interpreter/owned_value.h"
#include "runtime/core/evalue.h"
#include "runtime/executor/method.h"
#include "runtime/program/program.h"

namespace belay::exir {

// The program as a runtime gets it: the bytes of its file, in memory. What SerializeProgram and
// Program::OpenBytes return; the image may go.
absl::StatusOr<Program> OpenImage(const ProgramImage& image);

// What one call left behind. Everything is a copy.
struct CallOutcome {
  absl::Status status;  // that of the call; nothing else is there when it failed
  std::vector<OwnedValue> outputs;
  std::vector<OwnedValue> inputs;                  // after the call
  absl::btree_map<std::string, OwnedValue> state;  // what the engine knows by name
};

// Calls with dense copies of the inputs, one for each user input, specialized ones included.
//   status: what Interpreter::Run, Method::SetInput and Method::Execute return; kInvalidArgument for
//   another number of inputs
CallOutcome RunCall(Interpreter& interpreter, absl::Span<const EValue> inputs);
CallOutcome RunCall(Method& method, absl::Span<const EValue> inputs);

// What is called one after the other, on the same state: the inputs of each call.
using CallSequence = std::vector<std::vector<OwnedValue>>;
std::vector<EValue> ValuesOf(const std::vector<OwnedValue>& owned);

// Until a call fails, which then is the last outcome.
template <class Engine>
std::vector<CallOutcome> RunCalls(Engine& engine, const CallSequence& calls) {
  std::vector<CallOutcome> outcomes;
  for (const std::vector<OwnedValue>& inputs : calls) {
    outcomes.push_back(RunCall(engine, ValuesOf(inputs)));
    if (!outcomes.back().status.ok()) break;
  }
  return outcomes;
}

// How alike the parts of two outcomes must be: all as `others` says, but those that have a row of
// their own.
struct CallCloseness {
  CallCloseness(const Closeness& all) : others(all) {}  // NOLINT: one for all

  Closeness others;
  absl::btree_map<size_t, Closeness> outputs, inputs;  // by position; inputs: after the call
  absl::btree_map<std::string, Closeness> state;
};

struct CallDifference {
  std::string where;  // "outputs", "output 0", "input 0 afterwards", "state 'n'"
  std::string difference;
};
// Everything that differs in two calls that succeeded. State is compared that both know: a
// delegate's has no name in the runtime.
std::vector<CallDifference> CompareCalls(const CallOutcome& want, const CallOutcome& got,
                                         const CallCloseness& closeness);

// "" or the first difference, with the number of its call. Two calls that failed are equal.
std::string FirstDifference(absl::Span<const CallOutcome> want, absl::Span<const CallOutcome> got,
                            const CallCloseness& closeness);

}  // namespace belay::exir

#endif  // BELAY_EXIR_ENGINE_CALL_H_
