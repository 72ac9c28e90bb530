#include "conformance/lowering/case_compose.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "runtime/core/status_macros.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::GraphEditor;
using exir::ValueId;

constexpr int kMaxDepth = 100;

class FunctionParser {
 public:
  FunctionParser(std::string_view text, exir::ExportedProgram& program,
                 std::shared_ptr<const exir::LoweredBackendModule> inner)
      : text_(text),
        program_(program),
        module_(program.lowered_modules.push_back(inner)),
        inner_(std::move(inner)),
        editor_(program.graphs[exir::ExportedProgram::kTop]) {}

  absl::Status Parse(const std::vector<exir::TensorMeta>& parameters) {
    ABSL_RETURN_IF_ERROR(Expect("forward"));
    ABSL_RETURN_IF_ERROR(Expect("("));
    for (const exir::TensorMeta& type : parameters) {
      ABSL_ASSIGN_OR_RETURN(const std::string name, Word());
      names_[name] = {editor_.AddInput(name, type)};
      program_.signature.inputs.push_back({});
      if (&type != &parameters.back()) ABSL_RETURN_IF_ERROR(Expect(","));
    }
    ABSL_RETURN_IF_ERROR(Expect(")"));
    ABSL_RETURN_IF_ERROR(Expect("="));
    std::vector<Argument> outputs;
    do {
      ABSL_ASSIGN_OR_RETURN(const Values values, Sum(0));
      for (const Argument& value : values) outputs.push_back(value);
    } while (Take(","));
    if (!AtEnd()) return Error("the end");
    program_.signature.outputs.resize(outputs.size());
    editor_.SetOutputs(std::move(outputs));
    return absl::OkStatus();
  }

 private:
  // What an expression stands for: several results until one is chosen.
  using Values = std::vector<Argument>;

  absl::Status Error(std::string_view expected) const {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text_, "', column ", position_ + 1, ": expected ", expected));
  }
  void SkipSpace() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool AtEnd() {
    SkipSpace();
    return position_ == text_.size();
  }
  bool Take(std::string_view token) {
    SkipSpace();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  absl::Status Expect(std::string_view token) {
    return Take(token) ? absl::OkStatus() : Error(absl::StrCat("'", token, "'"));
  }
  absl::StatusOr<std::string> Word() {
    SkipSpace();
    const size_t start = position_;
    while (
        position_ < text_.size() &&
        (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_')) {
      ++position_;
    }
    if (start == position_) return Error("a name");
    return std::string(text_.substr(start, position_ - start));
  }

  absl::StatusOr<Argument> One(const Values& values) const {
    if (values.size() == 1) return values[0];
    return Error(absl::StrCat("one value, not ", values.size()));
  }

  absl::StatusOr<Values> Sum(int depth) {
    ABSL_ASSIGN_OR_RETURN(Values left, Product(depth));
    while (true) {
      const char* op = Take("+") ? "add" : Take("-") ? "sub" : nullptr;
      if (op == nullptr) return left;
      ABSL_ASSIGN_OR_RETURN(const Values right, Product(depth));
      ABSL_ASSIGN_OR_RETURN(left, Binary(op, left, right));
    }
  }
  absl::StatusOr<Values> Product(int depth) {
    ABSL_ASSIGN_OR_RETURN(Values left, Primary(depth));
    while (true) {
      const char* op = Take("*") ? "mul" : Take("/") ? "div" : nullptr;
      if (op == nullptr) return left;
      ABSL_ASSIGN_OR_RETURN(const Values right, Primary(depth));
      ABSL_ASSIGN_OR_RETURN(left, Binary(op, left, right));
    }
  }
  absl::StatusOr<Values> Binary(std::string_view op, const Values& left, const Values& right) {
    ABSL_ASSIGN_OR_RETURN(Argument a, One(left));
    ABSL_ASSIGN_OR_RETURN(Argument b, One(right));
    return Call(op, {std::move(a), std::move(b)});
  }

  absl::StatusOr<Values> Primary(int depth) {
    if (depth > kMaxDepth) return Error("less nesting");
    ABSL_ASSIGN_OR_RETURN(Values values, Atom(depth + 1));
    while (Take("[")) {
      ABSL_ASSIGN_OR_RETURN(const std::string index, Word());
      const size_t i = std::strtoul(index.c_str(), nullptr, 10);
      if (i >= values.size()) return Error(absl::StrCat("an index below ", values.size()));
      values = {values[i]};
      ABSL_RETURN_IF_ERROR(Expect("]"));
    }
    return values;
  }
  absl::StatusOr<Values> Atom(int depth) {
    if (Take("(")) {
      ABSL_ASSIGN_OR_RETURN(Values values, Sum(depth));
      ABSL_RETURN_IF_ERROR(Expect(")"));
      return values;
    }
    if (Take("-")) {
      ABSL_ASSIGN_OR_RETURN(const Values values, Primary(depth));
      ABSL_ASSIGN_OR_RETURN(Argument value, One(values));
      return Call("neg", {std::move(value)});
    }
    SkipSpace();
    if (position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]))) {
      const std::string rest(text_.substr(position_));
      char* end = nullptr;
      const double number = std::strtod(rest.c_str(), &end);
      const auto length = static_cast<size_t>(end - rest.c_str());
      position_ += length;
      if (rest.substr(0, length).find_first_of(".e") == std::string::npos) {
        return Values{Argument(static_cast<int64_t>(number))};
      }
      return Values{Argument(number)};
    }
    ABSL_ASSIGN_OR_RETURN(const std::string name, Word());
    if (!Take("(")) {
      const auto it = names_.find(name);
      if (it == names_.end()) return Error(absl::StrCat("a parameter, not '", name, "'"));
      return Values{it->second};
    }
    std::vector<Argument> arguments;
    while (!Take(")")) {
      if (!arguments.empty()) ABSL_RETURN_IF_ERROR(Expect(","));
      ABSL_ASSIGN_OR_RETURN(const Values values, Sum(depth));
      ABSL_ASSIGN_OR_RETURN(Argument value, One(values));
      arguments.push_back(std::move(value));
    }
    if (name == "inner") return CallInner(std::move(arguments));
    return Call(name, std::move(arguments));
  }

  absl::StatusOr<Values> Call(std::string_view name, std::vector<Argument> arguments) {
    const exir::OpOverload* op = nullptr;
    for (const char* overload : {".Tensor", ".default", ".self"}) {
      if (op == nullptr) op = program_.ops->Find(absl::StrCat("aten.", name, overload));
    }
    if (op == nullptr || op->schema() == nullptr) {
      return absl::NotFoundError(absl::StrCat("there is no operator '", name, "'"));
    }
    const std::vector<exir::SchemaArgument>& declared = op->schema()->arguments;
    if (arguments.size() > declared.size()) return Error(absl::StrCat("fewer arguments of ", name));
    for (size_t i = arguments.size(); i < declared.size(); ++i) {
      if (!declared[i].default_value.has_value()) {
        return Error(absl::StrCat("argument '", declared[i].name, "' of ", name));
      }
      arguments.push_back(exir::DefaultArgument(declared[i]));
    }
    ABSL_ASSIGN_OR_RETURN(const std::vector<exir::MetaValue> metas,
                          exir::InferOutputs(editor_.graph(), op, arguments, nullptr));
    std::vector<GraphEditor::NewOutput> outputs;
    for (const exir::MetaValue& meta : metas) {
      outputs.push_back(
          {exir::NodeOutput::Kind::kValue, {{std::string(name), exir::ToValueType(meta)}}});
    }
    return Insert({.name = std::string(name), .target = op, .arguments = std::move(arguments)},
                  std::move(outputs));
  }

  absl::StatusOr<Values> CallInner(std::vector<Argument> arguments) {
    arguments.insert(arguments.begin(), Argument(module_));
    std::vector<GraphEditor::NewOutput> outputs;
    const exir::ExportedProgram& original = inner_->original;
    for (size_t k = 0; k < original.top().outputs().size(); ++k) {
      if (original.signature.outputs[k].kind != exir::OutputKind::kUserOutput) continue;
      const ValueId* value = original.top().outputs()[k].get_if<ValueId>();
      if (value == nullptr) return absl::UnimplementedError("a module that returns a literal");
      outputs.push_back(
          {exir::NodeOutput::Kind::kValue, {{"inner", original.top().value(*value).type}}});
    }
    return Insert({.name = "executorch_call_delegate",
                   .target = program_.ops->CallDelegate(),
                   .arguments = std::move(arguments)},
                  std::move(outputs));
  }

  Values Insert(GraphEditor::NewNode node, std::vector<GraphEditor::NewOutput> outputs) {
    const exir::NodeId id = editor_.InsertNode(exir::NodeId(), std::move(node), std::move(outputs));
    Values values;
    for (ValueId value : editor_.graph().node(id).results()) values.emplace_back(value);
    return values;
  }

  const std::string_view text_;
  exir::ExportedProgram& program_;
  const exir::ModuleId module_;
  const std::shared_ptr<const exir::LoweredBackendModule> inner_;
  GraphEditor editor_;
  std::map<std::string, Values> names_;
  size_t position_ = 0;
};

}  // namespace

absl::StatusOr<exir::ExportedProgram> Compose(
    std::string_view function, const std::vector<exir::TensorMeta>& parameters,
    std::shared_ptr<const exir::LoweredBackendModule> inner, const exir::OpRegistry& ops) {
  exir::ExportedProgram program(&ops);
  program.dialect = exir::IrDialect::kAten;
  program.graphs.push_back(exir::Graph());
  ABSL_RETURN_IF_ERROR(FunctionParser(function, program, std::move(inner)).Parse(parameters));
  return program;
}

}  // namespace belay::conformance
