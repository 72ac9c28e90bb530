#include "conformance/lowering/case_compose.h"

#include <map>
#include <regex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "exir/builder/op_builder.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using Values = std::vector<Argument>;  // several results until one is chosen

constexpr size_t kMaxText = 1000;  // bounds the recursion of the search

// What is computed next is what the first of these that is found at all finds first; a new name takes
// its place. In parentheses: what stays before it, and what is computed. An operand is complete, and
// nothing follows it that binds more.
const char* const kSteps[] = {
    R"(()([A-Za-z_]\w*\((?:[\w.%]+(?:,[\w.%]+)*)?\)))",  // f(a,b)
    R"(()([\w.%]+\[\d+\]))",                             // a[0]
    R"(()(\([\w.%]+\)))",                                // (a)
    R"((^|[-+*/(,])(-[\w.%]+)(?![\w.%(\[]))",            // -a
    R"(()([\w.%]+[*/][\w.%]+)(?![\w.%(\[]))",            // a*b
    R"(()([\w.%]+[-+][\w.%]+)(?![\w.%(\[*/]))",          // a+b
};

class Composer {
 public:
  Composer(const exir::ExportedProgram& inner, exir::ModuleId module, exir::OpBuilder& builder)
      : inner_(inner), module_(module), builder_(builder) {}

  // Errors stick to the builder.
  void Run(const std::string& function, const std::vector<exir::TensorMeta>& parameters) {
    std::smatch head;
    if (function.size() > kMaxText ||
        !std::regex_match(function, head, std::regex(R"(\s*forward\s*\(([\w,\s]*)\)\s*=([^]+))"))) {
      return builder_.Invalid("expected 'forward(…) = …', got '" + function + "'");
    }
    const std::vector<std::string> names = Names(head[1]);
    for (size_t i = 0; i < parameters.size() && i < names.size(); ++i) {
      values_[names[i]] = {builder_.editor().AddInput(names[i], parameters[i])};
      builder_.program().signature.inputs.push_back({});
    }
    std::string text = head[2];
    static const std::regex kLet(R"(\s*let\s*\(?([\w,\s]+?)\)?\s*=([^]+?)\sin\s([^]+))");
    for (std::smatch let; builder_.ok() && std::regex_match(text, let, kLet);) {
      Bind(Names(let[1]), Evaluate(let[2]));
      text = std::string(let[3]);
    }
    Values outputs = Evaluate(text);
    builder_.program().signature.outputs.resize(outputs.size());
    builder_.editor().SetOutputs(std::move(outputs));
  }

 private:
  static std::string WithoutSpaces(const std::string& text) {
    return std::regex_replace(text, std::regex(R"(\s)"), "");
  }
  static std::vector<std::string> Names(const std::string& list) {
    return absl::StrSplit(WithoutSpaces(list), ',');
  }

  void Bind(const std::vector<std::string>& names, const Values& values) {
    if (!builder_.ok()) return;
    if (names.size() != values.size()) {
      return builder_.Invalid(absl::StrCat("expected ", names.size(), " values for (",
                                           absl::StrJoin(names, ", "), "), got ", values.size()));
    }
    for (size_t i = 0; i < names.size(); ++i) values_[names[i]] = {values[i]};
  }

  // The values of expressions with commas between them, one behind the other.
  Values Evaluate(const std::string& expressions) {
    std::string text = WithoutSpaces(expressions);
    while (builder_.ok() && Step(text)) continue;
    Values results;
    const std::vector<std::string> parts = absl::StrSplit(text, ',');
    for (const std::string& part : parts) {
      const Values values = Get(part);
      results.insert(results.end(), values.begin(), values.end());
    }
    return results;
  }

  bool Step(std::string& text) {
    for (const char* step : kSteps) {
      std::smatch match;
      if (!std::regex_search(text, match, std::regex(step))) continue;
      const std::string name = absl::StrCat("%", values_.size());
      values_[name] = Compute(match[2]);
      text.replace(match.position(2), match.length(2), name);
      return true;
    }
    return false;
  }

  Values Compute(const std::string& step) {
    const size_t sign = step.find_first_of("([+-*/");
    const std::string left = step.substr(0, sign), right = step.substr(sign + 1);
    const std::vector<std::string> operands =
        absl::StrSplit(right, absl::ByAnyChar(",)]"), absl::SkipEmpty());
    if (step[sign] == '[') {
      const Values values = Get(left);
      size_t index = values.size();
      if (absl::SimpleAtoi(operands[0], &index) && index < values.size()) return {values[index]};
      return builder_.Invalid("expected another index, got " + step), Values();
    }
    if (step[sign] == '(') return left.empty() ? Get(operands[0]) : Call(left, operands);
    if (left.empty()) return Call("neg", {right});
    static const std::map<char, std::string> kOperators = {
        {'+', "add"}, {'-', "sub"}, {'*', "mul"}, {'/', "div"}};
    return Call(kOperators.at(step[sign]), {left, right});
  }

  Values Get(const std::string& word) {
    int64_t integer = 0;
    double real = 0;
    if (absl::SimpleAtoi(word, &integer)) return {Argument(integer)};
    if (absl::SimpleAtod(word, &real)) return {Argument(real)};
    if (const auto known = values_.find(word); known != values_.end()) return known->second;
    return builder_.Invalid("expected a parameter or number, got '" + word + "'"), Values();
  }

  Values Call(const std::string& name, const std::vector<std::string>& operands) {
    Values arguments;
    for (const std::string& operand : operands) {
      const Values values = Get(operand);
      if (values.size() != 1) builder_.Invalid("expected one value for each operand of " + name);
      arguments.insert(arguments.end(), values.begin(), values.end());
    }
    if (!builder_.ok()) return {};
    if (name == "inner") return CallInner(std::move(arguments));
    for (const char* overload : {".Tensor", ".default", ".self"}) {
      const std::string op = absl::StrCat("aten.", name, overload);
      if (builder_.ops().Find(op) == nullptr) continue;
      return builder_.CallAll(op, {arguments.begin(), arguments.end()});
    }
    builder_.Fail(absl::NotFoundError(absl::StrCat("there is no operator '", name, "'")));
    return {};
  }

  Values CallInner(Values arguments) {
    arguments.insert(arguments.begin(), Argument(module_));
    std::vector<exir::GraphEditor::NewOutput> outputs;
    for (size_t k = 0; k < inner_.top().outputs().size(); ++k) {
      const auto* value = inner_.top().outputs()[k].get_if<exir::ValueId>();
      if (inner_.signature.outputs[k].kind != exir::OutputKind::kUserOutput) continue;
      if (value == nullptr)
        return builder_.Invalid("expected a module that returns values"), Values();
      outputs.push_back({.values = {{"inner", inner_.top().value(*value).type}}});
    }
    const exir::NodeId node = builder_.editor().InsertNode(
        {}, {.name = "inner", .target = builder_.ops().CallDelegate(), .arguments = arguments},
        std::move(outputs));
    const std::vector<exir::ValueId> results = builder_.graph().node(node).results();
    return {results.begin(), results.end()};
  }

  const exir::ExportedProgram& inner_;
  const exir::ModuleId module_;
  exir::OpBuilder& builder_;
  std::map<std::string, Values> values_;  // by parameter, and by the names of what was computed
};

}  // namespace

absl::StatusOr<exir::ExportedProgram> Compose(
    const std::string& function, const std::vector<exir::TensorMeta>& parameters,
    std::shared_ptr<const exir::LoweredBackendModule> inner, const exir::OpRegistry& ops) {
  exir::ExportedProgram program(&ops);
  exir::GraphEditor editor(program.graphs[program.graphs.push_back(exir::Graph())]);
  exir::OpBuilder builder(program, editor);
  builder.MoveToEnd();
  const exir::ModuleId module = program.lowered_modules.push_back(inner);
  Composer(inner->original, module, builder).Run(function, parameters);
  ABSL_RETURN_IF_ERROR(builder.status());
  return program;
}

}  // namespace belay::conformance
