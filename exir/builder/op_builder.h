// Inserts operator nodes into a graph; the operators' meta kernels infer the result types.
//
//   OpBuilder b(program, editor);
//   b.MoveTo(node);                                        // inserts before it, as part of it
//   Argument gate = b.Call("aten.sigmoid.default", {x});
//   Argument y = b.Call("aten.mul.Tensor", {x, gate});
//   Argument z = b.Call("aten.view.default", {y, {b.size(y, 0), -1}});
//   ABSL_RETURN_IF_ERROR(b.status());
//
// Errors are sticky: the first one is kept. After it, calls emit no nodes and return None, and
// queries about tensors return a rank-0 float32 tensor. So callers need not check each step.
//
// A size that is an expression becomes the value that computes it: a literal, or arithmetic on
// sym_size nodes. These nodes are placed right after the definition of their symbols and created
// once per graph.
#ifndef BELAY_EXIR_BUILDER_OP_BUILDER_H_
#define BELAY_EXIR_BUILDER_OP_BUILDER_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/meta_context.h"

namespace belay::exir {

// An argument of a call: an argument of the graph, or an expression (or a list of them) that the
// builder computes. Lists nest: {x, y} of tensors, {1, size} of sizes.
class OpArgument {
 public:
  using List = std::vector<OpArgument>;
  template <class T, class = std::enable_if_t<std::is_constructible_v<Argument, T> &&
                                              !std::is_same_v<std::decay_t<T>, OpArgument>>>
  OpArgument(T value) : value_(Argument(std::move(value))) {}           // NOLINT
  OpArgument(SymExpr expr) : value_(std::move(expr)) {}                 // NOLINT
  OpArgument(List list) : value_(std::move(list)) {}                    // NOLINT
  OpArgument(std::initializer_list<OpArgument> l) : value_(List(l)) {}  // NOLINT
  OpArgument(const std::vector<SymExpr>& exprs)                         // NOLINT
      : value_(List(exprs.begin(), exprs.end())) {}
  OpArgument(const std::vector<int64_t>& ints)  // NOLINT
      : value_(List(ints.begin(), ints.end())) {}
  const std::variant<Argument, SymExpr, List>& value() const { return value_; }

 private:
  std::variant<Argument, SymExpr, List> value_;
};
using OpKeywords = std::vector<std::pair<std::string_view, OpArgument>>;

class DecompositionTable;

// Thread-compatible. Caches computed sizes, so only one builder may exist per graph at a time.
class OpBuilder {
 public:
  // `program` and `editor` (of one of its graphs) must outlive the builder. Calls of operators
  // without a meta kernel are decomposed by the operator's composite kernel, or by `table`.
  OpBuilder(ExportedProgram& program, GraphEditor& editor,
            const DecompositionTable* table = nullptr);
  OpBuilder(const OpBuilder&) = delete;
  OpBuilder& operator=(const OpBuilder&) = delete;
  ~OpBuilder();

  // Inserts further nodes before `node`, with its provenance, debug handle and tag.
  void MoveTo(NodeId node);
  // Appends further nodes at the end, without provenance.
  void MoveToEnd();

  // Emits a node of the overload with this name ("aten.add.Tensor"). Arguments are taken by
  // position, then by name, then by default; scalars are converted to the types of the schema.
  // Returns the result: a list for Tensor[], None for an operator that returns nothing, the first
  // result if there are several. Operators on scalars whose result is a literal emit no node. An
  // operator without a meta kernel is decomposed immediately.
  //
  // Fails with kNotFound for unknown operators, kInvalidArgument for invalid arguments, and the
  // errors of the meta kernel.
  Argument Call(std::string_view op, std::vector<OpArgument> arguments, OpKeywords keywords = {});
  // As Call; returns all results.
  std::vector<Argument> CallAll(std::string_view op, std::vector<OpArgument> arguments,
                                OpKeywords keywords = {});
  std::vector<Argument> CallAll(const OpOverload* op, std::vector<Argument> arguments);
  // Creates a subgraph for a higher-order operator. Its inputs have these types; its outputs are
  // the results of `make`, which gets a builder for the subgraph. The name is made unique. The
  // subgraph is added to the program when this builder is destroyed.
  using MakeBody =
      absl::FunctionRef<std::vector<Argument>(OpBuilder&, const std::vector<Argument>& inputs)>;
  GraphId AddBody(std::string_view name, const std::vector<TensorMeta>& inputs, MakeBody make);
  // Emits a node of a higher-order operator ("higher_order.scan") whose results have these types.
  std::vector<Argument> CallHigherOrder(std::string_view op, std::vector<Argument> arguments,
                                        const std::vector<TensorMeta>& results);
  // Returns whether the meta kernel accepts the call. Emits no nodes except for values of sizes.
  bool Accepts(std::string_view op, std::vector<OpArgument> arguments, OpKeywords keywords = {});
  // Returns the value of an expression; a constant expression gives a literal.
  // kUnimplemented for a float, and for an expression without an operator.
  Argument Size(const SymExpr& expr);
  // As Size, for an expression of any kind.
  Argument Scalar(const SymExpr& expr);
  Argument Resolve(const OpArgument& argument);

  // Returns the metadata of a tensor. For other arguments: fails, and returns a rank-0 float32
  // tensor.
  TensorMeta meta(const Argument& tensor);
  DType dtype(const Argument& tensor) { return meta(tensor).dtype; }
  int64_t rank(const Argument& tensor) { return meta(tensor).rank(); }
  std::vector<SymInt> sizes(const Argument& tensor) { return meta(tensor).sizes; }
  SymInt size(const Argument& tensor, int64_t dim);  // negative dims count from the end
  bool IsTensor(const Argument& argument) const;
  // Returns `dim` counted from the start. Fails if it is out of range for a tensor of this rank
  // (rank 0 counts as rank 1).
  int64_t WrapDim(int64_t dim, int64_t rank);
  // Returns the smallest and largest value of the expression.
  SymRange Range(const SymExpr& expr) const { return expr.Range(program_.ranges); }

  const absl::Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  // Only the first error is kept.
  void Fail(absl::Status status);
  // Fail with kInvalidArgument and with kUnimplemented.
  void Invalid(std::string_view message);
  void Unsupported(std::string_view message);

  ExportedProgram& program() { return program_; }
  const Graph& graph() const { return editor_.graph(); }
  GraphEditor& editor() { return editor_; }
  const OpRegistry& ops() const { return *program_.ops; }
  // Returns whether a call created the value since the last MoveTo.
  bool Made(ValueId value) const { return made_.contains(value); }

 private:
  // Creates symbols u<n> for data-dependent sizes; the names are unused in the program.
  class Symbols : public SymbolSource {
   public:
    explicit Symbols(ExportedProgram& program) : program_(program) {}
    SymExpr Fresh(SymRange range) override;

   private:
    ExportedProgram& program_;
    int64_t next_ = -1;
  };
  // A value and the node after which it exists; invalid if it exists from the start of the graph.
  struct Definition {
    Argument value;
    NodeId after;
  };

  absl::StatusOr<std::vector<Argument>> Complete(const OpOverload* op,
                                                 const std::vector<OpArgument>& arguments,
                                                 const OpKeywords& keywords);
  absl::StatusOr<std::vector<Argument>> TryCall(std::string_view op,
                                                const std::vector<OpArgument>& arguments,
                                                const OpKeywords& keywords);
  // Returns the overload for this ATen overload in the program's dialect: in an edge program the
  // edge overload, for a view that of its copying variant.
  const OpOverload* InDialect(const OpOverload* op) const;
  absl::StatusOr<std::vector<Argument>> Insert(const OpOverload* op,
                                               std::vector<Argument> arguments);
  absl::StatusOr<Argument> TryResolve(const OpArgument& argument);
  absl::StatusOr<Definition> Define(const SymExpr& expr, int depth);
  absl::StatusOr<Definition> DefineSymbol(const SymExpr& symbol);
  Definition Compute(std::string_view op, std::vector<Argument> arguments, NodeId after,
                     SymExpr result);
  NodeId Later(NodeId a, NodeId b) const;
  // Returns the node before which to insert a node that depends on `after`.
  NodeId InsertionPointAfter(NodeId after) const;

  ExportedProgram& program_;
  GraphEditor& editor_;
  const DecompositionTable* table_;
  int depth_ = 0;  // nesting depth of decompositions
  NodeId before_;
  GraphEditor::NewNode like_;  // provenance etc. of new nodes
  Symbols symbols_;
  absl::btree_map<std::string, Definition> defined_;  // by expression
  absl::flat_hash_set<ValueId> made_;
  std::vector<Graph> own_bodies_;
  std::vector<Graph>* bodies_ = &own_bodies_;  // of a subgraph's builder: those of the outer one
  absl::Status status_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BUILDER_OP_BUILDER_H_
