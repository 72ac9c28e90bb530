// Graphs and nodes of the text form. Part of text.h's implementation.
#ifndef BELAY_EXIR_IR_TEXT_GRAPH_PARSER_H_
#define BELAY_EXIR_IR_TEXT_GRAPH_PARSER_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exir/ir/graph.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/graph_signature.h"
#include "exir/ir/text_value_parser.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

class GraphParser {
 public:
  // Both must outlive it.
  GraphParser(ValueParser& parser, const OpRegistry& ops)
      : parser_(parser), lexer_(parser.lexer()), ops_(ops) {}

  // Parses the text after the word "graph". `signature` is filled for the top graph, null for
  // subgraphs.
  absl::StatusOr<Graph> Parse(GraphSignature* signature);

 private:
  using Scope = absl::flat_hash_map<std::string, ValueId>;

  absl::Status Input(GraphEditor& editor, Scope& scope, GraphSignature* signature);
  absl::Status Outputs(GraphEditor& editor, const Scope& scope, GraphSignature* signature);
  absl::StatusOr<std::pair<std::string, ValueType>> Result(const Scope& scope);
  absl::StatusOr<std::vector<GraphEditor::NewOutput>> Results(const Scope& scope);
  absl::Status ParseNode(GraphEditor& editor, Scope& scope,
                         absl::flat_hash_set<std::string>& node_names);
  absl::Status Call(GraphEditor::NewNode& node, const Scope& scope);
  absl::Status CallWithSchema(const FunctionSchema& schema, GraphEditor::NewNode& node,
                              const Scope& scope);
  absl::Status Notes(GraphEditor::NewNode& node);
  const OpOverload* FindOperator(std::string_view name);

  std::shared_ptr<const std::string> Shared(std::string text) {
    std::shared_ptr<const std::string>& entry = shared_texts_[text];
    if (entry == nullptr) entry = std::make_shared<const std::string>(std::move(text));
    return entry;
  }

  ValueParser& parser_;
  Lexer& lexer_;
  const OpRegistry& ops_;
  absl::flat_hash_map<std::string, std::shared_ptr<const std::string>> shared_texts_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_TEXT_GRAPH_PARSER_H_
