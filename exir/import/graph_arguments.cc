// Reads the arguments and results of nodes: both uses of the union Argument of docs/pt2-format.md
// §6.
#include <complex>
#include <optional>
#include <utility>

#include "exir/import/graph_reader.h"
#include "exir/import/graph_scope.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr JsonField kNameField[] = {{"name"}};

absl::StatusOr<std::string_view> ReadName(JsonRef ref) {
  JsonStruct<1> s;
  ABSL_RETURN_IF_ERROR(s.Read(ref, kNameField));
  return s[0].String();
}

// Reads a list; `read` reads each element.
template <class Read>
absl::StatusOr<Argument> ListOf(JsonRef ref, Read read) {
  Argument::List list;
  ABSL_RETURN_IF_ERROR(ForEachElement(ref, [&](JsonRef item) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(auto element, read(item));
    list.push_back(Argument(std::move(element)));
    return absl::OkStatus();
  }));
  return Argument(std::move(list));
}

absl::StatusOr<std::string> ReadText(JsonRef ref) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view text, ref.String());
  return std::string(text);
}

}  // namespace

// --- Uses ---

absl::StatusOr<Argument> GraphReader::Use(std::string_view name, JsonRef where, Scope& scope) {
  const auto it = scope.names.find(name);
  if (it == scope.names.end()) {
    return where.Error(
        absl::StrCat("the value '", name.substr(0, 200), "' is not defined before it is used"));
  }
  if (!scope.problems.empty()) {
    const auto problem = scope.problems.find(it->second);
    if (problem != scope.problems.end())
      ReportUnsupported(scope, absl::StrCat("uses '", Shortened(name), "', ", problem->second));
  }
  return Argument(it->second);
}

absl::StatusOr<Argument> GraphReader::ReadTensorUse(JsonRef ref, Scope& scope) {
  ABSL_ASSIGN_OR_RETURN(const std::string_view name, ReadName(ref));
  return Use(name, ref, scope);
}

absl::StatusOr<Argument> GraphReader::ReadOptionalTensor(JsonRef ref, Scope& scope) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  if (u.tag() == "as_none") return Argument();
  if (u.tag() == "as_tensor") return ReadTensorUse(u.value(), scope);
  return u.UnknownTag("as_tensor or as_none");
}

// Reads SymIntArgument, SymFloatArgument, SymBoolArgument.
absl::StatusOr<Argument> GraphReader::ReadSymUse(JsonRef ref, Scope& scope,
                                                 std::string_view constant_tag) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  if (u.tag() == "as_name") {
    ABSL_ASSIGN_OR_RETURN(const std::string_view name, u.value().String());
    return Use(name, u.value(), scope);
  }
  if (u.tag() != constant_tag) return u.UnknownTag(absl::StrCat("as_name or ", constant_tag));
  if (constant_tag == "as_int") return u.value().Int();
  if (constant_tag == "as_float") return u.value().Double();
  return u.value().Bool();
}

absl::StatusOr<Argument> GraphReader::ReadDict(JsonRef ref, Scope& scope, int depth) {
  ABSL_RETURN_IF_ERROR(CheckDepth(ref, depth));
  Dict dict;
  ABSL_RETURN_IF_ERROR(ForEachField(ref, [&](std::string_view key, JsonRef value) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(Argument argument, ReadArgument(value, scope, depth));
    dict.entries.emplace_back(std::string(key), std::move(argument));
    return absl::OkStatus();
  }));
  return Argument(std::move(dict));
}

absl::StatusOr<Argument> GraphReader::ReadList(const JsonUnion& u, Scope& scope, bool* known) {
  const JsonRef value = u.value();
  const std::string_view tag = u.tag();
  *known = true;
  const auto tensor = [&](JsonRef item) { return ReadTensorUse(item, scope); };
  const auto ints = [](JsonRef list) {
    return ListOf(list, [](JsonRef item) { return item.Int(); });
  };
  const auto floats = [](JsonRef list) {
    return ListOf(list, [](JsonRef item) { return item.Double(); });
  };
  const auto symbols = [&](std::string_view constant_tag) {
    return ListOf(value, [&](JsonRef item) { return ReadSymUse(item, scope, constant_tag); });
  };
  if (tag == "as_tensors") return ListOf(value, tensor);
  if (tag == "as_ints") return ints(value);
  if (tag == "as_sym_ints") return symbols("as_int");
  if (tag == "as_floats") return floats(value);
  if (tag == "as_bools") return ListOf(value, [](JsonRef item) { return item.Bool(); });
  if (tag == "as_strings") return ListOf(value, ReadText);
  if (tag == "as_sym_floats") return symbols("as_float");
  if (tag == "as_sym_bools") return symbols("as_bool");
  if (tag == "as_int_lists") return ListOf(value, ints);
  if (tag == "as_float_lists") return ListOf(value, floats);
  if (tag == "as_optional_tensors") {
    return ListOf(value, [&](JsonRef item) { return ReadOptionalTensor(item, scope); });
  }
  if (tag == "as_nested_tensors") {
    return ListOf(value, [&](JsonRef list) { return ListOf(list, tensor); });
  }
  *known = false;
  return Argument();
}

absl::StatusOr<Argument> GraphReader::ReadLiteral(const JsonUnion& u, Scope& scope) {
  const JsonRef value = u.value();
  const std::string_view tag = u.tag();
  if (tag == "as_int") return value.Int();
  if (tag == "as_none") return Argument();
  if (tag == "as_bool") return value.Bool();
  if (tag == "as_float") return value.Double();
  if (tag == "as_string") return ReadText(value);
  if (tag == "as_device") return ReadDevice(value);
  if (tag == "as_layout") return ReadLayout(value);
  if (tag == "as_memory_format") return ReadMemoryFormat(value);
  if (tag == "as_scalar_type") {
    ABSL_ASSIGN_OR_RETURN(const int64_t number, value.Int());
    const std::optional<DType> dtype = DTypeFromPt2(Pt2ScalarType{number});
    if (dtype.has_value()) return Argument(*dtype);
    ReportUnsupported(scope, absl::StrCat("an argument is the dtype number ", number));
    return Argument();
  }
  if (tag == "as_complex") {
    static constexpr JsonField kFields[] = {{"real"}, {"imag"}};
    JsonStruct<2> s;
    ABSL_RETURN_IF_ERROR(s.Read(value, kFields));
    ABSL_ASSIGN_OR_RETURN(const double real, s[0].Double());
    ABSL_ASSIGN_OR_RETURN(const double imag, s[1].Double());
    return Argument(std::complex<double>(real, imag));
  }
  if (tag == "as_operator") {
    ABSL_ASSIGN_OR_RETURN(const std::string_view target, value.String());
    std::string name = OperatorNameOfTarget(target);
    if (name.empty()) return value.Error("not the name of an operator");
    return Argument(OperatorName{std::move(name)});
  }
  // Kinds added by later versions of the format.
  ReportUnsupported(scope, absl::StrCat("an argument has the unknown kind '", Shortened(tag), "'"));
  return Argument();
}

absl::StatusOr<Argument> GraphReader::ReadPlainArgument(const JsonUnion& u, Scope& scope) {
  const JsonRef value = u.value();
  const std::string_view tag = u.tag();
  if (tag == "as_tensor") return ReadTensorUse(value, scope);
  if (tag == "as_sym_int") return ReadSymUse(value, scope, "as_int");
  if (tag == "as_sym_bool") return ReadSymUse(value, scope, "as_bool");
  if (tag == "as_sym_float") return ReadSymUse(value, scope, "as_float");
  if (tag == "as_optional_tensor") return ReadOptionalTensor(value, scope);
  if (tag == "as_custom_obj") {
    ABSL_ASSIGN_OR_RETURN(const std::string_view name, ReadName(value));
    // Custom objects among the inputs are reported by their class, those among the constants here.
    if (scope.names.contains(name)) return Use(name, value, scope);
    ReportUnsupported(scope, absl::StrCat("uses '", Shortened(name), "', a custom object"));
    return Argument();
  }
  bool known = false;
  ABSL_ASSIGN_OR_RETURN(Argument list, ReadList(u, scope, &known));
  if (known) return list;
  return ReadLiteral(u, scope);
}

absl::StatusOr<Argument> GraphReader::ReadArgument(JsonRef ref, Scope& scope, int depth) {
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  if (u.tag() == "as_graph") return ReadBody(u.value(), depth);
  if (u.tag() == "as_string_to_argument") return ReadDict(u.value(), scope, depth + 1);
  return ReadPlainArgument(u, scope);
}

// --- Results ---

absl::Status GraphReader::AddResult(std::string_view name, BoundaryArgument::Kind kind, bool token,
                                    JsonRef where, Scope& scope, GraphEditor::NewOutput& output) {
  if (name.empty()) return where.Error("the name is empty");
  // Check before creating the type: many results with one name would create it repeatedly.
  if (!scope.result_names.insert(name).second) {
    return where.Error(absl::StrCat("a value named '", name.substr(0, 200), "' already exists"));
  }
  ValueType type = TokenType{};
  std::string problem;
  if (!token) {
    ABSL_ASSIGN_OR_RETURN(type, FindType(name, kind, where, scope, &problem));
  }
  if (std::holds_alternative<CustomObjectType>(type)) {
    ReportUnsupported(scope, absl::StrCat("gives '", Shortened(name), "', ", problem));
    problem.clear();
  }
  scope.results.push_back({name, std::move(problem)});
  output.values.emplace_back(std::string(name), std::move(type));
  return absl::OkStatus();
}

absl::StatusOr<GraphEditor::NewOutput> GraphReader::ReadNodeOutput(JsonRef ref, Scope& scope,
                                                                   bool token) {
  using Kind = BoundaryArgument::Kind;
  JsonUnion u;
  ABSL_RETURN_IF_ERROR(u.Read(ref));
  const JsonRef value = u.value();
  std::string_view tag = u.tag();

  GraphEditor::NewOutput output;
  output.kind = NodeOutput::Kind::kValue;
  const auto add_named = [&](JsonRef item, Kind kind) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const std::string_view name, ReadName(item));
    return AddResult(name, kind, token, item, scope, output);
  };
  const auto add_symbol = [&](JsonRef item, Kind kind) -> absl::Status {
    JsonUnion symbol;
    ABSL_RETURN_IF_ERROR(symbol.Read(item));
    if (symbol.tag() != "as_name") return symbol.UnknownTag("as_name");
    ABSL_ASSIGN_OR_RETURN(const std::string_view name, symbol.value().String());
    return AddResult(name, kind, false, symbol.value(), scope, output);
  };
  const auto add_list = [&](auto add, Kind kind) {
    output.kind = NodeOutput::Kind::kList;
    return ForEachElement(value, [&](JsonRef item) { return add(item, kind); });
  };

  absl::Status status;
  if (tag == "as_none") {
    output.kind = NodeOutput::Kind::kNone;
  } else if (tag == "as_tensor") {
    status = add_named(value, Kind::kTensor);
  } else if (tag == "as_tensors") {
    status = add_list(add_named, Kind::kTensor);
  } else if (tag == "as_sym_int") {
    status = add_symbol(value, Kind::kSymInt);
  } else if (tag == "as_sym_ints") {
    status = add_list(add_symbol, Kind::kSymInt);
  } else if (tag == "as_sym_float") {
    status = add_symbol(value, Kind::kSymFloat);
  } else if (tag == "as_sym_floats") {
    status = add_list(add_symbol, Kind::kSymFloat);
  } else if (tag == "as_sym_bool") {
    status = add_symbol(value, Kind::kSymBool);
  } else if (tag == "as_sym_bools") {
    status = add_list(add_symbol, Kind::kSymBool);
  } else if (tag == "as_optional_tensor") {
    JsonUnion optional;
    ABSL_RETURN_IF_ERROR(optional.Read(value));
    if (optional.tag() == "as_none") {
      output.kind = NodeOutput::Kind::kNone;
    } else if (optional.tag() == "as_tensor") {
      status = add_named(optional.value(), Kind::kTensor);
    } else {
      return optional.UnknownTag("as_tensor or as_none");
    }
  } else if (tag == "as_custom_obj") {
    status = add_named(value, Kind::kCustomObject);
  } else {
    ReportUnsupported(scope, absl::StrCat("a result has the kind '", Shortened(tag), "'"));
    output.kind = NodeOutput::Kind::kNone;
  }
  if (!status.ok()) return status;
  return output;
}

}  // namespace belay::exir
