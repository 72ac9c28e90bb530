// Makes operator nodes at a place of a graph, with result types that the operators' meta kernels
// infer.
//
//   OpBuilder b(program, editor);
//   b.MoveTo(node);                                        // inserts before it, as part of it
//   Argument gate = b.Call("aten.sigmoid.default", {x});
//   Argument y = b.Call("aten.mul.Tensor", {x, gate});
//   Argument z = b.Call("aten.view.default", {y, {b.size(y, 0), -1}});
//   ABSL_RETURN_IF_ERROR(b.status());
//
// Errors stick: the first one is kept, and from then on calls make no nodes, give None, and
// questions about tensors give float32 without dimensions, so that code which makes nodes need not
// look at each step.
//
// A size that is an expression becomes the value that computes it: a number as it is, else
// arithmetic on sym_size nodes right after what defines the symbols, made once per graph.
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
#include "exir/op/meta_context.h"

namespace belay::exir {

// What a call takes: an argument of the graph, or an expression (or a list of them) that the
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

// Thread-compatible. Only one per graph at a time, because it remembers what it has computed.
class OpBuilder {
 public:
  // `program` and `editor`, which is of one of its graphs, must outlive the builder. Calls of
  // operators without a meta kernel are decomposed by the operator's composite kernel, or by `table`.
  OpBuilder(ExportedProgram& program, GraphEditor& editor,
            const DecompositionTable* table = nullptr);
  OpBuilder(const OpBuilder&) = delete;
  OpBuilder& operator=(const OpBuilder&) = delete;
  ~OpBuilder();

  // New nodes come before `node` and have its provenance, debug handle and tag.
  void MoveTo(NodeId node);
  // New nodes come last, without provenance.
  void MoveToEnd();

  // A node of the overload with this name ("aten.add.Tensor"), arguments by position, then by name,
  // then by default; numbers are spelled as the schema wants them. Gives the result: a list for
  // Tensor[], None for an operator that returns nothing, the first result when there are several.
  // Fails with kNotFound for an operator that the registry does not know, kInvalidArgument for
  // arguments that it does not take, and whatever its meta kernel says. Operators on scalars whose
  // result is a number make no node. An operator without a meta kernel is decomposed at once.
  Argument Call(std::string_view op, std::vector<OpArgument> arguments, OpKeywords keywords = {});
  // All results.
  std::vector<Argument> CallAll(std::string_view op, std::vector<OpArgument> arguments,
                                OpKeywords keywords = {});
  std::vector<Argument> CallAll(const OpOverload* op, std::vector<Argument> arguments);
  // A body for a higher-order operator: it takes tensors of these types and returns what `make` makes
  // of them, with a builder for it. The name is a wish. The program has the body when this builder is
  // gone.
  using MakeBody =
      absl::FunctionRef<std::vector<Argument>(OpBuilder&, const std::vector<Argument>& inputs)>;
  GraphId AddBody(std::string_view name, const std::vector<TensorMeta>& inputs, MakeBody make);
  // A node of a higher-order operator ("higher_order.scan") whose results have these types.
  std::vector<Argument> CallHigherOrder(std::string_view op, std::vector<Argument> arguments,
                                        const std::vector<TensorMeta>& results);
  // Whether the meta kernel accepts the call. Makes nothing (but the values of sizes).
  bool Accepts(std::string_view op, std::vector<OpArgument> arguments, OpKeywords keywords = {});
  // The value of an expression; a number stays a number.
  Argument Size(const SymExpr& expr);
  Argument Resolve(const OpArgument& argument);

  // What is known of a value. Of anything but a tensor: an error, and float32 without dimensions.
  TensorMeta meta(const Argument& tensor);
  DType dtype(const Argument& tensor) { return meta(tensor).dtype; }
  int64_t rank(const Argument& tensor) { return meta(tensor).rank(); }
  std::vector<SymInt> sizes(const Argument& tensor) { return meta(tensor).sizes; }
  SymInt size(const Argument& tensor, int64_t dim);  // negative dims count from the end
  bool IsTensor(const Argument& argument) const;
  // `dim` counted from the start; an error when it is none of a tensor of this rank (a tensor
  // without dimensions counts as having one).
  int64_t WrapDim(int64_t dim, int64_t rank);
  // The smallest and largest that the expression can be.
  SymRange Range(const SymExpr& expr) const { return expr.Range(program_.ranges); }

  const absl::Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  // Keeps the first.
  void Fail(absl::Status status);
  // kInvalidArgument and kUnimplemented.
  void Invalid(std::string_view message);
  void Unsupported(std::string_view message);

  ExportedProgram& program() { return program_; }
  const Graph& graph() const { return editor_.graph(); }
  GraphEditor& editor() { return editor_; }
  const OpRegistry& ops() const { return *program_.ops; }
  // Whether a call made it since the builder was moved.
  bool Made(ValueId value) const { return made_.contains(value); }

 private:
  // Symbols for sizes that only the data decide: u<n>, not yet in the program.
  class Symbols : public SymbolSource {
   public:
    explicit Symbols(ExportedProgram& program) : program_(program) {}
    SymExpr Fresh(SymRange range) override;

   private:
    ExportedProgram& program_;
    int64_t next_ = -1;
  };
  // A value and the node after which it exists; invalid for what the graph begins with.
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
  // The overload that stands for this ATen one in the program's dialect: in an edge program the
  // edge overload, of the copying variant for a view.
  const OpOverload* InDialect(const OpOverload* op) const;
  absl::StatusOr<std::vector<Argument>> Insert(const OpOverload* op,
                                               std::vector<Argument> arguments);
  absl::StatusOr<Argument> TryResolve(const OpArgument& argument);
  absl::StatusOr<Definition> Define(const SymExpr& expr, int depth);
  absl::StatusOr<Definition> DefineSymbol(const SymExpr& symbol);
  Definition Compute(std::string_view op, std::vector<Argument> arguments, NodeId after,
                     SymExpr result);
  NodeId Later(NodeId a, NodeId b) const;
  // The node before which something that needs `after` goes.
  NodeId Behind(NodeId after) const;

  ExportedProgram& program_;
  GraphEditor& editor_;
  const DecompositionTable* table_;
  int depth_ = 0;  // of decompositions that decompose
  NodeId before_;
  GraphEditor::NewNode like_;  // provenance and the like of what is made
  Symbols symbols_;
  absl::btree_map<std::string, Definition> defined_;  // by expression
  absl::flat_hash_set<ValueId> made_;
  std::vector<Graph> own_bodies_;
  std::vector<Graph>* bodies_ = &own_bodies_;  // of a builder for a body: those of the outer one
  absl::Status status_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BUILDER_OP_BUILDER_H_
