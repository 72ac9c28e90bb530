#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ir/text_names.h"
#include "exir/ir/text_value_parser.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr int kMaxPrograms = 16;  // within one another, as originals of lowered modules
// Of all constants in a text. They are zero pages that take no memory, but an address range.
constexpr uint64_t kMaxConstantBytes = uint64_t{1} << 36;
constexpr uint64_t kConstantAlignment = 64;

using Scope = absl::flat_hash_map<std::string, ValueId>;

class ProgramParser {
 public:
  ProgramParser(std::string_view text, const OpRegistry& ops)
      : parser_(text), lexer_(parser_.lexer()), ops_(ops) {}

  absl::StatusOr<ExportedProgram> Parse() {
    ABSL_ASSIGN_OR_RETURN(ExportedProgram program, Program());
    if (lexer_.kind() != Lexer::Kind::kEnd) return lexer_.Expected("the end of the text");
    return program;
  }

 private:
  struct DeclaredConstant {
    ConstantMap* map;
    std::string name;
    DType dtype;
    Sizes sizes;
    Strides strides;
    int64_t offset = 0;
    size_t storage;  // which of the program's storages
    size_t position;
  };
  struct DeclaredConstants {
    std::vector<DeclaredConstant> tensors;
    absl::flat_hash_map<std::string, size_t> state, constant;  // by name, into `tensors`
    std::vector<uint64_t> storage_bytes;
  };

  absl::StatusOr<ExportedProgram> Program();
  absl::Status Section(ExportedProgram& program, DeclaredConstants& constants);
  absl::Status Ranges(ExportedProgram& program);
  absl::Status Hints(ExportedProgram& program);
  absl::Status Constant(ExportedProgram& program, DeclaredConstants& constants);
  absl::Status Materialize(DeclaredConstants& constants);
  absl::StatusOr<Graph> ParseGraph(GraphSignature* signature);
  absl::Status Input(GraphEditor& editor, Scope& scope, GraphSignature* signature);
  absl::Status Outputs(GraphEditor& editor, const Scope& scope, GraphSignature* signature);
  absl::Status ParseNode(GraphEditor& editor, Scope& scope,
                         absl::flat_hash_set<std::string>& node_names);
  absl::StatusOr<std::pair<std::string, ValueType>> Result(const Scope& scope);
  absl::StatusOr<std::vector<GraphEditor::NewOutput>> Results(const Scope& scope);
  absl::Status Call(GraphEditor::NewNode& node, const Scope& scope);
  absl::Status CallWithSchema(const FunctionSchema& schema, GraphEditor::NewNode& node,
                              const Scope& scope);
  absl::Status Notes(GraphEditor::NewNode& node);
  absl::StatusOr<std::shared_ptr<const LoweredBackendModule>> Module();
  absl::Status ModuleItem(LoweredBackendModule& module, bool& has_program);
  absl::StatusOr<NamedDataEntry> NamedData(const NamedDataOutput& data);
  absl::StatusOr<Storage> Bytes();
  const OpOverload* FindOperator(std::string_view name);

  std::shared_ptr<const std::string> Shared(std::string text) {
    std::shared_ptr<const std::string>& entry = shared_texts_[text];
    if (entry == nullptr) entry = std::make_shared<const std::string>(std::move(text));
    return entry;
  }

  ValueParser parser_;
  Lexer& lexer_;
  const OpRegistry& ops_;
  int depth_ = 0;
  uint64_t constant_bytes_ = 0;
  absl::flat_hash_map<std::string, std::shared_ptr<const std::string>> shared_texts_;
};

// --- Program ---

absl::StatusOr<ExportedProgram> ProgramParser::Program() {
  const size_t start = lexer_.offset();
  if (++depth_ > kMaxPrograms) {
    return lexer_.ErrorAt(start,
                          absl::StrCat("programs nest deeper than ", kMaxPrograms, " levels"));
  }
  const HighestReference outer_graph = std::exchange(parser_.highest_graph, {});
  const HighestReference outer_module = std::exchange(parser_.highest_module, {});
  ExportedProgram program(&ops_);
  DeclaredConstants constants;
  ABSL_RETURN_IF_ERROR(parser_.Word("program"));
  const IrDialect* dialect =
      lexer_.kind() == Lexer::Kind::kWord ? ValueIn(kDialectNames, lexer_.text()) : nullptr;
  if (dialect == nullptr) return lexer_.Expected("'training', 'aten' or 'edge'");
  program.dialect = *dialect;
  lexer_.Next();
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  while (!parser_.TakePunctuation('}')) {
    ABSL_RETURN_IF_ERROR(Section(program, constants));
  }
  ABSL_RETURN_IF_ERROR(Materialize(constants));
  if (program.graphs.size() == 0) {
    return lexer_.ErrorAt(start, "expected a graph in the program, got none");
  }
  const auto check = [this](const HighestReference& highest, size_t count, std::string_view what) {
    if (highest.index < static_cast<int64_t>(count)) return absl::OkStatus();
    return lexer_.ErrorAt(highest.offset, absl::StrCat("there is no ", what, "#", highest.index,
                                                       ", the program has ", count));
  };
  ABSL_RETURN_IF_ERROR(check(parser_.highest_graph, program.graphs.size(), "graph"));
  ABSL_RETURN_IF_ERROR(check(parser_.highest_module, program.lowered_modules.size(), "module"));
  parser_.highest_graph = outer_graph;
  parser_.highest_module = outer_module;
  --depth_;
  return program;
}

absl::Status ProgramParser::Section(ExportedProgram& program, DeclaredConstants& constants) {
  if (parser_.TakeWord("ranges")) return Ranges(program);
  if (parser_.TakeWord("hints")) return Hints(program);
  if (parser_.TakeWord("in_spec")) {
    ABSL_ASSIGN_OR_RETURN(program.in_spec, parser_.String("the input spec in quotes"));
    return absl::OkStatus();
  }
  if (parser_.TakeWord("out_spec")) {
    ABSL_ASSIGN_OR_RETURN(program.out_spec, parser_.String("the output spec in quotes"));
    return absl::OkStatus();
  }
  if (parser_.TakeWord("guards")) {
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
    while (!parser_.TakePunctuation('}')) {
      ABSL_ASSIGN_OR_RETURN(std::string guard, parser_.String("a guard in quotes"));
      program.guards.push_back(std::move(guard));
    }
    return absl::OkStatus();
  }
  if (parser_.TakeWord("constants")) {
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
    while (!parser_.TakePunctuation('}')) ABSL_RETURN_IF_ERROR(Constant(program, constants));
    return absl::OkStatus();
  }
  if (parser_.TakeWord("graph")) {
    ABSL_ASSIGN_OR_RETURN(Graph graph,
                          ParseGraph(program.graphs.size() == 0 ? &program.signature : nullptr));
    program.graphs.push_back(std::move(graph));
    return absl::OkStatus();
  }
  if (parser_.TakeWord("module")) {
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('#'));
    const size_t offset = lexer_.offset();
    ABSL_ASSIGN_OR_RETURN(const int64_t index, parser_.Int("a module's number"));
    if (index != static_cast<int64_t>(program.lowered_modules.size())) {
      return lexer_.ErrorAt(offset, absl::StrCat("expected module#", program.lowered_modules.size(),
                                                 ", got module#", index));
    }
    ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const LoweredBackendModule> module, Module());
    program.lowered_modules.push_back(std::move(module));
    return absl::OkStatus();
  }
  return lexer_.Expected("a section of the program or '}'");
}

absl::Status ProgramParser::Ranges(ExportedProgram& program) {
  const auto bound = [this](std::string_view unbounded, int64_t value) -> absl::StatusOr<int64_t> {
    if (lexer_.text() == unbounded) {
      lexer_.Next();
      return value;
    }
    return parser_.Int(absl::StrCat("an integer or ", unbounded));
  };
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  while (!parser_.TakePunctuation('}')) {
    const size_t offset = lexer_.offset();
    SymRange range;
    ABSL_ASSIGN_OR_RETURN(std::string symbol, parser_.Name("a symbol"));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('['));
    ABSL_ASSIGN_OR_RETURN(range.min, bound("-inf", SymRange::kUnboundedBelow));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(','));
    ABSL_ASSIGN_OR_RETURN(range.max, bound("inf", SymRange::kUnboundedAbove));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(']'));
    if (!program.ranges.emplace(std::move(symbol), range).second) {
      return lexer_.ErrorAt(offset, "a second range of the same symbol");
    }
  }
  return absl::OkStatus();
}

absl::Status ProgramParser::Hints(ExportedProgram& program) {
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  while (!parser_.TakePunctuation('}')) {
    const size_t offset = lexer_.offset();
    ABSL_ASSIGN_OR_RETURN(std::string symbol, parser_.Name("a symbol"));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
    ABSL_ASSIGN_OR_RETURN(const int64_t value, parser_.Int("an integer"));
    if (!program.hints.emplace(std::move(symbol), value).second) {
      return lexer_.ErrorAt(offset, "a second hint of the same symbol");
    }
  }
  return absl::OkStatus();
}

// --- Constants ---

absl::Status ProgramParser::Constant(ExportedProgram& program, DeclaredConstants& constants) {
  const auto table = [&](bool state) -> absl::flat_hash_map<std::string, size_t>& {
    return state ? constants.state : constants.constant;
  };
  const auto kind = [this]() -> absl::StatusOr<bool> {
    if (parser_.TakeWord("state")) return true;
    if (parser_.TakeWord("constant")) return false;
    return lexer_.Expected("'state' or 'constant'");
  };
  DeclaredConstant tensor;
  tensor.position = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(const bool is_state, kind());
  tensor.map = is_state ? &program.state_dict : &program.constants;
  ABSL_ASSIGN_OR_RETURN(tensor.name, parser_.String("a name in quotes"));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
  ABSL_ASSIGN_OR_RETURN(tensor.dtype, parser_.Dtype());
  const auto dims = [this]() -> absl::StatusOr<Sizes> {
    const size_t offset = lexer_.offset();
    ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, parser_.Ints());
    const std::optional<Sizes> result = Sizes::TryFrom(numbers);
    if (!result.has_value()) {
      return lexer_.ErrorAt(
          offset, absl::StrCat("expected at most ", kMaxRank, " numbers, got ", numbers.size()));
    }
    return *result;
  };
  ABSL_ASSIGN_OR_RETURN(tensor.sizes, dims());
  if (!NumElements(tensor.sizes).has_value()) {
    return lexer_.ErrorAt(tensor.position,
                          absl::StrCat("sizes that no tensor has: ", FormatSizes(tensor.sizes)));
  }
  tensor.strides = ContiguousStrides(tensor.sizes);
  if (parser_.TakePunctuation('{')) {
    do {
      if (parser_.TakeWord("strides")) {
        ABSL_RETURN_IF_ERROR(parser_.Punctuation('='));
        ABSL_ASSIGN_OR_RETURN(tensor.strides, dims());
      } else {
        ABSL_RETURN_IF_ERROR(parser_.Word("offset"));
        ABSL_RETURN_IF_ERROR(parser_.Punctuation('='));
        ABSL_ASSIGN_OR_RETURN(tensor.offset, parser_.Int("an integer"));
      }
    } while (parser_.TakePunctuation(','));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation('}'));
  }
  if (parser_.TakeWord("shares")) {
    ABSL_ASSIGN_OR_RETURN(const bool of_state, kind());
    const auto it = lexer_.kind() == Lexer::Kind::kString
                        ? table(of_state).find(ToAbsl(lexer_.text()))
                        : table(of_state).end();
    if (it == table(of_state).end()) return lexer_.Expected("a tensor declared before, in quotes");
    tensor.storage = constants.tensors[it->second].storage;
    lexer_.Next();
  } else {
    tensor.storage = constants.storage_bytes.size();
    constants.storage_bytes.push_back(1);
  }
  // Where the last element ends; ConstantTensor::Create says later what is wrong with the rest.
  CheckedInt end = CheckedInt(tensor.offset) + 1;
  bool empty = tensor.sizes.size() != tensor.strides.size();
  for (int d = 0; !empty && d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] == 0) empty = true;
    end = end + CheckedInt(tensor.sizes[d] - 1) * tensor.strides[d];
  }
  end = end * static_cast<int64_t>(DTypeSize(tensor.dtype));
  if (!empty && (!end.ok() || end.value() > static_cast<int64_t>(kMaxConstantBytes))) {
    return lexer_.ErrorAt(tensor.position, absl::StrCat("the constants of a text take at most ",
                                                        kMaxConstantBytes, " bytes"));
  }
  if (!empty && end.value() > 0) {
    uint64_t& bytes = constants.storage_bytes[tensor.storage];
    bytes = std::max(bytes, static_cast<uint64_t>(end.value()));
  }
  if (!table(is_state).emplace(tensor.name, constants.tensors.size()).second) {
    return lexer_.ErrorAt(tensor.position, "a second tensor of the same name");
  }
  constants.tensors.push_back(std::move(tensor));
  return absl::OkStatus();
}

// Gives all declared constants their place in one block of zeros.
absl::Status ProgramParser::Materialize(DeclaredConstants& constants) {
  if (constants.tensors.empty()) return absl::OkStatus();
  std::vector<uint64_t> begins;
  uint64_t total = 0;
  for (uint64_t bytes : constants.storage_bytes) {
    begins.push_back(total);
    // No overflow: each is at most kMaxConstantBytes, and the sum is checked after each.
    total += (bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    if (total + constant_bytes_ > kMaxConstantBytes) {
      return lexer_.ErrorAt(
          constants.tensors[0].position,
          absl::StrCat("the constants of a text take at most ", kMaxConstantBytes, " bytes"));
    }
  }
  constant_bytes_ += total;
  ABSL_ASSIGN_OR_RETURN(const Storage zeros, Storage::Zeros(total));
  for (DeclaredConstant& declared : constants.tensors) {
    const Storage storage{
        zeros.owner,
        zeros.bytes.subspan(begins[declared.storage], constants.storage_bytes[declared.storage])};
    absl::StatusOr<ConstantTensor> tensor = ConstantTensor::Create(
        declared.dtype, declared.sizes, declared.strides, declared.offset, storage);
    if (!tensor.ok()) {
      return lexer_.ErrorAt(declared.position, FromAbsl(tensor.status().message()));
    }
    declared.map->emplace(std::move(declared.name), *std::move(tensor));
  }
  return absl::OkStatus();
}

// --- Graphs ---

absl::StatusOr<Graph> ProgramParser::ParseGraph(GraphSignature* signature) {
  Graph graph;
  GraphEditor editor(graph);
  Scope scope;
  absl::flat_hash_set<std::string> node_names;
  if (lexer_.IsName()) {
    ABSL_ASSIGN_OR_RETURN(std::string name, parser_.Name("a name"));
    editor.SetName(std::move(name));
  }
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

// "%x: f32[2]", the definition of a value.
absl::StatusOr<std::pair<std::string, ValueType>> ProgramParser::Result(const Scope& scope) {
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

absl::Status ProgramParser::Input(GraphEditor& editor, Scope& scope, GraphSignature* signature) {
  ABSL_ASSIGN_OR_RETURN(auto definition, Result(scope));
  scope[definition.first] = editor.AddInput(definition.first, std::move(definition.second));
  // An input without a kind has no entry in the signature, which the verifier finds.
  if (signature == nullptr || lexer_.kind() != Lexer::Kind::kWord) return absl::OkStatus();
  InputSpec spec;
  const std::optional<InputKind> kind = InputKindFromName(lexer_.text());
  if (!kind.has_value()) return lexer_.Expected("a kind of input");
  spec.kind = *kind;
  lexer_.Next();
  if (lexer_.kind() == Lexer::Kind::kString) {
    ABSL_ASSIGN_OR_RETURN(spec.target, parser_.String("a name"));
  }
  spec.persistent = !parser_.TakeWord("nonpersistent");
  signature->inputs.push_back(std::move(spec));
  return absl::OkStatus();
}

absl::Status ProgramParser::Outputs(GraphEditor& editor, const Scope& scope,
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
      if (lexer_.kind() == Lexer::Kind::kString) {
        ABSL_ASSIGN_OR_RETURN(spec.target, parser_.String("a name"));
      }
      signature->outputs.push_back(std::move(spec));
    }
    if (!parser_.TakePunctuation(',')) break;
  }
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(')'));
  editor.SetOutputs(std::move(outputs));
  return absl::OkStatus();
}

// --- Nodes ---

absl::StatusOr<std::vector<GraphEditor::NewOutput>> ProgramParser::Results(const Scope& scope) {
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

absl::Status ProgramParser::ParseNode(GraphEditor& editor, Scope& scope,
                                      absl::flat_hash_set<std::string>& node_names) {
  const size_t start = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(std::vector<GraphEditor::NewOutput> outputs, Results(scope));
  // Results of one node are not in the scope while it is read.
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

const OpOverload* ProgramParser::FindOperator(std::string_view name) {
  if (const OpOverload* found = ops_.FindText(name)) return found;
  constexpr std::string_view kEdge = "edge.";
  if (name.substr(0, kEdge.size()) == kEdge) {
    return ops_.ToEdge(ops_.FindOrOpaque(name.substr(kEdge.size())));
  }
  return ops_.FindOrOpaque(name);
}

absl::Status ProgramParser::Call(GraphEditor::NewNode& node, const Scope& scope) {
  std::vector<std::string> names;
  bool named = false;
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('('));
  while (!lexer_.Is(')')) {
    names.emplace_back();
    if (lexer_.IsName() && lexer_.Following() == '=') {
      ABSL_ASSIGN_OR_RETURN(names.back(), parser_.Name("a name"));
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

absl::Status ProgramParser::CallWithSchema(const FunctionSchema& schema, GraphEditor::NewNode& node,
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
      ABSL_ASSIGN_OR_RETURN(const std::string name, parser_.Name("a name"));
      lexer_.Next();
      const std::optional<int> found = schema.ArgumentIndex(name);
      if (!found.has_value()) {
        return lexer_.ErrorAt(offset, absl::StrCat(operator_name(), " has no argument ",
                                                   Quote(name), ": ", schema.ToString()));
      }
      index = static_cast<size_t>(*found);
      position = given.size();  // nothing positional after a name
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

absl::Status ProgramParser::Notes(GraphEditor::NewNode& node) {
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
    if (lexer_.IsWord("module")) {
      ABSL_ASSIGN_OR_RETURN(std::string module, text());
      node.provenance.module = Shared(std::move(module));
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
      return lexer_.Expected("'module', 'origin', 'handle', 'tag' or 'name'");
    }
  }
}

// --- Lowered modules ---

absl::StatusOr<Storage> ProgramParser::Bytes() {
  const size_t offset = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(const std::string text, parser_.String("bytes in base64"));
  std::string raw;
  if (!absl::Base64Unescape(text, &raw)) return lexer_.ErrorAt(offset, "this is no base64");
  const std::byte* begin = reinterpret_cast<const std::byte*>(raw.data());
  return Storage::Own(std::vector<std::byte>(begin, begin + raw.size()));
}

absl::StatusOr<std::shared_ptr<const LoweredBackendModule>> ProgramParser::Module() {
  ABSL_RETURN_IF_ERROR(parser_.Word("backend"));
  ABSL_ASSIGN_OR_RETURN(std::string backend_id, parser_.String("a backend id in quotes"));
  auto module =
      std::make_shared<LoweredBackendModule>(std::move(backend_id), ExportedProgram(&ops_));
  ABSL_RETURN_IF_ERROR(parser_.Word("specs"));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('['));
  while (!lexer_.Is(']')) {
    CompileSpec spec;
    ABSL_ASSIGN_OR_RETURN(spec.key, parser_.String("a key in quotes"));
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
    ABSL_ASSIGN_OR_RETURN(spec.value, parser_.String("a value in quotes"));
    module->compile_specs.push_back(std::move(spec));
    if (!parser_.TakePunctuation(',')) break;
  }
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(']'));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('{'));
  bool has_program = false;
  while (!lexer_.Is('}')) ABSL_RETURN_IF_ERROR(ModuleItem(*module, has_program));
  if (!has_program) return lexer_.Expected("the program that the module replaces");
  lexer_.Next();
  return std::shared_ptr<const LoweredBackendModule>(std::move(module));
}

absl::Status ProgramParser::ModuleItem(LoweredBackendModule& module, bool& has_program) {
  NamedDataOutput& data = module.named_data;
  if (parser_.TakeWord("blob")) {
    ABSL_ASSIGN_OR_RETURN(module.processed, Bytes());
  } else if (parser_.TakeWord("buffer")) {
    ABSL_ASSIGN_OR_RETURN(Storage buffer, Bytes());
    data.buffers.push_back(std::move(buffer));
  } else if (parser_.TakeWord("info")) {
    ABSL_ASSIGN_OR_RETURN(module.delegate_info, parser_.String("a string"));
  } else if (parser_.TakeWord("handles")) {
    DelegateId id;
    if (lexer_.kind() == Lexer::Kind::kString) {
      ABSL_ASSIGN_OR_RETURN(id, parser_.String("an id"));
    } else {
      ABSL_ASSIGN_OR_RETURN(id, parser_.Int("an id"));
    }
    ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
    ABSL_ASSIGN_OR_RETURN(module.debug_handle_map[id], parser_.Ints());
  } else if (parser_.TakeWord("external")) {
    ABSL_ASSIGN_OR_RETURN(const std::string tag, parser_.String("a tag in quotes"));
    auto& entries = data.external_data[tag];
    if (parser_.TakeWord("data")) {
      ABSL_ASSIGN_OR_RETURN(const std::string key, parser_.String("a key in quotes"));
      ABSL_ASSIGN_OR_RETURN(entries[key], NamedData(data));
    }
  } else if (parser_.TakeWord("data")) {
    ABSL_ASSIGN_OR_RETURN(const std::string key, parser_.String("a key in quotes"));
    ABSL_ASSIGN_OR_RETURN(data.program_data[key], NamedData(data));
  } else if (!has_program && lexer_.IsWord("program")) {
    ABSL_ASSIGN_OR_RETURN(module.original, Program());
    has_program = true;
  } else {
    return lexer_.Expected("a part of the module");
  }
  return absl::OkStatus();
}

absl::StatusOr<NamedDataEntry> ProgramParser::NamedData(const NamedDataOutput& data) {
  NamedDataEntry entry;
  ABSL_RETURN_IF_ERROR(parser_.Punctuation(':'));
  ABSL_RETURN_IF_ERROR(parser_.Word("buffer"));
  ABSL_RETURN_IF_ERROR(parser_.Punctuation('#'));
  const size_t offset = lexer_.offset();
  ABSL_ASSIGN_OR_RETURN(const uint64_t buffer, parser_.Unsigned("a buffer's number"));
  if (buffer >= data.buffers.size()) {
    return lexer_.ErrorAt(offset, absl::StrCat("there is no buffer#", buffer,
                                               " before, the module has ", data.buffers.size()));
  }
  entry.buffer = static_cast<size_t>(buffer);
  ABSL_RETURN_IF_ERROR(parser_.Word("align"));
  ABSL_ASSIGN_OR_RETURN(entry.alignment, parser_.Unsigned("an alignment"));
  if (parser_.TakeWord("layout")) {
    NamedDataEntry::TensorLayout layout;
    ABSL_ASSIGN_OR_RETURN(layout.dtype, parser_.Dtype());
    ABSL_ASSIGN_OR_RETURN(layout.sizes, parser_.Ints());
    ABSL_RETURN_IF_ERROR(parser_.Word("order"));
    const size_t order_offset = lexer_.offset();
    ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> order, parser_.Ints());
    for (int64_t d : order) {
      if (d < 0 || d > std::numeric_limits<uint8_t>::max()) {
        return lexer_.ErrorAt(order_offset,
                              absl::StrCat("expected numbers of dimensions, got ", d));
      }
      layout.dim_order.push_back(static_cast<uint8_t>(d));
    }
    entry.layout = std::move(layout);
  }
  return entry;
}

}  // namespace

absl::StatusOr<ExportedProgram> ParseProgram(std::string_view text, const OpRegistry& ops) {
  return ProgramParser(text, ops).Parse();
}

}  // namespace belay::exir
