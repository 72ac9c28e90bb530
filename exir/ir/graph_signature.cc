#include "exir/ir/graph_signature.h"

namespace belay::exir {

std::string_view InputKindName(InputKind kind) {
  switch (kind) {
    case InputKind::kUserInput:
      return "user_input";
    case InputKind::kParameter:
      return "parameter";
    case InputKind::kBuffer:
      return "buffer";
    case InputKind::kTensorConstant:
      return "tensor_constant";
    case InputKind::kCustomObject:
      return "custom_obj";
    case InputKind::kToken:
      return "token";
    case InputKind::kConstantInput:
      return "constant_input";
  }
  return "unknown";
}

std::string_view OutputKindName(OutputKind kind) {
  switch (kind) {
    case OutputKind::kUserOutput:
      return "user_output";
    case OutputKind::kLossOutput:
      return "loss_output";
    case OutputKind::kBufferMutation:
      return "buffer_mutation";
    case OutputKind::kParameterMutation:
      return "parameter_mutation";
    case OutputKind::kUserInputMutation:
      return "user_input_mutation";
    case OutputKind::kGradientToParameter:
      return "gradient_to_parameter";
    case OutputKind::kGradientToUserInput:
      return "gradient_to_user_input";
    case OutputKind::kToken:
      return "token";
  }
  return "unknown";
}

std::optional<InputKind> InputKindFromName(std::string_view name) {
  for (int k = 0; k <= static_cast<int>(InputKind::kConstantInput); ++k) {
    if (InputKindName(static_cast<InputKind>(k)) == name) return static_cast<InputKind>(k);
  }
  return std::nullopt;
}

std::optional<OutputKind> OutputKindFromName(std::string_view name) {
  for (int k = 0; k <= static_cast<int>(OutputKind::kToken); ++k) {
    if (OutputKindName(static_cast<OutputKind>(k)) == name) return static_cast<OutputKind>(k);
  }
  return std::nullopt;
}

bool NamesTensor(InputKind kind) {
  return kind == InputKind::kParameter || kind == InputKind::kBuffer ||
         kind == InputKind::kTensorConstant;
}

bool IsProvidedByCaller(InputKind kind) {
  return kind == InputKind::kUserInput || kind == InputKind::kConstantInput;
}

bool IsMutation(OutputKind kind) {
  return IsStateMutation(kind) || kind == OutputKind::kUserInputMutation;
}

bool IsStateMutation(OutputKind kind) {
  return kind == OutputKind::kBufferMutation || kind == OutputKind::kParameterMutation;
}

absl::btree_set<std::string_view> MutatedState(const GraphSignature& signature) {
  absl::btree_set<std::string_view> names;
  for (const OutputSpec& output : signature.outputs) {
    if (IsStateMutation(output.kind)) names.insert(output.target);
  }
  return names;
}

absl::btree_set<std::string_view> VariableTensors(const GraphSignature& signature) {
  absl::btree_set<std::string_view> names = MutatedState(signature);
  for (const InputSpec& input : signature.inputs) {
    if (input.replaceable) names.insert(input.target);
  }
  return names;
}

}  // namespace belay::exir
