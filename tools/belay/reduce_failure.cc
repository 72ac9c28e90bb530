#include "tools/belay/reduce_failure.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "exir/compare/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/verifier.h"
#include "exir/passes/constant_input.h"
#include "exir/serialize/saved_programs.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/value_files.h"

namespace belay::tools {
namespace {

using exir::ExportedProgram;
using exir::Graph;
using exir::NodeId;
using exir::OwnedValue;
using exir::ValueId;

// A set of nodes to be minimized.
using NodeSet = absl::flat_hash_set<NodeId>;

absl::StatusOr<OwnedValue> CopyOf(const EValue& value) {
  const TensorView* tensor = value.get_if<TensorView>();
  return tensor == nullptr ? OwnedValue::Scalar(value)
                           : OwnedValue::Borrow(*tensor, /*writable=*/false).Copy();
}

class Reducer {
 public:
  Reducer(const ExportedProgram& program, absl::Span<const EValue> inputs, NodeId node,
          const LoweringSetup& setup, const exir::Closeness& closeness)
      : program_(program), inputs_(inputs), node_(node), setup_(setup), closeness_(closeness) {}

  absl::StatusOr<ReducedFailure> Run() {
    ABSL_RETURN_IF_ERROR(Record());
    std::vector<NodeId> kept = Grow();
    if (!best_.has_value()) {
      return absl::NotFoundError(absl::StrCat("no separately lowered part of the program with '",
                                              program_.top().node(node_).name, "' differs"));
    }
    Shrink(std::move(kept));
    return *std::move(best_);
  }

 private:
  const Graph& top() const { return program_.top(); }

  // Calls fn(node, value) for each operand of the node that another node computes.
  template <class Fn>
  void ForEachComputed(NodeId node, Fn fn) const {
    for (const exir::Argument& argument : top().node(node).arguments) {
      exir::ForEachValue(argument, [&](ValueId value) {
        const NodeId producer = top().value(value).producer;
        if (producer.valid()) fn(producer, value);
      });
    }
  }

  // Records the transitive operands of `node`, nearest first, and their values. The recording call
  // also checks the number of inputs.
  absl::Status Record() {
    NodeSet seen = {node_};
    std::vector<NodeId> next = {node_};
    for (size_t i = 0; i < next.size(); ++i) {
      ForEachComputed(next[i], [&](NodeId producer, ValueId) {
        if (seen.insert(producer).second) next.push_back(producer);
      });
    }
    before_.assign(next.begin() + 1, next.end());
    exir::InterpreterOptions options;
    options.observer = [&](const exir::NodeEvent& event) {
      if (!event.callers.empty() || !seen.contains(event.node)) return absl::OkStatus();
      const std::vector<ValueId> results = event.program.top().node(event.node).results();
      for (size_t k = 0; k < results.size(); ++k) {
        ABSL_ASSIGN_OR_RETURN(values_[results[k]], event.results[k]->Copy());
      }
      return absl::OkStatus();
    };
    ABSL_ASSIGN_OR_RETURN(
        exir::Interpreter interpreter,
        exir::Interpreter::Create(program_, *setup_.reference, std::move(options)));
    return exir::RunCall(interpreter, inputs_).status;
  }

  // Extracts the nodes of `kept`, which include node_, as a program.
  absl::StatusOr<ReducedFailure> PartOf(const NodeSet& kept) const {
    ReducedFailure part{.program = program_.Clone(), .inputs = {}, .outputs = {}, .difference = {}};
    ExportedProgram& program = part.program;
    exir::GraphEditor editor(program.top());
    std::vector<OwnedValue> given;  // by graph input; nullopt for constants
    size_t next = 0;
    for (const exir::InputSpec& spec : program.signature.inputs) {
      given.emplace_back();
      if (!exir::IsProvidedByCaller(spec.kind)) continue;
      ABSL_ASSIGN_OR_RETURN(given.back(), CopyOf(inputs_[next++]));
    }

    const std::vector<NodeId> nodes = top().NodeList();
    absl::btree_set<ValueId> cut;
    for (NodeId node : nodes) {
      if (!kept.contains(node)) continue;
      ForEachComputed(node, [&](NodeId producer, ValueId value) {
        if (!kept.contains(producer)) cut.insert(value);
      });
    }
    for (ValueId value : cut) {
      const ValueId input = editor.AddInput(top().value(value).name, top().value(value).type);
      editor.ReplaceAllUses(value, input);
      program.signature.inputs.push_back({.kind = exir::InputKind::kUserInput, .target = {}});
      given.push_back(values_.at(value));
    }
    std::vector<exir::Argument> outputs;
    program.signature.outputs.clear();
    for (ValueId value : top().node(node_).results()) {
      outputs.emplace_back(value);
      program.signature.outputs.push_back({.kind = exir::OutputKind::kUserOutput, .target = {}});
    }
    editor.SetOutputs(std::move(outputs));
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (!kept.contains(*node)) editor.EraseNode(*node);
    }
    editor.EraseDeadNodes();
    const std::vector<ValueId> all(program.top().inputs().begin(), program.top().inputs().end());
    exir::EraseInputs(program, editor, [&](size_t i) {
      const bool unused = program.top().value(all[i]).users.empty();
      if (!unused && exir::IsProvidedByCaller(program.signature.inputs[i].kind)) {
        part.inputs.push_back(std::move(given[i]));
      }
      return unused;
    });
    program.EraseUnusedBodies();
    program.in_spec.clear();
    program.out_spec.clear();
    program.guards.clear();
    return part;
  }

  // Returns whether the extracted nodes give a different result when lowered; then records the part
  // as the best one. Returns false for invalid parts and those that cannot be executed.
  bool Differs(const NodeSet& kept) {
    absl::StatusOr<ReducedFailure> part = PartOf(kept);
    if (!part.ok() || !exir::Verify(part->program).ok()) return false;
    absl::StatusOr<BothOutcomes> both =
        RunBoth(part->program, exir::ValuesOf(part->inputs), setup_);
    if (!both.ok()) return false;
    const std::vector<exir::CallDifference> differences =
        exir::CompareCalls(both->expected, both->got, closeness_);
    if (differences.empty()) return false;
    part->outputs = std::move(both->expected.outputs);
    part->difference = absl::StrCat(differences[0].where, ": ", differences[0].difference);
    best_ = *std::move(part);
    return true;
  }

  // Returns the nearest nodes with which the result differs; empty if it never does.
  std::vector<NodeId> Grow() {
    for (size_t count = 0;; count = std::max<size_t>(2 * count, 1)) {
      count = std::min(count, before_.size());
      NodeSet kept(before_.begin(), before_.begin() + static_cast<ptrdiff_t>(count));
      kept.insert(node_);
      if (Differs(kept)) return {before_.begin(), before_.begin() + static_cast<ptrdiff_t>(count)};
      if (count == before_.size()) return {};
    }
  }

  // Removes groups of nodes, the farthest first.
  void Shrink(std::vector<NodeId> kept) {
    for (size_t group = (kept.size() + 1) / 2; group > 0; group /= 2) {
      for (size_t end = kept.size(); end > 0;) {
        const size_t begin = end > group ? end - group : 0;
        std::vector<NodeId> fewer(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(begin));
        fewer.insert(fewer.end(), kept.begin() + static_cast<ptrdiff_t>(end), kept.end());
        NodeSet nodes(fewer.begin(), fewer.end());
        nodes.insert(node_);
        if (Differs(nodes)) kept = std::move(fewer);
        end = begin;
      }
    }
  }

  const ExportedProgram& program_;
  const absl::Span<const EValue> inputs_;
  const NodeId node_;
  const LoweringSetup& setup_;
  const exir::Closeness& closeness_;
  std::vector<NodeId> before_;
  absl::btree_map<ValueId, OwnedValue> values_;
  std::optional<ReducedFailure> best_;
};

absl::Status WriteValues(const std::vector<OwnedValue>& values, const std::string& prefix) {
  for (size_t i = 0; i < values.size(); ++i) {
    const EValue& value = values[i].value();
    if (value.is_none() || value.is<std::string_view>()) continue;
    ABSL_RETURN_IF_ERROR(WriteNpyValue(value, absl::StrCat(prefix, i, ".npy")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReducedFailure> ReduceFailure(const ExportedProgram& program,
                                             absl::Span<const EValue> inputs, NodeId node,
                                             const LoweringSetup& setup,
                                             const exir::Closeness& closeness) {
  return Reducer(program, inputs, node, setup, closeness).Run();
}

absl::Status WriteFailure(const ReducedFailure& failure, const std::string& directory) {
  ABSL_RETURN_IF_ERROR(MakeDirectory(directory));
  exir::MethodPrograms methods;
  methods.emplace_back("forward", failure.program.Clone());
  ABSL_RETURN_IF_ERROR(exir::WriteSavedPrograms(methods, absl::StrCat(directory, "/program.bir")));
  ABSL_RETURN_IF_ERROR(WriteValues(failure.inputs, absl::StrCat(directory, "/input_")));
  return WriteValues(failure.outputs, absl::StrCat(directory, "/output_"));
}

}  // namespace belay::tools
