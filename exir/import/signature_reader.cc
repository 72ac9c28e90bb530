#include "exir/import/signature_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Reads {"name": …}, with or without further fields.
absl::StatusOr<std::string_view> ReadName(JsonRef ref) {
  static constexpr JsonField kFields[] = {{"name"}};
  JsonStruct<1> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));
  return s[0].String();
}

// Reads a constant of ConstantValue or of Argument; nullopt for other tags.
absl::StatusOr<std::optional<ConstantType>> ReadConstant(const JsonUnion& u) {
  ConstantType constant;
  const JsonRef value = u.value();
  if (u.tag() == "as_none") {
    constant.value = None{};
  } else if (u.tag() == "as_int") {
    ABSL_ASSIGN_OR_RETURN(constant.value, value.Int());
  } else if (u.tag() == "as_float") {
    ABSL_ASSIGN_OR_RETURN(constant.value, value.Double());
  } else if (u.tag() == "as_bool") {
    ABSL_ASSIGN_OR_RETURN(constant.value, value.Bool());
  } else if (u.tag() == "as_string") {
    ABSL_ASSIGN_OR_RETURN(const std::string_view text, value.String());
    constant.value = std::string(text);
  } else {
    return std::nullopt;
  }
  return constant;
}

// Reads a SymIntArgument, SymFloatArgument or SymBoolArgument: a name, or a constant under
// `constant_tag`.
absl::StatusOr<BoundaryArgument> ReadSymArgument(JsonRef ref, BoundaryArgument::Kind kind,
                                                 std::string_view constant_tag) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  BoundaryArgument argument;
  if (u.tag() == "as_name") {
    argument.kind = kind;
    ABSL_ASSIGN_OR_RETURN(argument.name, u.value().String());
    return argument;
  }
  if (u.tag() != constant_tag) return u.UnknownTag(absl::StrCat("as_name or ", constant_tag));
  argument.kind = BoundaryArgument::Kind::kConstant;
  ABSL_ASSIGN_OR_RETURN(std::optional<ConstantType> constant, ReadConstant(u));
  argument.constant = *std::move(constant);
  return argument;
}

struct InputTag {
  std::string_view tag;
  InputKind kind;
  std::string_view target_field;  // "": no target
};
constexpr InputTag kInputTags[] = {
    {"parameter", InputKind::kParameter, "parameter_name"},
    {"buffer", InputKind::kBuffer, "buffer_name"},
    {"tensor_constant", InputKind::kTensorConstant, "tensor_constant_name"},
    {"custom_obj", InputKind::kCustomObject, "custom_obj_name"},
    {"token", InputKind::kToken, ""},
};

struct OutputTag {
  std::string_view tag;
  OutputKind kind;
  std::string_view target_field;
};
constexpr OutputTag kOutputTags[] = {
    {"buffer_mutation", OutputKind::kBufferMutation, "buffer_name"},
    {"parameter_mutation", OutputKind::kParameterMutation, "parameter_name"},
    {"user_input_mutation", OutputKind::kUserInputMutation, "user_input_name"},
    {"loss_output", OutputKind::kLossOutput, ""},
    {"gradient_to_parameter", OutputKind::kGradientToParameter, "parameter_name"},
    {"gradient_to_user_input", OutputKind::kGradientToUserInput, "user_input_name"},
    {"token", OutputKind::kToken, ""},
};

// Reads the struct shared by all tags with only a name: {"arg": {"name": …}, <target_field>: …,
// "persistent": …}.
absl::Status ReadNamedSpec(JsonRef ref, std::string_view target_field, std::string_view* name,
                           std::string* target, bool* persistent) {
  const JsonField fields[] = {
      {"arg"}, {target_field, !target_field.empty()}, {"persistent", false}};
  JsonStruct<3> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, fields));
  ABSL_ASSIGN_OR_RETURN(*name, ReadName(s[0]));
  if (!target_field.empty()) {
    ABSL_ASSIGN_OR_RETURN(const std::string_view text, s[1].String());
    if (text.empty()) return s[1].Error("the name is empty");
    *target = std::string(text);
  }
  if (persistent != nullptr && s.has(2)) {
    ABSL_ASSIGN_OR_RETURN(*persistent, s[2].Bool());
  }
  return absl::OkStatus();
}

absl::StatusOr<BoundaryArgument> ReadUserSpec(JsonRef ref) {
  static constexpr JsonField kFields[] = {{"arg"}};
  JsonStruct<1> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));
  return ReadBoundaryArgument(s[0]);
}

absl::StatusOr<ArchiveSignature::Input> ReadInputSpec(JsonRef ref) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  ArchiveSignature::Input input;
  if (u.tag() == "user_input") {
    ABSL_ASSIGN_OR_RETURN(input.argument, ReadUserSpec(u.value()));
    if (input.argument.kind == BoundaryArgument::Kind::kConstant)
      input.spec.kind = InputKind::kConstantInput;
    return input;
  }
  if (u.tag() == "constant_input") {
    static constexpr JsonField kFields[] = {{"name"}, {"value"}};
    JsonStruct<2> s;
    ABSL_RETURN_IF_ERROR(s.Read(u.value(), kFields));
    input.spec.kind = InputKind::kConstantInput;
    input.argument.kind = BoundaryArgument::Kind::kConstant;
    ABSL_ASSIGN_OR_RETURN(input.argument.name, s[0].String());
    JsonUnion value;
    ABSL_RETURN_IF_ERROR(value.Read(s[1]));
    ABSL_ASSIGN_OR_RETURN(std::optional<ConstantType> constant, ReadConstant(value));
    if (!constant.has_value())
      return value.UnknownTag("as_none, as_int, as_float, as_bool or as_string");
    input.argument.constant = *std::move(constant);
    return input;
  }
  for (const InputTag& tag : kInputTags) {
    if (u.tag() != tag.tag) continue;
    input.spec.kind = tag.kind;
    input.any_value_kind = true;
    ABSL_RETURN_IF_ERROR(
        ReadNamedSpec(u.value(), tag.target_field, &input.argument.name, &input.spec.target,
                      tag.kind == InputKind::kBuffer ? &input.spec.persistent : nullptr));
    return input;
  }
  return u.UnknownTag("an input spec");
}

absl::StatusOr<ArchiveSignature::Output> ReadOutputSpec(JsonRef ref) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  ArchiveSignature::Output output;
  if (u.tag() == "user_output") {
    ABSL_ASSIGN_OR_RETURN(output.argument, ReadUserSpec(u.value()));
    return output;
  }
  for (const OutputTag& tag : kOutputTags) {
    if (u.tag() != tag.tag) continue;
    output.spec.kind = tag.kind;
    output.any_value_kind = true;
    ABSL_RETURN_IF_ERROR(ReadNamedSpec(u.value(), tag.target_field, &output.argument.name,
                                       &output.spec.target, nullptr));
    return output;
  }
  return u.UnknownTag("an output spec");
}

}  // namespace

absl::StatusOr<BoundaryArgument> ReadBoundaryArgument(JsonRef ref) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  BoundaryArgument argument;
  if (u.tag() == "as_tensor") {
    ABSL_ASSIGN_OR_RETURN(argument.name, ReadName(u.value()));
    return argument;
  }
  if (u.tag() == "as_sym_int")
    return ReadSymArgument(u.value(), BoundaryArgument::Kind::kSymInt, "as_int");
  if (u.tag() == "as_sym_float")
    return ReadSymArgument(u.value(), BoundaryArgument::Kind::kSymFloat, "as_float");
  if (u.tag() == "as_sym_bool")
    return ReadSymArgument(u.value(), BoundaryArgument::Kind::kSymBool, "as_bool");
  if (u.tag() == "as_custom_obj") {
    static constexpr JsonField kFields[] = {{"name"}, {"class_fqn"}};
    JsonStruct<2> s;
    ABSL_RETURN_IF_ERROR(s.Read(u.value(), kFields));
    argument.kind = BoundaryArgument::Kind::kCustomObject;
    ABSL_ASSIGN_OR_RETURN(argument.name, s[0].String());
    ABSL_ASSIGN_OR_RETURN(argument.class_name, s[1].String());
    return argument;
  }
  ABSL_ASSIGN_OR_RETURN(std::optional<ConstantType> constant, ReadConstant(u));
  if (!constant.has_value())
    return u.UnknownTag("a tensor, a symbolic number, a custom object or a constant");
  argument.kind = BoundaryArgument::Kind::kConstant;
  argument.constant = *std::move(constant);
  return argument;
}

absl::StatusOr<ArchiveSignature> ReadSignature(JsonRef ref) {
  static constexpr JsonField kFields[] = {{"input_specs"}, {"output_specs"}};
  JsonStruct<2> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kFields));
  ArchiveSignature signature;
  ABSL_RETURN_IF_ERROR(ForEachElement(s[0], [&](JsonRef item) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(ArchiveSignature::Input input, ReadInputSpec(item));
    signature.inputs.push_back(std::move(input));
    return absl::OkStatus();
  }));
  ABSL_RETURN_IF_ERROR(ForEachElement(s[1], [&](JsonRef item) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(ArchiveSignature::Output output, ReadOutputSpec(item));
    signature.outputs.push_back(std::move(output));
    return absl::OkStatus();
  }));
  return signature;
}

}  // namespace belay::exir
