// State of GraphReader for one graph. An implementation detail of graph_reader.
#ifndef BELAY_EXIR_IMPORT_GRAPH_SCOPE_H_
#define BELAY_EXIR_IMPORT_GRAPH_SCOPE_H_

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/import/graph_reader.h"

namespace belay::exir {

// A table of a graph that maps value names to types; listed in lookup order.
struct ValueTable {
  std::string_view field;
  BoundaryArgument::Kind kind;
};
inline constexpr ValueTable kValueTables[] = {
    {"tensor_values", BoundaryArgument::Kind::kTensor},
    {"sym_int_values", BoundaryArgument::Kind::kSymInt},
    {"sym_float_values", BoundaryArgument::Kind::kSymFloat},
    {"sym_bool_values", BoundaryArgument::Kind::kSymBool},
    {"custom_obj_values", BoundaryArgument::Kind::kCustomObject},
};
inline constexpr size_t kNumValueTables = std::size(kValueTables);

// State for the node being read. Heap-allocated, because nodes with subgraphs nest.
struct GraphReader::NodeReading {
  JsonPath inputs_path, outputs_path;
  JsonRef inputs, outputs;
  GraphEditor::NewNode node;
  std::vector<GivenArgument> given;
};

// Value names are those of the archive; they are local to the graph.
struct GraphReader::Scope {
  static constexpr JsonField kFields[] = {{"inputs"},
                                          {"outputs"},
                                          {"nodes"},
                                          // Same order as kValueTables.
                                          {"tensor_values"},
                                          {"sym_int_values"},
                                          {"sym_float_values", false},
                                          {"sym_bool_values"},
                                          {"custom_obj_values", false}};
  enum : size_t { kInputs, kOutputs, kNodes, kFirstTable };

  struct Result {
    std::string_view name;
    std::string problem;
  };

  JsonStruct<std::size(kFields)> fields;
  Graph graph;
  GraphEditor editor{graph};
  absl::flat_hash_map<std::string_view, simdjson::dom::element> tables[kNumValueTables];
  absl::flat_hash_map<std::string_view, ValueId> names;  // values defined so far
  absl::flat_hash_map<ValueId, std::string> problems;    // reasons why values must not be used
  std::vector<Result> results;                           // results of the current node
  absl::flat_hash_set<std::string_view> result_names;    // their names
  std::string where;                                     // current position, for messages
  const GraphEditor::NewNode* node = nullptr;  // the current one; null for inputs and outputs
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_IMPORT_GRAPH_SCOPE_H_
