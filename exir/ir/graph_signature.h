// The kind of each input and output of a program's top graph. Source: docs/pt2-format.md §8.
#ifndef BELAY_EXIR_IR_GRAPH_SIGNATURE_H_
#define BELAY_EXIR_IR_GRAPH_SIGNATURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"

namespace belay::exir {

enum class InputKind : uint8_t {
  kUserInput,
  kParameter,
  kBuffer,
  kTensorConstant,
  kCustomObject,
  kToken,
  kConstantInput
};
enum class OutputKind : uint8_t {
  kUserOutput,
  kLossOutput,
  kBufferMutation,
  kParameterMutation,
  kUserInputMutation,
  kGradientToParameter,
  kGradientToUserInput,
  kToken,
};
std::string_view InputKindName(InputKind kind);    // "user_input", "parameter", … as in the archive
std::string_view OutputKindName(OutputKind kind);  // "user_output", "buffer_mutation", …
std::optional<InputKind> InputKindFromName(std::string_view name);
std::optional<OutputKind> OutputKindFromName(std::string_view name);
bool NamesTensor(InputKind kind);  // parameters, buffers and tensor constants
// User inputs, including those that were specialized to a constant at export.
bool IsProvidedByCaller(InputKind kind);
bool IsMutation(OutputKind kind);  // of a buffer, a parameter or a user input
// Of a buffer or a parameter: the program's own tensors, whose new value is not returned to
// callers.
bool IsStateMutation(OutputKind kind);

// Parallel to the top graph's inputs.
struct InputSpec {
  InputKind kind = InputKind::kUserInput;
  std::string
      target;  // fully qualified name of parameter, buffer, constant, custom object; "" otherwise
  bool persistent =
      true;  // buffers: whether state_dict (true) or constants (false) holds the value
  // Parameters, buffers and constants: whether callers may replace the value when they open the
  // lowered program. Its value is then not known at compile time (VariableTensors).
  bool replaceable = false;
  // Parameters, buffers and constants: tag of the companion file that stores the value; "": the
  // program file.
  std::string file = {};
  bool operator==(const InputSpec&) const = default;
};

// Parallel to the top graph's outputs.
struct OutputSpec {
  OutputKind kind = OutputKind::kUserOutput;
  std::string target;  // the mutated buffer's or parameter's name; for user inputs, the name of the
                       // input value
  bool operator==(const OutputSpec&) const = default;
};

struct GraphSignature {
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  bool operator==(const GraphSignature&) const = default;
};

// Returns the names of the buffers and parameters that the program writes to, as views of
// `signature`.
absl::btree_set<std::string_view> MutatedState(const GraphSignature& signature);
// Returns the names of the tensors whose values are not known at compile time: MutatedState, and
// replaceable ones. Passes and backends derive no constants from them.
absl::btree_set<std::string_view> VariableTensors(const GraphSignature& signature);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_GRAPH_SIGNATURE_H_
