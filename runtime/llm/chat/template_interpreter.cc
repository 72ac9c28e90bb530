#include "runtime/llm/chat/template_interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/python_integers.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/llm/chat/template_lexer.h"
#include "runtime/program/metadata_path.h"

namespace belay::llm {
namespace {

using Kind = TemplateNode::Kind;
using Value = TemplateValue;

struct Scope {
  const Scope* parent = nullptr;
  absl::flat_hash_map<std::string, Value> variables = {};
  int loops = 0;  // around it

  const Value* Find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
      const auto found = scope->variables.find(name);
      if (found != scope->variables.end()) return &found->second;
    }
    return nullptr;
  }
};

enum class Flow { kNext, kBreak, kContinue };

class Interpreter {
 public:
  Interpreter(TemplateContext& context, uint64_t output_bytes)
      : context_(context), output_bytes_(output_bytes) {}

  absl::StatusOr<std::string> Run(const TemplateNode& root,
                                  const std::vector<std::pair<std::string, Value>>& variables) {
    Scope globals;
    for (const auto& [name, function] :
         {std::pair("range", TemplateFunction::kRange),
          std::pair("namespace", TemplateFunction::kNamespace),
          std::pair("dict", TemplateFunction::kDict),
          std::pair("raise_exception", TemplateFunction::kRaiseException)}) {
      globals.variables.emplace(name, Value(function));
    }
    if (context_.now.has_value()) {
      globals.variables.emplace("strftime_now", Value(TemplateFunction::kStrftimeNow));
    }
    for (const auto& [name, value] : variables) {
      globals.variables.insert_or_assign(name, value);
    }
    root_.parent = &globals;
    std::string text;
    ABSL_RETURN_IF_ERROR(Execute(root, root_, text).status());
    return text;
  }

 private:
  // Adds the line to an error that has none.
  static absl::Status AtLine(const TemplateNode& node, const absl::Status& status) {
    const std::string_view message = FromAbsl(status.message());
    if (message.starts_with("line ")) return status;
    return TemplateError(node.line, message, status.code());
  }

  absl::StatusOr<Value> Evaluate(const TemplateNode& node, const Scope& scope) {
    TemplateDepth depth(context_);
    absl::Status status = depth.Enter();
    if (status.ok()) {
      absl::StatusOr<Value> value = EvaluateKind(node, scope);
      if (value.ok()) return value;
      status = value.status();
    }
    return AtLine(node, status);
  }

  // A missing node is none.
  absl::StatusOr<Value> EvaluateOptional(const TemplateNodePtr& node, const Scope& scope) {
    if (node == nullptr) return Value();
    return Evaluate(*node, scope);
  }
  absl::StatusOr<std::vector<Value>> EvaluateAll(const TemplateNode& node, size_t from,
                                                 const Scope& scope) {
    std::vector<Value> values;
    for (size_t i = from; i < node.nodes.size(); ++i) {
      ABSL_ASSIGN_OR_RETURN(Value value, Evaluate(*node.nodes[i], scope));
      values.push_back(std::move(value));
    }
    return values;
  }
  absl::StatusOr<TemplateArguments> Arguments(const TemplateNode& node, const Scope& scope) {
    TemplateArguments arguments;
    ABSL_ASSIGN_OR_RETURN(arguments.values, EvaluateAll(node, 1, scope));
    for (const auto& [name, argument] : node.named) {
      ABSL_ASSIGN_OR_RETURN(Value value, Evaluate(*argument, scope));
      arguments.named.emplace_back(name, std::move(value));
    }
    return arguments;
  }

  absl::StatusOr<Value> EvaluateKind(const TemplateNode& node, const Scope& scope) {
    switch (node.kind) {
      case Kind::kConstant:
        return node.value;
      case Kind::kName: {
        const Value* value = scope.Find(node.name);
        return value == nullptr ? Value::MakeUndefined(node.name) : *value;
      }
      case Kind::kList:
      case Kind::kTuple: {
        ABSL_ASSIGN_OR_RETURN(std::vector<Value> items, EvaluateAll(node, 0, scope));
        return Value::List(std::move(items), context_.work,
                           node.kind == Kind::kList ? SequenceStyle::kList : SequenceStyle::kTuple);
      }
      case Kind::kDict:
        return Dict(node, scope);
      case Kind::kAttribute: {
        ABSL_ASSIGN_OR_RETURN(const Value object, Evaluate(*node.nodes[0], scope));
        return GetAttribute(context_, object, node.name);
      }
      case Kind::kItem: {
        ABSL_ASSIGN_OR_RETURN(const Value object, Evaluate(*node.nodes[0], scope));
        ABSL_ASSIGN_OR_RETURN(const Value index, Evaluate(*node.nodes[1], scope));
        return GetItem(context_, object, index);
      }
      case Kind::kSlice: {
        ABSL_ASSIGN_OR_RETURN(const Value object, Evaluate(*node.nodes[0], scope));
        std::array<Value, 3> bounds;
        for (size_t i = 0; i < 3; ++i) {
          ABSL_ASSIGN_OR_RETURN(bounds[i], EvaluateOptional(node.nodes[i + 1], scope));
        }
        return GetSlice(context_, object, bounds);
      }
      case Kind::kCall:
        return Call(node, scope);
      case Kind::kFilter: {
        Value input = filter_input_;
        if (node.nodes[0] != nullptr) {
          ABSL_ASSIGN_OR_RETURN(input, Evaluate(*node.nodes[0], scope));
        }
        ABSL_ASSIGN_OR_RETURN(TemplateArguments arguments, Arguments(node, scope));
        return ApplyFilter(context_, node.name, input, std::move(arguments));
      }
      case Kind::kTest: {
        ABSL_ASSIGN_OR_RETURN(const Value input, Evaluate(*node.nodes[0], scope));
        ABSL_ASSIGN_OR_RETURN(TemplateArguments arguments, Arguments(node, scope));
        ABSL_ASSIGN_OR_RETURN(const bool holds,
                              ApplyTest(context_, node.name, input, std::move(arguments)));
        return Value::Bool(holds);
      }
      case Kind::kNegative:
      case Kind::kPositive: {
        ABSL_ASSIGN_OR_RETURN(const Value operand, Evaluate(*node.nodes[0], scope));
        if (const double* number = operand.get_if<double>()) {
          return Value::Double(node.kind == Kind::kNegative ? -*number : *number);
        }
        return node.kind == Kind::kNegative ? Binary("-", Value::Int(0), operand)
                                            : Binary("+", Value::Int(0), operand);
      }
      case Kind::kNot: {
        ABSL_ASSIGN_OR_RETURN(const Value operand, Evaluate(*node.nodes[0], scope));
        return Value::Bool(!operand.truth());
      }
      case Kind::kAnd:
      case Kind::kOr: {
        Value value;
        for (const TemplateNodePtr& operand : node.nodes) {
          ABSL_ASSIGN_OR_RETURN(value, Evaluate(*operand, scope));
          if (value.truth() == (node.kind == Kind::kOr)) break;
        }
        return value;
      }
      case Kind::kConcat: {
        std::string text;
        for (const TemplateNodePtr& operand : node.nodes) {
          ABSL_ASSIGN_OR_RETURN(const Value value, Evaluate(*operand, scope));
          ABSL_ASSIGN_OR_RETURN(const std::string part, ToText(value, context_.work));
          text += part;
        }
        return Value::Text(std::move(text));
      }
      case Kind::kBinary: {
        ABSL_ASSIGN_OR_RETURN(const Value left, Evaluate(*node.nodes[0], scope));
        ABSL_ASSIGN_OR_RETURN(const Value right, Evaluate(*node.nodes[1], scope));
        return Binary(node.name, left, right);
      }
      case Kind::kCompare:
        return Compare(node, scope);
      case Kind::kConditional: {
        ABSL_ASSIGN_OR_RETURN(const Value condition, Evaluate(*node.nodes[1], scope));
        if (condition.truth()) return Evaluate(*node.nodes[0], scope);
        if (node.nodes[2] == nullptr) return Value::MakeUndefined("the value without 'else'");
        return Evaluate(*node.nodes[2], scope);
      }
      default:
        return absl::InternalError("expected an expression");
    }
  }

  absl::StatusOr<Value> Dict(const TemplateNode& node, const Scope& scope) {
    std::vector<std::pair<Value, Value>> entries;
    for (size_t i = 0; i < node.nodes.size(); i += 2) {
      ABSL_ASSIGN_OR_RETURN(Value key, Evaluate(*node.nodes[i], scope));
      ABSL_ASSIGN_OR_RETURN(Value value, Evaluate(*node.nodes[i + 1], scope));
      entries.emplace_back(std::move(key), std::move(value));
    }
    return Value::Dict(std::move(entries), context_.work);
  }

  absl::StatusOr<Value> Call(const TemplateNode& node, const Scope& scope) {
    ABSL_ASSIGN_OR_RETURN(const Value callee, Evaluate(*node.nodes[0], scope));
    ABSL_ASSIGN_OR_RETURN(TemplateArguments arguments, Arguments(node, scope));
    if (const auto* function = callee.get_if<TemplateFunction>()) {
      return CallFunction(context_, *function, std::move(arguments));
    }
    if (const auto* method = callee.get_if<TemplateMethod>()) {
      return CallMethod(context_, *method, std::move(arguments));
    }
    if (const auto* macro = callee.get_if<const TemplateNode*>()) {
      return CallMacro(**macro, std::move(arguments));
    }
    ABSL_RETURN_IF_ERROR(CheckDefined(callee));
    return absl::InvalidArgumentError(
        absl::StrCat("expected a function, got ", callee.type_name()));
  }

  absl::StatusOr<Value> CallMacro(const TemplateNode& macro, TemplateArguments arguments) {
    const std::vector<std::string_view> parameters(macro.names.begin(), macro.names.end());
    ABSL_RETURN_IF_ERROR(arguments.Bind(macro.name, parameters, 0));
    Scope scope = {.parent = &root_};
    ABSL_RETURN_IF_ERROR(context_.work.Charge(kValueUnits * (2 + parameters.size())));
    const size_t first_default = parameters.size() - (macro.nodes.size() - 1);
    for (size_t i = 0; i < parameters.size(); ++i) {
      Value& value = arguments.values[i];
      if (value.is_undefined()) {
        value = Value::MakeUndefined(macro.names[i]);
        if (i >= first_default) {
          ABSL_ASSIGN_OR_RETURN(value, Evaluate(*macro.nodes[i - first_default + 1], scope));
        }
      }
      scope.variables.insert_or_assign(macro.names[i], std::move(value));
    }
    std::string text;
    ABSL_RETURN_IF_ERROR(Execute(*macro.nodes[0], scope, text).status());
    return Value::Text(std::move(text));
  }

  absl::StatusOr<Value> Compare(const TemplateNode& node, const Scope& scope) {
    ABSL_ASSIGN_OR_RETURN(Value left, Evaluate(*node.nodes[0], scope));
    for (size_t i = 0; i < node.names.size(); ++i) {
      const std::string& name = node.names[i];
      ABSL_ASSIGN_OR_RETURN(Value right, Evaluate(*node.nodes[i + 1], scope));
      absl::StatusOr<bool> holds = false;
      bool negated = false;
      if (name == "==" || name == "!=") {
        holds = Equal(left, right, context_.work);
        negated = name == "!=";
      } else if (name == "in" || name == "not in") {
        holds = Contains(context_, right, left);
        negated = name == "not in";
      } else if (name == "<=") {
        holds = LessOrEqual(left, right, context_.work);
      } else if (name == ">=") {
        holds = LessOrEqual(right, left, context_.work);
      } else {
        holds = name == "<" ? Less(left, right, context_.work) : Less(right, left, context_.work);
      }
      if (!holds.ok()) return holds.status();
      if (*holds == negated) return Value::Bool(false);
      left = std::move(right);
    }
    return Value::Bool(true);
  }

  absl::StatusOr<Value> Binary(std::string_view name, const Value& left, const Value& right) {
    if (name == "+") {
      if (left.text() != nullptr && right.text() != nullptr) {
        ABSL_RETURN_IF_ERROR(context_.work.Charge(left.text()->size() + right.text()->size()));
        return Value::Text(*left.text() + *right.text());
      }
      const TemplateSequence *a = left.sequence(), *b = right.sequence();
      if (a != nullptr && b != nullptr && a->style == b->style) {
        ABSL_RETURN_IF_ERROR(
            context_.work.Charge(kValueUnits * (a->items.size() + b->items.size())));
        std::vector<Value> items = a->items;
        items.insert(items.end(), b->items.begin(), b->items.end());
        return Value::List(std::move(items), context_.work, a->style);
      }
    }
    int64_t i, j;
    if (name == "*" && (left.text() != nullptr || right.text() != nullptr)) {
      const Value& text = left.text() != nullptr ? left : right;
      if ((left.text() != nullptr ? right : left).GetInt(i)) return Repeat(*text.text(), i);
    }
    if (left.GetInt(i) && right.GetInt(j) && name != "/") return IntBinary(name, i, j);
    if (left.is_number() && right.is_number()) {
      return DoubleBinary(name, left.AsDouble(), right.AsDouble());
    }
    ABSL_RETURN_IF_ERROR(CheckDefined(left));
    ABSL_RETURN_IF_ERROR(CheckDefined(right));
    if (name == "%" && left.text() != nullptr) {
      return absl::UnimplementedError("formatting with '%' is not supported");
    }
    return absl::InvalidArgumentError(absl::StrCat("operator ", name,
                                                   ": expected two values of one type, got ",
                                                   left.type_name(), " and ", right.type_name()));
  }

  absl::StatusOr<Value> Repeat(const std::string& text, int64_t count) {
    const auto times = static_cast<uint64_t>(std::max<int64_t>(count, 0));
    ABSL_RETURN_IF_ERROR(
        context_.work.Charge(CheckedMul<uint64_t>(text.size(), times).value_or(UINT64_MAX)));
    std::string repeated;
    for (int64_t i = 0; i < count && !text.empty(); ++i) repeated += text;
    return Value::Text(std::move(repeated));
  }

  absl::StatusOr<Value> IntBinary(std::string_view name, int64_t a, int64_t b) {
    if (name == "**" && b < 0) {
      return DoubleBinary(name, static_cast<double>(a), static_cast<double>(b));
    }
    if ((name == "//" || name == "%") && b == 0) {
      return absl::InvalidArgumentError("division by zero");
    }
    const std::optional<int64_t> result = name == "+"    ? CheckedAdd(a, b)
                                          : name == "-"  ? CheckedSub(a, b)
                                          : name == "*"  ? CheckedMul(a, b)
                                          : name == "**" ? PythonPow(a, b)
                                          : name == "//" ? PythonFloorDiv(a, b)
                                                         : PythonMod(a, b);
    if (!result.has_value()) return absl::OutOfRangeError("expected integers of 64 bits");
    return Value::Int(*result);
  }

  absl::StatusOr<Value> DoubleBinary(std::string_view name, double a, double b) {
    if (name == "+") return Value::Double(a + b);
    if (name == "-") return Value::Double(a - b);
    if (name == "*") return Value::Double(a * b);
    const bool by_zero = name == "**" ? a == 0 && b < 0 : b == 0;
    if (by_zero) return absl::InvalidArgumentError("division by zero");
    if (name == "**") return Value::Double(std::pow(a, b));
    if (name == "/") return Value::Double(a / b);
    if (name == "//") return Value::Double(std::floor(a / b));
    const double rest = std::fmod(a, b);
    return Value::Double(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  }

  // --- Statements ---

  absl::StatusOr<Flow> Execute(const TemplateNode& node, Scope& scope, std::string& out) {
    TemplateDepth depth(context_);
    absl::Status status = depth.Enter();
    if (status.ok()) {
      absl::StatusOr<Flow> flow = ExecuteKind(node, scope, out);
      if (flow.ok()) return flow;
      status = flow.status();
    }
    return AtLine(node, status);
  }

  absl::Status Print(std::string_view text, std::string& out) {
    if (text.size() > output_bytes_ - std::min<uint64_t>(out.size(), output_bytes_)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("expected an output of at most ", output_bytes_, " bytes"));
    }
    ABSL_RETURN_IF_ERROR(context_.work.Charge(text.size()));
    out += text;
    return absl::OkStatus();
  }

  absl::StatusOr<Flow> ExecuteKind(const TemplateNode& node, Scope& scope, std::string& out) {
    switch (node.kind) {
      case Kind::kBlock:
        for (const TemplateNodePtr& statement : node.nodes) {
          ABSL_ASSIGN_OR_RETURN(const Flow flow, Execute(*statement, scope, out));
          if (flow != Flow::kNext) return flow;
        }
        return Flow::kNext;
      case Kind::kData:
        ABSL_RETURN_IF_ERROR(Print(*node.value.text(), out));
        return Flow::kNext;
      case Kind::kPrint: {
        ABSL_ASSIGN_OR_RETURN(const Value value, Evaluate(*node.nodes[0], scope));
        ABSL_ASSIGN_OR_RETURN(const std::string text, ToText(value, context_.work));
        ABSL_RETURN_IF_ERROR(Print(text, out));
        return Flow::kNext;
      }
      case Kind::kIf:
        return If(node, scope, out);
      case Kind::kFor:
        return For(node, scope, out);
      case Kind::kSet: {
        ABSL_ASSIGN_OR_RETURN(Value value, Evaluate(*node.nodes[1], scope));
        ABSL_RETURN_IF_ERROR(Assign(*node.nodes[0], std::move(value), scope));
        return Flow::kNext;
      }
      case Kind::kSetBlock: {
        ABSL_ASSIGN_OR_RETURN(Value value, RenderBlock(*node.nodes[2], node.nodes[1].get(), scope));
        ABSL_RETURN_IF_ERROR(Assign(*node.nodes[0], std::move(value), scope));
        return Flow::kNext;
      }
      case Kind::kFilterBlock: {
        ABSL_ASSIGN_OR_RETURN(const Value value,
                              RenderBlock(*node.nodes[1], node.nodes[0].get(), scope));
        ABSL_ASSIGN_OR_RETURN(const std::string text, ToText(value, context_.work));
        ABSL_RETURN_IF_ERROR(Print(text, out));
        return Flow::kNext;
      }
      case Kind::kMacro:
        scope.variables.insert_or_assign(node.name, Value(&node));
        return Flow::kNext;
      case Kind::kBreak:
        return Flow::kBreak;
      case Kind::kContinue:
        return Flow::kContinue;
      default:
        return absl::InternalError("expected a statement");
    }
  }

  // The output of a block, after filters. `filters` may be null.
  absl::StatusOr<Value> RenderBlock(const TemplateNode& block, const TemplateNode* filters,
                                    const Scope& scope) {
    Scope inner = {.parent = &scope, .loops = scope.loops};
    std::string text;
    ABSL_RETURN_IF_ERROR(Execute(block, inner, text).status());
    Value value = Value::Text(std::move(text));
    if (filters == nullptr) return value;
    filter_input_ = std::move(value);
    return Evaluate(*filters, scope);
  }

  absl::StatusOr<Flow> If(const TemplateNode& node, Scope& scope, std::string& out) {
    for (size_t i = 0; i + 1 < node.nodes.size(); i += 2) {
      ABSL_ASSIGN_OR_RETURN(const Value condition, Evaluate(*node.nodes[i], scope));
      if (condition.truth()) return Execute(*node.nodes[i + 1], scope, out);
    }
    if (node.nodes.size() % 2 == 0) return Flow::kNext;
    return Execute(*node.nodes.back(), scope, out);
  }

  absl::StatusOr<Flow> For(const TemplateNode& node, Scope& scope, std::string& out) {
    ABSL_ASSIGN_OR_RETURN(const Value iterable, Evaluate(*node.nodes[1], scope));
    ABSL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(context_, iterable));
    if (node.nodes[2] != nullptr) {
      std::vector<Value> kept;
      for (Value& item : items) {
        Scope inner = {.parent = &scope, .loops = scope.loops};
        ABSL_RETURN_IF_ERROR(Assign(*node.nodes[0], item, inner));
        ABSL_ASSIGN_OR_RETURN(const Value condition, Evaluate(*node.nodes[2], inner));
        if (condition.truth()) kept.push_back(std::move(item));
      }
      items = std::move(kept);
    }
    if (items.empty() && node.nodes[4] != nullptr) {
      Scope inner = {.parent = &scope, .loops = scope.loops};
      return Execute(*node.nodes[4], inner, out);
    }
    const auto loop = std::make_shared<TemplateLoop>();
    loop->level = scope.loops + 1;
    ABSL_ASSIGN_OR_RETURN(loop->list, Value::List(std::move(items), context_.work));
    for (; loop->index < loop->items().size(); ++loop->index) {
      Scope inner = {.parent = &scope, .loops = scope.loops + 1};
      inner.variables.emplace("loop", Value(Value::Loop(loop)));
      ABSL_RETURN_IF_ERROR(Assign(*node.nodes[0], loop->items()[loop->index], inner));
      ABSL_ASSIGN_OR_RETURN(const Flow flow, Execute(*node.nodes[3], inner, out));
      if (flow == Flow::kBreak) break;
    }
    return Flow::kNext;
  }

  absl::Status Assign(const TemplateNode& target, Value value, Scope& scope) {
    ABSL_RETURN_IF_ERROR(context_.work.Charge(kValueUnits));
    if (target.kind == Kind::kName) {
      scope.variables.insert_or_assign(target.name, std::move(value));
      return absl::OkStatus();
    }
    if (target.kind == Kind::kAttribute) {
      const Value* object = scope.Find(target.nodes[0]->name);
      const auto* attributes = object == nullptr ? nullptr : object->get_if<TemplateNamespace*>();
      if (attributes == nullptr) {
        return TemplateError(target.line,
                             absl::StrCat("expected a namespace ", Quoted(target.nodes[0]->name)));
      }
      auto& list = (*attributes)->attributes;
      ABSL_RETURN_IF_ERROR(context_.work.Charge(kStepUnits * list.size()));
      for (auto& [name, old] : list) {
        if (name != target.name) continue;
        old = std::move(value);
        return absl::OkStatus();
      }
      list.emplace_back(target.name, std::move(value));
      return absl::OkStatus();
    }
    ABSL_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(context_, value));
    if (items.size() != target.nodes.size()) {
      return TemplateError(target.line, absl::StrCat("expected ", target.nodes.size(),
                                                     " values to assign, got ", items.size()));
    }
    for (size_t i = 0; i < items.size(); ++i) {
      ABSL_RETURN_IF_ERROR(Assign(*target.nodes[i], std::move(items[i]), scope));
    }
    return absl::OkStatus();
  }

  TemplateContext& context_;
  const uint64_t output_bytes_;
  Scope root_;
  Value filter_input_;  // of a filter without an input
};

}  // namespace

absl::StatusOr<std::string> RenderTemplate(
    const TemplateNode& root, const std::vector<std::pair<std::string, TemplateValue>>& variables,
    uint64_t output_bytes, TemplateContext& context) {
  return Interpreter(context, output_bytes).Run(root, variables);
}

}  // namespace belay::llm
