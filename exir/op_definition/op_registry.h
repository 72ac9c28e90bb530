// Operator overloads with stable identity, in dialects.
//
// A registry is a value that is built from tables of OpDef and passed to code that reads, creates
// or checks programs. Looking up the same overload twice gives the same pointer; pointers are valid
// for the lifetime of the registry. Operators that are not in the tables may be defined later.
// Existing pointers do not change; kernels that are set later are visible through them.
#ifndef BELAY_EXIR_OP_DEFINITION_OP_REGISTRY_H_
#define BELAY_EXIR_OP_DEFINITION_OP_REGISTRY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/op_definition/op_def.h"
#include "exir/op_definition/schema.h"

namespace belay::exir {

class Argument;   // exir/ir/argument.h
class OpBuilder;  // exir/builder/op_builder.h
class OpCall;     // exir/builder/op_call.h

// Expands an operator into others: emits the nodes of a call and returns a result for each return.
// The builder calls it; RunDecomposition in exir/builder/decomposition_table.h states its contract.
using CompositeFn = std::function<std::vector<Argument>(OpBuilder& b, const OpCall& call)>;

// How a call that was not delegated is lowered (docs/lowering.md §5.5).
enum class CompositeKind : uint8_t {
  kImplicit,  // replaced by the nodes that the function emits
  kExplicit,  // kept as one operator
};

enum class Dialect : uint8_t {
  kAten,         // torch.ops.<ns>.<op>.<overload>, any namespace
  kEdge,         // the same with dtype constraints
  kBackend,      // operators for use after partitioning
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
  // The name without the dialect: "aten.add.Tensor", "higher_order.cond", "_operator.mul". Kernels
  // are registered under it.
  const std::string& name() const { return name_; }
  // The name with the dialect, as in the text form: "edge.aten.add.Tensor", "backend.…"; equal to
  // name() for the others.
  const std::string& text_name() const { return text_name_; }
  // nullptr for higher-order operators and opaque operators.
  const FunctionSchema* schema() const { return schema_; }
  const OpDef* def() const { return def_; }
  bool known() const { return def_ != nullptr || dialect_ == Dialect::kHigherOrder; }
  bool has_trait(OpTrait trait) const { return def_ != nullptr && (def_->traits & trait) != 0; }
  // Returns the position of the argument with this name: one of the schema, or one of the leading
  // arguments of a higher-order operator (listed in op_registry.cc). nullopt if not found.
  std::optional<int> ArgumentIndex(std::string_view name) const;
  // The ATen overload that an edge or backend overload wraps; itself otherwise.
  const OpOverload* aten() const { return aten_ == nullptr ? this : aten_; }
  // A backend operator needs at least one of these (docs/lowering.md §5.3).
  bool has_meta_kernel() const { return def_ != nullptr && def_->meta != nullptr; }
  bool has_composite_explicit_kernel() const {
    return composite_kernel() != nullptr && aten()->composite_kind_ == CompositeKind::kExplicit;
  }
  bool has_composite_implicit_kernel() const {
    return has_trait(kComposite) ||
           (composite_kernel() != nullptr && aten()->composite_kind_ == CompositeKind::kImplicit);
  }
  // The kernel set by OpRegistry::SetCompositeKernel; nullptr if unset. Rows of tables that
  // have the trait kComposite have theirs in exir/decompositions.
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

// Const functions are thread-safe: lookups may create entries (opaque, edge and backend overloads)
// under an internal lock. Non-const functions must not run concurrently with any other function.
class OpRegistry {
 public:
  // kInvalidArgument listing every row whose schema does not parse; kAlreadyExists for a repeated
  // overload. The rows must outlive the registry (they are constants).
  static absl::StatusOr<std::unique_ptr<OpRegistry>> Create(
      absl::Span<const absl::Span<const OpDef>> tables);
  ~OpRegistry();

  // Returns a known overload by its name ("aten.add.Tensor"; "aten.relu" means
  // "aten.relu.default"), in the ATen, scalar or higher-order dialect. nullptr if unknown.
  const OpOverload* Find(std::string_view name) const;
  // The same with an error. kNotFound naming the unknown namespace, operator or overload, with the
  // available overloads.
  absl::StatusOr<const OpOverload*> Lookup(std::string_view name) const;
  // Returns Find, or an opaque overload (without schema) for an unknown name. Readers create these
  // for custom operators.
  const OpOverload* FindOrOpaque(std::string_view name) const;
  // Returns the edge overload of an ATen overload. Precondition: `aten` is of this registry.
  // Returns an overload of another dialect unchanged.
  const OpOverload* ToEdge(const OpOverload* aten) const;
  // Returns the backend overload of an ATen or edge overload (docs/lowering.md §5.2, §5.3).
  // kInvalidArgument if its namespace does not allow backend operators, kFailedPrecondition while
  // it has no kernel: neither meta, composite explicit nor composite implicit.
  absl::StatusOr<const OpOverload*> ToBackend(const OpOverload* overload) const;

  // Looks up by parts, in the dialect; `overload` is "" for operators without overloads.
  // kNotFound as Lookup; in the backend dialect also the errors of ToBackend.
  absl::StatusOr<const OpOverload*> LookupIn(Dialect dialect, std::string_view ns,
                                             std::string_view op,
                                             std::string_view overload = "default") const;
  absl::StatusOr<const OpPacket*> LookupPacket(Dialect dialect, std::string_view ns,
                                               std::string_view op) const;
  // Returns the known overloads of an operator, sorted by name.
  std::vector<const OpOverload*> Overloads(std::string_view ns, std::string_view op) const;

  // --- Operators that are not in the tables ---

  // kInvalidArgument if the schema or the dtype rule does not parse, and for the trait kComposite
  // (use SetCompositeKernel instead). kAlreadyExists if there is an operator of this name. Copies
  // the strings. An opaque overload of this name that already exists remains opaque.
  absl::StatusOr<const OpOverload*> Define(const OpDef& def);
  // Sets an operator's meta kernel, in all dialects, also for existing lookups. `name` and its
  // errors as in Lookup. kInvalidArgument for a null kernel and for an operator without schema,
  // kAlreadyExists if it has a meta kernel.
  absl::Status SetMetaKernel(std::string_view name, MetaFn meta);
  // Sets an operator's only composite kernel, of either kind: PyTorch's lib.impl(op, kernel,
  // "CompositeExplicitAutograd"). Also kInvalidArgument for an operator that writes to an argument
  // or returns a view of one. Objects that the kernel references must live as long as the registry.
  absl::Status SetCompositeKernel(std::string_view name, CompositeKind kind, CompositeFn kernel);
  // Allows backend operators in the namespace.
  void AllowBackendNamespace(std::string_view ns);
  // Returns the overload of any dialect with this text_name(); nullptr if unknown.
  // "edge.mylib.op.default" of a namespace without known operators is the edge overload of an
  // opaque one.
  const OpOverload* FindText(std::string_view text_name) const;
  const OpOverload* CallDelegate() const;  // higher_order.executorch_call_delegate

  // Returns all known overloads of the ATen and scalar dialects, by name.
  std::vector<const OpOverload*> Known() const;

 private:
  struct Impl;
  explicit OpRegistry(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_OP_DEFINITION_OP_REGISTRY_H_
