#include "exir/ir/text_graph_parser.h"

#include <optional>
#include <utility>

#include "exir/ir/graph_signature.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::StatusOr<Graph> GraphParser::Parse(GraphSignature* signature) {
  Graph graph;
  GraphEditor editor(graph);
  Scope scope;
  absl::flat_hash_set<std::string> node_names;
  if (lexer_.IsName()) editor.SetName(parser_.Take());
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('('));
  while (!lexer_.Is(')')) {
    ABSL_RETURN_IF_ERROR(Input(editor, scope, signature));
    if (!parser_.TakePunctuation(',')) break;
  }
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(')'));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  while (!lexer_.IsWord("return")) {
    ABSL_RETURN_IF_ERROR(ParseNode(editor, scope, node_names));
  }
  lexer_.Next();
  ABSL_RETURN_IF_ERROR(Outputs(editor, scope, signature));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('}'));
  return graph;
}

// Parses "%x: f32[2]", the definition of a value.
absl::StatusOr<std::pair<std::string, ValueType>> GraphParser::Result(const Scope& scope) {
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('%'));
  const size_t offset = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(std::string name, parser_.Name("a name"));
  if (name.empty()) return lexer_.ErrorAt(offset, "a value without a name");
  if (scope.contains(name)) {
    return lexer_.ErrorAt(offset, absl::StrCat("a second value %", QuoteUnlessWord(name)));
  }
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
  ABSL_ASSIGN_OR_RETURN(ValueType type, parser_.Type());
  return std::make_pair(std::move(name), std::move(type));
}

absl::Status GraphParser::Input(GraphEditor& editor, Scope& scope, GraphSignature* signature) {
  ABSL_ASSIGN_OR_RETURN(auto definition, Result(scope));
  scope[definition.first] = editor.AddInput(definition.first, std::move(definition.second));
  // An input without a kind has no entry in the signature; the verifier reports it.
  if (signature == nullptr || lexer_.kind() != Lexer::Kind::kWord) return absl::OkStatus();
  InputSpec spec;
  const std::optional<InputKind> kind = InputKindFromName(lexer_.text());
  if (!kind.has_value()) return lexer_.Expected("a kind of input");
  spec.kind = *kind;
  lexer_.Next();
  if (lexer_.kind() == Lexer::Kind::kString) spec.target = parser_.Take();
  spec.persistent = !parser_.TakeWord("nonpersistent");
  spec.replaceable = parser_.TakeWord("replaceable");
  if (parser_.TakeWord("in")) {
    if (lexer_.kind() != Lexer::Kind::kString) return lexer_.Expected("the tag of a file");
    spec.file = parser_.Take();
  }
  signature->inputs.push_back(std::move(spec));
  return absl::OkStatus();
}

absl::Status GraphParser::Outputs(GraphEditor& editor, const Scope& scope,
                                  GraphSignature* signature) {
  std::vector<Argument> outputs;
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('('));
  while (!lexer_.Is(')')) {
    ABSL_ASSIGN_OR_RETURN(Argument output, parser_.ParseArgument(scope));
    outputs.push_back(std::move(output));
    if (signature != nullptr && lexer_.kind() == Lexer::Kind::kWord) {
      OutputSpec spec;
      const std::optional<OutputKind> kind = OutputKindFromName(lexer_.text());
      if (!kind.has_value()) return lexer_.Expected("a kind of output");
      spec.kind = *kind;
      lexer_.Next();
      if (lexer_.kind() == Lexer::Kind::kString) spec.target = parser_.Take();
      signature->outputs.push_back(std::move(spec));
    }
    if (!parser_.TakePunctuation(',')) break;
  }
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(')'));
  editor.SetOutputs(std::move(outputs));
  return absl::OkStatus();
}

// --- Nodes ---

absl::StatusOr<std::vector<GraphEditor::NewOutput>> GraphParser::Results(const Scope& scope) {
  std::vector<GraphEditor::NewOutput> outputs;
  const auto at_none = [this] { return lexer_.IsWord("none") && lexer_.Following() != '('; };
  if (!lexer_.Is('%') && !lexer_.Is('[') && !at_none()) return outputs;
  do {
    GraphEditor::NewOutput output{NodeOutput::Kind::kNone, {}};
    if (at_none()) {
      lexer_.Next();
    } else if (parser_.TakePunctuation('[')) {
      output.kind = NodeOutput::Kind::kList;
      while (!lexer_.Is(']')) {
        ABSL_ASSIGN_OR_RETURN(auto result, Result(scope));
        output.values.push_back(std::move(result));
        if (!parser_.TakePunctuation(',')) break;
      }
      ABSL_RETURN_IF_ERROR(parser_.Punctuation(']'));
    } else {
      output.kind = NodeOutput::Kind::kValue;
      ABSL_ASSIGN_OR_RETURN(auto result, Result(scope));
      output.values.push_back(std::move(result));
    }
    outputs.push_back(std::move(output));
  } while (parser_.TakePunctuation(','));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('='));
  return outputs;
}

absl::Status GraphParser::ParseNode(GraphEditor& editor, Scope& scope,
                                    absl::flat_hash_set<std::string>& node_names) {
  const size_t start = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(std::vector<GraphEditor::NewOutput> outputs, Results(scope));
  // The scope of a node does not contain its own results.
  std::vector<std::string> names;
  absl::flat_hash_set<std::string> distinct;
  for (const GraphEditor::NewOutput& output : outputs) {
    for (const auto& [name, type] : output.values) {
      if (!distinct.insert(name).second) {
        return lexer_.ErrorAt(start, absl::StrCat("a second value %", QuoteUnlessWord(name)));
      }
      names.push_back(name);
    }
  }
  GraphEditor::NewNode node;
  ABSL_ASSIGN_OR_RETURN(const std::string target, parser_.Name("a result or an operator"));
  node.target = FindOperator(target);
  // Rejects names with an empty part ("aten.cat."), which would not print the same.
  if (FindOperator(node.target->text_name()) != node.target) {
    return lexer_.ErrorAt(start,
                          absl::StrCat(Quote(target), " is not the full name of an operator"));
  }
  if (node.target->schema() == nullptr) {
    ABSL_RETURN_IF_ERROR(Call(node, scope));
  } else {
    ABSL_RETURN_IF_ERROR(CallWithSchema(*node.target->schema(), node, scope));
  }
  ABSL_RETURN_IF_ERROR(Notes(node));
  if (node.name.empty()) {
    node.name = names.empty() ? editor.UniqueName(node.target->op()) : names[0];
  }
  if (!node_names.insert(node.name).second) {
    return lexer_.ErrorAt(start, absl::StrCat("a second node named ", Quote(node.name)));
  }
  const NodeId id = editor.InsertNode(NodeId(), std::move(node), std::move(outputs));
  const std::vector<ValueId> results = editor.graph().node(id).results();
  for (size_t i = 0; i < results.size(); ++i) scope[names[i]] = results[i];
  return absl::OkStatus();
}

const OpOverload* GraphParser::FindOperator(std::string_view name) {
  if (const OpOverload* found = ops_.FindText(name)) return found;
  constexpr std::string_view kEdge = "edge.";
  if (name.substr(0, kEdge.size()) == kEdge) {
    return ops_.ToEdge(ops_.FindOrOpaque(name.substr(kEdge.size())));
  }
  return ops_.FindOrOpaque(name);
}

absl::Status GraphParser::Call(GraphEditor::NewNode& node, const Scope& scope) {
  std::vector<std::string> names;
  bool named = false;
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('('));
  while (!lexer_.Is(')')) {
    names.emplace_back();
    if (lexer_.IsName() && lexer_.Following() == '=') {
      names.back() = parser_.Take();
      lexer_.Next();
      named = named || !names.back().empty();
    }
    ABSL_ASSIGN_OR_RETURN(Argument argument, parser_.ParseArgument(scope));
    node.arguments.push_back(std::move(argument));
    if (!parser_.TakePunctuation(',')) break;
  }
  if (named) node.argument_names = std::move(names);
  return parser_.Punctuation(')');
}

absl::Status GraphParser::CallWithSchema(const FunctionSchema& schema, GraphEditor::NewNode& node,
                                         const Scope& scope) {
  const size_t start = lexer_.offset();
  const auto operator_name = [&node] { return node.target->text_name(); };
  std::vector<std::optional<Argument>> given(schema.arguments.size());
  size_t position = 0;
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('('));
  while (!lexer_.Is(')')) {
    size_t index = position++;
    const size_t offset = lexer_.offset();
    if (lexer_.IsName() && lexer_.Following() == '=') {
      const std::string name = parser_.Take();
      lexer_.Next();
      const std::optional<int> found = schema.ArgumentIndex(name);
      if (!found.has_value()) {
        return lexer_.ErrorAt(offset, absl::StrCat(operator_name(), " has no argument ",
                                                   Quote(name), ": ", schema.ToString()));
      }
      index = static_cast<size_t>(*found);
      position = given.size();  // no positional arguments after a named one
    }
    if (index >= given.size()) {
      return lexer_.ErrorAt(offset, absl::StrCat("a positional argument too many for ",
                                                 operator_name(), ": ", schema.ToString()));
    }
    if (given[index].has_value()) {
      return lexer_.ErrorAt(offset, absl::StrCat("argument ", schema.arguments[index].name, " of ",
                                                 operator_name(), " is given twice"));
    }
    ABSL_ASSIGN_OR_RETURN(given[index], parser_.ParseArgument(scope));
    if (!parser_.TakePunctuation(',')) break;
  }
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(')'));
  for (size_t i = 0; i < given.size(); ++i) {
    const SchemaArgument& declared = schema.arguments[i];
    if (!given[i].has_value() && !declared.default_value.has_value()) {
      return lexer_.ErrorAt(start, absl::StrCat("argument ", declared.name, " of ", operator_name(),
                                                " is missing: ", schema.ToString()));
    }
    node.arguments.push_back(given[i].has_value() ? *std::move(given[i])
                                                  : DefaultArgument(declared));
  }
  return absl::OkStatus();
}

absl::Status GraphParser::Notes(GraphEditor::NewNode& node) {
  const auto text = [this]() -> absl::StatusOr<std::string> {
    lexer_.Next();
    lexer_.Next();
    return parser_.String("a string");
  };
  while (true) {
    if (parser_.TakePunctuation('@')) {
      ABSL_ASSIGN_OR_RETURN(std::string file, parser_.String("a file name in quotes"));
      ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
      ABSL_ASSIGN_OR_RETURN(node.provenance.line, parser_.Int("a line number"));
      node.provenance.file = Shared(std::move(file));
      continue;
    }
    if (lexer_.kind() != Lexer::Kind::kWord || lexer_.Following() != '=') return absl::OkStatus();
    if (lexer_.IsWord("none")) return absl::OkStatus();  // The next node: "none = some.op(…)".
    if (lexer_.IsWord("module")) {
      ABSL_ASSIGN_OR_RETURN(std::string module, text());
      node.provenance.module = Shared(std::move(module));
    } else if (lexer_.IsWord("module_type")) {
      ABSL_ASSIGN_OR_RETURN(std::string type, text());
      node.provenance.module_type = Shared(std::move(type));
    } else if (lexer_.IsWord("function")) {
      ABSL_ASSIGN_OR_RETURN(std::string function, text());
      node.provenance.function = Shared(std::move(function));
    } else if (lexer_.IsWord("origin")) {
      ABSL_ASSIGN_OR_RETURN(std::string origin, text());
      node.provenance.origin = Shared(std::move(origin));
    } else if (lexer_.IsWord("handle")) {
      lexer_.Next();
      lexer_.Next();
      ABSL_ASSIGN_OR_RETURN(node.debug_handle, parser_.Int("a debug handle"));
    } else if (lexer_.IsWord("tag")) {
      ABSL_ASSIGN_OR_RETURN(node.delegation_tag, text());
    } else if (lexer_.IsWord("name")) {
      ABSL_ASSIGN_OR_RETURN(node.name, text());
    } else {
      return lexer_.Expected(
          "'module', 'origin', 'module_type', 'function', 'handle', 'tag' or 'name'");
    }
  }
}

}  // namespace belay::exir
