// Operator overloads with stable identity, in dialects.
//
// A registry is a value that is built from tables of OpDef and then passed to whoever reads, makes
// or checks programs. Looking up the same overload twice gives the same pointer; pointers live as
// long as the registry. What the tables don't have may be defined later; what was found before
// stays what it is, and sees kernels that it gets.
#ifndef BELAY_EXIR_OP_OP_REGISTRY_H_
#define BELAY_EXIR_OP_OP_REGISTRY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/op/op_def.h"
#include "exir/op/schema.h"

namespace belay::exir {

class Argument;   // exir/ir/argument.h
class OpBuilder;  // exir/builder/op_builder.h
class OpCall;     // exir/builder/op_call.h

// What an operator does, in terms of others: makes the nodes of a call and gives a result for each
// return. The builder calls it (RunDecomposition in exir/builder/decomposition_table.h says what it
// has to keep to).
using CompositeFn = std::function<std::vector<Argument>(OpBuilder& b, const OpCall& call)>;

// What becomes of a call that no backend took (docs/lowering.md §5.5).
enum class CompositeKind : uint8_t {
  kImplicit,  // the nodes that the function makes take its place
  kExplicit,  // it stays, one operator
};

enum class Dialect : uint8_t {
  kAten,         // torch.ops.<ns>.<op>.<overload>, any namespace
  kEdge,         // the same with dtype constraints
  kBackend,      // operators for after partitioning
  kHigherOrder,  // cond, while_loop, map_impl, scan, executorch_call_delegate: no schema
  kScalar,       // Python functions on scalars: _operator.mul, torch.sym_max, math.trunc
};

// One overload in one dialect. Immutable; compared by address.
class OpOverload {
 public:
  Dialect dialect() const { return dialect_; }
  std::string_view ns() const { return ns_; }  // "aten"
  std::string_view op() const { return op_; }  // "add"
  std::string_view overload() const {
    return overload_;
  }  // "Tensor", "default"; "" for higher-order and scalar functions
  // Without the dialect: "aten.add.Tensor", "higher_order.cond", "_operator.mul". Kernels have this
  // name.
  const std::string& name() const { return name_; }
  // With it, as the text form writes it: "edge.aten.add.Tensor", "backend.…"; equal to name() for
  // the others.
  const std::string& text_name() const { return text_name_; }
  // nullptr for higher-order operators and for operators that the registry does not know.
  const FunctionSchema* schema() const { return schema_; }
  const OpDef* def() const { return def_; }
  bool known() const { return def_ != nullptr || dialect_ == Dialect::kHigherOrder; }
  bool has_trait(OpTrait trait) const { return def_ != nullptr && (def_->traits & trait) != 0; }
  // Where the argument of this name stands: the schema's, or one of those that a higher-order
  // operator begins with (op_registry.cc names them). nullopt when there is none of the name.
  std::optional<int> ArgumentIndex(std::string_view name) const;
  // The ATen overload that an edge or backend overload wraps; itself otherwise.
  const OpOverload* aten() const { return aten_ == nullptr ? this : aten_; }
  // What a backend operator needs one of (docs/lowering.md §5.3).
  bool has_meta_kernel() const { return def_ != nullptr && def_->meta != nullptr; }
  bool has_composite_explicit_kernel() const {
    return composite_kernel() != nullptr && aten()->composite_kind_ == CompositeKind::kExplicit;
  }
  bool has_composite_implicit_kernel() const {
    return has_trait(kComposite) ||
           (composite_kernel() != nullptr && aten()->composite_kind_ == CompositeKind::kImplicit);
  }
  // What OpRegistry::SetCompositeKernel gave; nullptr without. Rows of tables that have the trait
  // kComposite have theirs in exir/decompositions.
  const CompositeFn* composite_kernel() const { return aten()->composite_kernel_; }

 private:
  friend class OpRegistry;
  OpOverload() = default;
  Dialect dialect_ = Dialect::kAten;
  std::string ns_, op_, overload_, name_, text_name_;
  const FunctionSchema* schema_ = nullptr;
  const OpDef* def_ = nullptr;
  const OpOverload* aten_ = nullptr;
  const CompositeFn* composite_kernel_ = nullptr;  // of aten(), here and below
  CompositeKind composite_kind_ = CompositeKind::kImplicit;
  absl::Span<const std::string_view> argument_names_;  // of a higher-order operator
};

// All overloads of one name in one dialect. Immutable; compared by address.
class OpPacket {
 public:
  Dialect dialect() const { return dialect_; }
  std::string_view ns() const { return ns_; }
  std::string_view op() const { return op_; }
  const std::string& name() const { return name_; }            // "aten.add"
  const std::string& text_name() const { return text_name_; }  // "edge.aten.add"

 private:
  friend class OpRegistry;
  OpPacket() = default;
  Dialect dialect_ = Dialect::kAten;
  std::string ns_, op_, name_, text_name_;
};

// Thread-safe but for the functions that are not const: lookups may create entries (opaque, edge
// and backend overloads), under a lock of the registry's own; nothing may be looked up while
// something is defined.
class OpRegistry {
 public:
  // kInvalidArgument listing every row whose schema does not parse; kAlreadyExists for a repeated
  // overload. The rows must outlive the registry (they are constants).
  static absl::StatusOr<std::unique_ptr<OpRegistry>> Create(
      absl::Span<const absl::Span<const OpDef>> tables);
  ~OpRegistry();

  // A known overload by its name ("aten.add.Tensor"; "aten.relu" means "aten.relu.default"), in the
  // ATen, scalar or higher-order dialect. nullptr when unknown.
  const OpOverload* Find(std::string_view name) const;
  // kNotFound naming the namespace, the operator or the overload that does not exist, with the
  // overloads there are.
  absl::StatusOr<const OpOverload*> Lookup(std::string_view name) const;
  // Find, or an overload without schema for a name that is unknown: what a reader makes of custom
  // operators.
  const OpOverload* FindOrOpaque(std::string_view name) const;
  // The edge overload of an ATen overload. Precondition: `aten` is of this registry. An overload of
  // another dialect is returned as it is.
  const OpOverload* ToEdge(const OpOverload* aten) const;
  // The backend overload of an ATen or edge overload (docs/lowering.md §5.2, §5.3). kInvalidArgument
  // when its namespace is not one of backend operators, kFailedPrecondition as long as it has no
  // kernel: neither meta, composite explicit nor composite implicit.
  absl::StatusOr<const OpOverload*> ToBackend(const OpOverload* overload) const;

  // Lookup by parts, in the dialect; `overload` is "" where there are none. kNotFound as Lookup,
  // the errors of ToBackend in the backend dialect.
  absl::StatusOr<const OpOverload*> LookupIn(Dialect dialect, std::string_view ns,
                                             std::string_view op,
                                             std::string_view overload = "default") const;
  absl::StatusOr<const OpPacket*> LookupPacket(Dialect dialect, std::string_view ns,
                                               std::string_view op) const;
  // The known overloads of an operator, sorted by name.
  std::vector<const OpOverload*> Overloads(std::string_view ns, std::string_view op) const;

  // --- Operators that the tables don't have ---

  // kInvalidArgument when the schema or the dtype rule does not parse and for the trait kComposite
  // (SetCompositeKernel takes the function), kAlreadyExists when there is an operator of the name.
  // Texts are copied. An opaque overload of this name that was made before stays opaque.
  absl::StatusOr<const OpOverload*> Define(const OpDef& def);
  // Gives an operator a kernel, in all dialects, also where it was looked up before. `name` as
  // Lookup has it, with its errors. kInvalidArgument for no kernel and for an operator without
  // schema, kAlreadyExists for one that has such a kernel.
  absl::Status SetMetaKernel(std::string_view name, MetaFn meta);
  // One for each operator, of either kind: PyTorch's lib.impl(op, kernel, "CompositeExplicitAutograd").
  // Besides, kInvalidArgument for an operator that writes to an argument or gives a view of one. What
  // the kernel holds must live as long as the registry.
  absl::Status SetCompositeKernel(std::string_view name, CompositeKind kind, CompositeFn kernel);
  // Operators of the namespace may be backend operators from now on.
  void AllowBackendNamespace(std::string_view ns);
  // Any dialect, by text_name(); nullptr when unknown. "edge.mylib.op.default" of a namespace that
  // has no known operator is the edge overload of an opaque one.
  const OpOverload* FindText(std::string_view text_name) const;
  const OpOverload* CallDelegate() const;  // higher_order.executorch_call_delegate

  // All known overloads of the ATen and scalar dialects, by name.
  std::vector<const OpOverload*> Known() const;

 private:
  struct Impl;
  explicit OpRegistry(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_OP_REGISTRY_H_
