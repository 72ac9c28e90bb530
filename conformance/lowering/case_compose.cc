#include "conformance/lowering/case_compose.h"

#include <map>
#include <regex>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "exir/builder/op_builder.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::Argument;

constexpr int kMaxDepth = 100;

// What an expression stands for: several results until one is chosen.
using Values = std::vector<Argument>;

// Errors stick to the builder.
class FunctionParser {
 public:
  FunctionParser(std::string_view text, const exir::LoweredBackendModule& inner,
                 exir::ModuleId module, exir::OpBuilder& builder)
      : text_(text), inner_(inner), module_(module), builder_(builder) {
    const std::regex token(R"(\d[\w.]*|\w+|\S)");
    for (std::sregex_iterator it(text_.begin(), text_.end(), token), end; it != end; ++it) {
      tokens_.push_back(it->str());
    }
    tokens_.emplace_back();  // the end
  }

  void Parse(const std::vector<exir::TensorMeta>& parameters) {
    Expect("forward");
    Expect("(");
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i > 0) Expect(",");
      const std::string name = Next();
      names_[name] = {builder_.editor().AddInput(name, parameters[i])};
      builder_.program().signature.inputs.push_back({});
    }
    Expect(")");
    Expect("=");
    Values outputs;
    do {
      const Values values = Expression(0, 0);
      outputs.insert(outputs.end(), values.begin(), values.end());
    } while (Take(","));
    Expect("");
    builder_.program().signature.outputs.resize(outputs.size());
    builder_.editor().SetOutputs(std::move(outputs));
  }

 private:
  Values Fail(std::string_view expected) {
    builder_.Invalid(absl::StrCat("'", text_, "', token ", position_ + 1, " '", tokens_[position_],
                                  "': expected ", expected));
    position_ = tokens_.size() - 1;
    return {};
  }
  std::string Next() { return tokens_[position_ + 1 < tokens_.size() ? position_++ : position_]; }
  bool Take(std::string_view token) {
    const bool there = tokens_[position_] == token;
    if (there) Next();
    return there;
  }
  void Expect(std::string_view token) {
    if (!Take(token)) Fail(absl::StrCat("'", token, "'"));
  }

  // With operators that bind more than `power`.
  Values Expression(int power, int depth) {
    constexpr std::tuple<const char*, int, const char*> kOperators[] = {
        {"+", 1, "add"}, {"-", 1, "sub"}, {"*", 2, "mul"}, {"/", 2, "div"}};
    if (depth > kMaxDepth) return Fail("less nesting");
    Values left = Atom(depth + 1);
    for (bool more = true; more;) {
      more = Take("[");
      if (more) {
        size_t index = left.size();
        const bool number = absl::SimpleAtoi(Next(), &index);
        if (!number || index >= left.size()) return Fail("another index before this");
        left = {left[index]};
        Expect("]");
      }
      for (const auto& [sign, binds, name] : kOperators) {
        if (binds <= power || !Take(sign)) continue;
        const Values right = Expression(binds, depth + 1);
        if (left.size() != 1 || right.size() != 1)
          return Fail("one value on each side before this");
        left = Call(name, {left[0], right[0]});
        more = true;
      }
    }
    return left;
  }

  Values Atom(int depth) {
    if (Take("(")) {
      const Values values = Expression(0, depth);
      Expect(")");
      return values;
    }
    if (Take("-")) return Call("neg", Expression(2, depth));
    int64_t integer = 0;
    double real = 0;
    const std::string word = Next();
    if (absl::SimpleAtoi(word, &integer)) return {Argument(integer)};
    if (absl::SimpleAtod(word, &real)) return {Argument(real)};
    const auto parameter = names_.find(word);
    if (!Take("("))
      return parameter != names_.end() ? parameter->second : Fail("a value before this");
    Values arguments;
    while (builder_.ok() && !Take(")")) {
      if (!arguments.empty()) Expect(",");
      const Values values = Expression(0, depth);
      if (values.size() != 1) return Fail("one value before this");
      arguments.push_back(values[0]);
    }
    return Call(word, std::move(arguments));
  }

  Values Call(const std::string& name, Values arguments) {
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
    const exir::ExportedProgram& original = inner_.original;
    arguments.insert(arguments.begin(), Argument(module_));
    std::vector<exir::GraphEditor::NewOutput> outputs;
    for (size_t k = 0; k < original.top().outputs().size(); ++k) {
      if (original.signature.outputs[k].kind != exir::OutputKind::kUserOutput) continue;
      const auto* value = original.top().outputs()[k].get_if<exir::ValueId>();
      if (value == nullptr) return Fail("a module that returns values");
      outputs.push_back(
          {exir::NodeOutput::Kind::kValue, {{"inner", original.top().value(*value).type}}});
    }
    const exir::NodeId node = builder_.editor().InsertNode(
        exir::NodeId(),
        {.name = "inner", .target = builder_.ops().CallDelegate(), .arguments = arguments},
        std::move(outputs));
    const std::vector<exir::ValueId> results = builder_.graph().node(node).results();
    return Values(results.begin(), results.end());
  }

  const std::string text_;
  const exir::LoweredBackendModule& inner_;
  const exir::ModuleId module_;
  exir::OpBuilder& builder_;
  std::vector<std::string> tokens_;
  size_t position_ = 0;
  std::map<std::string, Values> names_;
};

}  // namespace

absl::StatusOr<exir::ExportedProgram> Compose(
    std::string_view function, const std::vector<exir::TensorMeta>& parameters,
    std::shared_ptr<const exir::LoweredBackendModule> inner, const exir::OpRegistry& ops) {
  exir::ExportedProgram program(&ops);
  exir::GraphEditor editor(program.graphs[program.graphs.push_back(exir::Graph())]);
  exir::OpBuilder builder(program, editor);
  builder.MoveToEnd();
  const exir::ModuleId module = program.lowered_modules.push_back(inner);
  FunctionParser(function, *inner, module, builder).Parse(parameters);
  ABSL_RETURN_IF_ERROR(builder.status());
  return program;
}

}  // namespace belay::conformance
