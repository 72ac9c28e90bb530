#include "conformance/lowering/case_compose.h"

#include <cctype>
#include <map>
#include <regex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/builder/op_builder.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using Values = std::vector<Argument>;  // several results until one is chosen

constexpr size_t kMaxText = 1000;  // bounds the recursion

// Makes nodes in the order in which Python would. Errors stick to the builder.
class Composer {
 public:
  Composer(const std::string& function, const exir::ExportedProgram& inner, exir::ModuleId module,
           exir::OpBuilder& builder)
      : inner_(inner), module_(module), builder_(builder) {
    static const std::regex kToken(R"([\w.]+|\S)");
    if (function.size() <= kMaxText) {
      tokens_.assign(std::sregex_token_iterator(function.begin(), function.end(), kToken), {});
    }
  }

  void Run(const std::vector<exir::TensorMeta>& parameters) {
    Expect("forward");
    const std::vector<std::string> names = Names();
    for (size_t i = 0; i < parameters.size() && i < names.size(); ++i) {
      values_[names[i]] = {builder_.editor().AddInput(names[i], parameters[i])};
      builder_.program().signature.inputs.push_back({});
    }
    Values outputs = Read(0);
    Expect("");
    builder_.program().signature.outputs.resize(outputs.size());
    builder_.editor().SetOutputs(std::move(outputs));
  }

 private:
  std::string Peek() const { return next_ < tokens_.size() ? tokens_[next_] : ""; }
  bool Take(const std::string& token) {
    const bool is_next = Peek() == token;
    next_ += is_next ? 1 : 0;
    return is_next;
  }
  void Expect(const std::string& token) {
    if (!Take(token)) builder_.Invalid("expected '" + token + "', got '" + Peek() + "'");
  }
  // Those before the next "=".
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (; !Peek().empty() && Peek() != "="; ++next_) {
      if (std::isalnum(static_cast<unsigned char>(Peek()[0]))) names.push_back(Peek());
    }
    Expect("=");
    return names;
  }

  // An operand, and what binds more than `least`; several values where commas do.
  Values Read(int least) {
    static const std::map<std::string, std::pair<int, const char*>> kSigns = {
        {",", {1, ""}},    {"+", {2, "add"}}, {"-", {2, "sub"}},
        {"*", {3, "mul"}}, {"/", {3, "div"}}, {"[", {4, ""}}};
    Values values = Operand();
    while (builder_.ok()) {
      const auto sign = kSigns.find(Peek());
      if (sign == kSigns.end() || sign->second.first <= least) break;
      ++next_;
      const Values right = Read(sign->second.first);
      if (sign->first == "[") {
        const auto* index = right.size() == 1 ? right[0].get_if<int64_t>() : nullptr;
        Expect("]");
        if (index == nullptr || *index < 0 || *index >= std::ssize(values)) {
          return builder_.Invalid("expected another index"), Values();
        }
        values = {values[*index]};
      } else if (sign->first == ",") {
        values.insert(values.end(), right.begin(), right.end());
      } else {
        values = Call(sign->second.second, {values, right});
      }
    }
    return values;
  }

  Values Operand() {
    const std::string word = Peek();
    ++next_;
    int64_t integer = 0;
    double real = 0;
    if (absl::SimpleAtoi(word, &integer)) return {Argument(integer)};
    if (absl::SimpleAtod(word, &real)) return {Argument(real)};
    if (word == "-") return Call("neg", {Read(3)});
    if (word == "(") {
      Values values = Read(0);
      Expect(")");
      return values;
    }
    if (word == "let") {
      const std::vector<std::string> names = Names();
      const Values values = Read(0);
      if (names.size() != values.size()) {
        builder_.Invalid(absl::StrCat("expected ", names.size(), " values for (",
                                      absl::StrJoin(names, ", "), "), got ", values.size()));
      }
      Expect("in");
      for (size_t i = 0; builder_.ok() && i < names.size(); ++i) values_[names[i]] = {values[i]};
      return Read(0);
    }
    if (Take("(")) {
      std::vector<Values> operands;
      while (builder_.ok() && !Take(")")) {
        operands.push_back(Read(1));
        if (Peek() != ")") Expect(",");
      }
      return Call(word, operands);
    }
    if (const auto known = values_.find(word); known != values_.end()) return known->second;
    return builder_.Invalid("expected a parameter or number, got '" + word + "'"), Values();
  }

  Values Call(const std::string& name, const std::vector<Values>& operands) {
    Values arguments;
    for (const Values& values : operands) {
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
  std::vector<std::string> tokens_;
  size_t next_ = 0;                       // token
  std::map<std::string, Values> values_;  // by name
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
  Composer(function, inner->original, module, builder).Run(parameters);
  ABSL_RETURN_IF_ERROR(builder.status());
  return program;
}

}  // namespace belay::conformance
