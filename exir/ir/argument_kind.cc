#include "exir/ir/argument_kind.h"

#include <algorithm>

namespace belay::exir {
namespace {

enum class Kind : uint8_t {
  kNone,
  kTensor,
  kInt,
  kFloat,
  kBool,
  kComplex,
  kString,
  kDType,
  kMemoryFormat,
  kLayout,
  kDevice,
  kList,
  kGraph,
  kModule,
  kOperator,
  kDict,
  kCustomObject,
  kToken,
};
constexpr std::string_view kKindNames[] = {
    "none",   "tensor", "int",           "float",      "bool",          "complex number",
    "string", "dtype",  "memory format", "layout",     "device",        "list",
    "graph",  "module", "operator",      "dictionary", "custom object", "token",
};

Kind KindOf(const ValueType& type) {
  struct Visitor {
    Kind operator()(const TensorMeta&) const { return Kind::kTensor; }
    Kind operator()(const SymIntType&) const { return Kind::kInt; }
    Kind operator()(const SymFloatType&) const { return Kind::kFloat; }
    Kind operator()(const SymBoolType&) const { return Kind::kBool; }
    Kind operator()(const CustomObjectType&) const { return Kind::kCustomObject; }
    Kind operator()(const TokenType&) const { return Kind::kToken; }
    Kind operator()(const ConstantType& constant) const {
      return std::visit(*this, constant.value);
    }
    Kind operator()(None) const { return Kind::kNone; }
    Kind operator()(int64_t) const { return Kind::kInt; }
    Kind operator()(double) const { return Kind::kFloat; }
    Kind operator()(bool) const { return Kind::kBool; }
    Kind operator()(const std::string&) const { return Kind::kString; }
  };
  return std::visit(Visitor(), type);
}

Kind KindOf(const Graph& graph, const Argument& argument) {
  struct Visitor {
    const Graph& graph;
    Kind operator()(None) const { return Kind::kNone; }
    Kind operator()(ValueId value) const { return KindOf(graph.value(value).type); }
    Kind operator()(int64_t) const { return Kind::kInt; }
    Kind operator()(double) const { return Kind::kFloat; }
    Kind operator()(bool) const { return Kind::kBool; }
    Kind operator()(const std::complex<double>&) const { return Kind::kComplex; }
    Kind operator()(const std::string&) const { return Kind::kString; }
    Kind operator()(DType) const { return Kind::kDType; }
    Kind operator()(MemoryFormat) const { return Kind::kMemoryFormat; }
    Kind operator()(Layout) const { return Kind::kLayout; }
    Kind operator()(const Device&) const { return Kind::kDevice; }
    Kind operator()(const Argument::List&) const { return Kind::kList; }
    Kind operator()(GraphId) const { return Kind::kGraph; }
    Kind operator()(ModuleId) const { return Kind::kModule; }
    Kind operator()(const OperatorName&) const { return Kind::kOperator; }
    Kind operator()(const Dict&) const { return Kind::kDict; }
  };
  return std::visit(Visitor{graph}, argument.variant());
}

bool IsRealNumber(Kind kind) {
  return kind == Kind::kInt || kind == Kind::kFloat || kind == Kind::kBool;
}

bool AcceptsElement(BaseType base, Kind kind) {
  switch (base) {
    case BaseType::kTensor:
      return kind == Kind::kTensor || kind == Kind::kComplex || IsRealNumber(kind);
    case BaseType::kInt:
      return kind == Kind::kInt;
    case BaseType::kFloat:
      return kind == Kind::kFloat || kind == Kind::kInt;
    case BaseType::kBool:
      return kind == Kind::kBool;
    case BaseType::kScalar:
      return kind == Kind::kComplex || IsRealNumber(kind);
    case BaseType::kString:
      return kind == Kind::kString;
    case BaseType::kScalarType:
      return kind == Kind::kDType;
    case BaseType::kLayout:
      return kind == Kind::kLayout;
    case BaseType::kMemoryFormat:
      return kind == Kind::kMemoryFormat;
    case BaseType::kDevice:
      return kind == Kind::kDevice;
    case BaseType::kGenerator:
      return kind == Kind::kNone || kind == Kind::kCustomObject;
    case BaseType::kAny:
      return true;
  }
  return false;
}

}  // namespace

bool AcceptsArgument(const SchemaType& type, const Graph& graph, const Argument& argument) {
  if (type.base == BaseType::kAny) return true;
  if (argument.is_none() && type.optional) return true;
  if (!type.list) return AcceptsElement(type.base, KindOf(graph, argument));
  const Argument::List* list = argument.get_if<Argument::List>();
  if (list == nullptr) {
    return type.list_size.has_value() && AcceptsElement(type.base, KindOf(graph, argument));
  }
  return std::all_of(list->begin(), list->end(), [&](const Argument& element) {
    return (element.is_none() && type.element_optional) ||
           AcceptsElement(type.base, KindOf(graph, element));
  });
}

bool MatchesOutput(const SchemaType& type, const Graph& graph, const NodeOutput& output) {
  if (type.base == BaseType::kAny) return true;
  const auto gives = [&](ValueId value) {
    const Kind kind = KindOf(graph.value(value).type);
    switch (type.base) {
      case BaseType::kTensor:
        return kind == Kind::kTensor;
      case BaseType::kInt:
      case BaseType::kFloat:
      case BaseType::kBool:
      case BaseType::kScalar:
        return IsRealNumber(kind);
      default:
        return true;  // archives have no type for other kinds
    }
  };
  if (output.kind == NodeOutput::Kind::kNone)
    return type.base == BaseType::kTensor || type.optional;
  return (output.kind == NodeOutput::Kind::kList) == type.list &&
         std::all_of(output.values.begin(), output.values.end(), gives);
}

std::string ArgumentKindName(const Graph& graph, const Argument& argument) {
  return std::string(kKindNames[static_cast<size_t>(KindOf(graph, argument))]);
}

}  // namespace belay::exir
