#include "exir/op_definition/op_registry.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "exir/op_definition/dtype_rule.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

// Newer versions of Abseil deprecate this constructor of MutexLock; Debian 12's lacks the new one.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace belay::exir {
namespace {

constexpr std::string_view kHigherOrderNamespace = "higher_order";
constexpr std::string_view kCallDelegate = "executorch_call_delegate";

struct HigherOrderOp {
  std::string_view name;
  // Names of the leading arguments of each call; others may follow.
  std::array<std::string_view, 5> arguments = {};
};
constexpr HigherOrderOp kHigherOrderOps[] = {
    {"associative_scan"},
    {"auto_functionalized"},
    {"auto_functionalized_v2"},
    {"cond", {"predicate", "true_graph", "false_graph", "operands"}},
    {kCallDelegate, {"module"}},
    {"map_impl", {"body", "rows", "additional"}},
    {"scan", {"body", "initial", "rows", "additional"}},
    {"while_loop", {"condition", "body", "carried", "additional"}},
    {"with_effects", {"token", "operator"}},
    {"wrap_with_autocast", {"device", "dtype", "enabled", "cache_enabled", "body"}},
    {"wrap_with_set_grad_enabled", {"enabled", "body"}},
};
constexpr std::string_view kScalarNamespaces[] = {"_operator", "math", "torch"};
// docs/lowering.md §5.2.
constexpr std::string_view kBackendNamespaces[] = {"DO_NOT_USE_TEST_ONLY", "executorch_prim",
                                                   "quantized_decomposed"};
constexpr std::string_view kEdgePrefix = "edge.";
constexpr std::string_view kBackendPrefix = "backend.";

bool IsOneOf(std::string_view name, absl::Span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Functions without overloads.
bool IsPlainNamespace(std::string_view ns) {
  return ns == kHigherOrderNamespace || IsOneOf(ns, kScalarNamespaces);
}

struct NameParts {
  std::string ns, op, overload;
  std::string Full() const {
    return absl::StrCat(ns, ns.empty() ? "" : ".", op, overload.empty() ? "" : ".", overload);
  }
};

// "aten.add.Tensor", "aten.relu" (overload "default"), "_operator.mul". A name without a dot is
// only an operator.
NameParts SplitName(std::string_view name) {
  NameParts parts;
  const size_t first = name.find('.');
  if (first == std::string_view::npos) {
    parts.op = std::string(name);
    return parts;
  }
  parts.ns = std::string(name.substr(0, first));
  std::string_view rest = name.substr(first + 1);
  if (IsPlainNamespace(parts.ns)) {
    parts.op = std::string(rest);
    return parts;
  }
  const size_t last = rest.rfind('.');
  parts.op = std::string(rest.substr(0, last));
  parts.overload = last == std::string_view::npos ? "default" : std::string(rest.substr(last + 1));
  return parts;
}

}  // namespace

std::optional<int> OpOverload::ArgumentIndex(std::string_view name) const {
  if (schema_ != nullptr) return schema_->ArgumentIndex(name);
  const auto it = std::find(argument_names_.begin(), argument_names_.end(), name);
  if (name.empty() || it == argument_names_.end()) return std::nullopt;
  return static_cast<int>(it - argument_names_.begin());
}

struct OpRegistry::Impl {
  // A row that is not from the tables; owns its strings.
  struct OwnedDef {
    std::string schema, dtypes;
    OpDef def;
  };

  std::vector<std::unique_ptr<const FunctionSchema>> schemas;
  std::vector<std::unique_ptr<OwnedDef>> owned_defs;
  std::vector<std::unique_ptr<const CompositeFn>> composite_kernels;
  std::vector<std::string> backend_namespaces{std::begin(kBackendNamespaces),
                                              std::end(kBackendNamespaces)};
  std::vector<std::unique_ptr<OpOverload>> known;
  absl::flat_hash_map<std::string_view, const OpOverload*> known_by_name;
  absl::flat_hash_set<std::string_view> known_namespaces;
  const OpOverload* call_delegate = nullptr;

  absl::Mutex mutex;
  std::vector<std::unique_ptr<OpOverload>> lazy ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<std::string_view, const OpOverload*> opaque_by_name ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<const OpOverload*, const OpOverload*> edge_of ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<const OpOverload*, const OpOverload*> backend_of ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<std::string, std::unique_ptr<const OpPacket>> packets ABSL_GUARDED_BY(mutex);

  static std::unique_ptr<OpOverload> New(Dialect dialect, NameParts parts) {
    std::unique_ptr<OpOverload> overload(new OpOverload);
    overload->dialect_ = dialect;
    overload->name_ = parts.Full();
    overload->text_name_ = overload->name_;
    overload->ns_ = std::move(parts.ns);
    overload->op_ = std::move(parts.op);
    overload->overload_ = std::move(parts.overload);
    return overload;
  }

  const OpOverload* AddKnown(std::unique_ptr<OpOverload> overload) {
    const OpOverload* result = overload.get();
    known.push_back(std::move(overload));
    known_by_name.emplace(result->name(), result);
    known_namespaces.insert(result->ns());
    return result;
  }

  // Adds the overload of a row. kInvalidArgument if the row is invalid, kAlreadyExists if the name
  // exists.
  absl::StatusOr<const OpOverload*> AddRow(const OpDef& def) {
    ABSL_ASSIGN_OR_RETURN(FunctionSchema schema, FunctionSchema::Parse(def.schema));
    const bool scalar = IsOneOf(schema.ns, kScalarNamespaces);
    if (scalar && schema.overload != "default") {
      return absl::InvalidArgumentError(
          absl::StrCat("schema '", def.schema, "': a scalar function has no overloads"));
    }
    ABSL_RETURN_IF_ERROR(DTypeRule::Create(schema, def.dtypes).status());
    std::unique_ptr<OpOverload> overload =
        New(scalar ? Dialect::kScalar : Dialect::kAten,
            {schema.ns, schema.op, scalar ? "" : schema.overload});
    if (known_by_name.contains(overload->name())) {
      return absl::AlreadyExistsError(overload->name());
    }
    schemas.push_back(std::make_unique<const FunctionSchema>(std::move(schema)));
    overload->schema_ = schemas.back().get();
    overload->def_ = &def;
    return AddKnown(std::move(overload));
  }

  // Returns a copy of the row that may be modified.
  OwnedDef& Own(const OpDef& def) {
    owned_defs.push_back(std::make_unique<OwnedDef>());
    OwnedDef& owned = *owned_defs.back();
    owned.schema = std::string(def.schema);
    owned.dtypes = std::string(def.dtypes);
    owned.def = def;
    owned.def.schema = owned.schema;
    owned.def.dtypes = owned.dtypes;
    return owned;
  }

  // Returns the row of a known overload for modification; all overloads that have it see the
  // change.
  OpDef& MutableRow(const OpOverload* op) {
    for (const auto& owned : owned_defs) {
      if (&owned->def == op->def_) return owned->def;
    }
    const OpDef* old = op->def_;
    OpDef& changed = Own(*old).def;
    for (const auto& overload : known) {
      if (overload->def_ == old) overload->def_ = &changed;
    }
    absl::MutexLock lock(&mutex);
    for (const auto& overload : lazy) {
      if (overload->def_ == old) overload->def_ = &changed;
    }
    return changed;
  }

  // Returns a known overload for modification.
  OpOverload& Mutable(const OpOverload* op) {
    return **std::find_if(known.begin(), known.end(),
                          [&](const auto& overload) { return overload.get() == op; });
  }

  // Returns the wrapper of `aten` in `dialect`; creates it if needed.
  const OpOverload* Wrap(const OpOverload* aten, Dialect dialect, std::string_view prefix,
                         absl::flat_hash_map<const OpOverload*, const OpOverload*>& wrappers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const OpOverload*& wrapper = wrappers[aten];
    if (wrapper == nullptr) {
      std::unique_ptr<OpOverload> made(new OpOverload(*aten));
      made->dialect_ = dialect;
      made->aten_ = aten;
      made->text_name_ = absl::StrCat(prefix, aten->name());
      wrapper = made.get();
      lazy.push_back(std::move(made));
    }
    return wrapper;
  }
};

OpRegistry::OpRegistry(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OpRegistry::~OpRegistry() = default;

absl::StatusOr<std::unique_ptr<OpRegistry>> OpRegistry::Create(
    absl::Span<const absl::Span<const OpDef>> tables) {
  auto impl = std::make_unique<Impl>();
  for (const HigherOrderOp& row : kHigherOrderOps) {
    std::unique_ptr<OpOverload> made = Impl::New(
        Dialect::kHigherOrder, {std::string(kHigherOrderNamespace), std::string(row.name), ""});
    made->argument_names_ = row.arguments;
    const OpOverload* op = impl->AddKnown(std::move(made));
    if (row.name == kCallDelegate) impl->call_delegate = op;
  }
  std::vector<std::string> wrong;
  std::vector<std::string> repeated;
  for (absl::Span<const OpDef> table : tables) {
    for (const OpDef& def : table) {
      const absl::StatusOr<const OpOverload*> added = impl->AddRow(def);
      if (added.ok()) continue;
      (absl::IsAlreadyExists(added.status()) ? repeated : wrong)
          .emplace_back(added.status().message());
    }
  }
  if (!wrong.empty()) return absl::InvalidArgumentError(absl::StrJoin(wrong, "\n"));
  if (!repeated.empty()) {
    return absl::AlreadyExistsError(
        absl::StrCat("operators declared twice: ", absl::StrJoin(repeated, ", ")));
  }
  return std::unique_ptr<OpRegistry>(new OpRegistry(std::move(impl)));
}

const OpOverload* OpRegistry::Find(std::string_view name) const {
  const auto it = impl_->known_by_name.find(SplitName(name).Full());
  return it == impl_->known_by_name.end() ? nullptr : it->second;
}

namespace {

constexpr std::string_view DialectPrefix(Dialect dialect) {
  return dialect == Dialect::kEdge      ? kEdgePrefix
         : dialect == Dialect::kBackend ? kBackendPrefix
                                        : std::string_view();
}

}  // namespace

absl::StatusOr<const OpOverload*> OpRegistry::Lookup(std::string_view name) const {
  const NameParts parts = SplitName(name);
  return LookupIn(Dialect::kAten, parts.ns, parts.op, parts.overload);
}

absl::StatusOr<const OpOverload*> OpRegistry::LookupIn(Dialect dialect, std::string_view ns,
                                                       std::string_view op,
                                                       std::string_view overload) const {
  const std::string name =
      NameParts{std::string(ns), std::string(op), std::string(overload)}.Full();
  const auto it = impl_->known_by_name.find(name);
  if (it == impl_->known_by_name.end()) {
    ABSL_RETURN_IF_ERROR(LookupPacket(dialect, ns, op).status());
    std::vector<std::string> overloads;
    for (const OpOverload* other : Overloads(ns, op)) overloads.emplace_back(other->overload());
    return absl::NotFoundError(absl::StrCat("operator '", DialectPrefix(dialect), name, "': ", ns,
                                            ".", op, " has no overload '", overload, "'; it has ",
                                            absl::StrJoin(overloads, ", ")));
  }
  if (dialect == Dialect::kBackend) return ToBackend(it->second);
  return dialect == Dialect::kEdge ? ToEdge(it->second) : it->second;
}

absl::StatusOr<const OpPacket*> OpRegistry::LookupPacket(Dialect dialect, std::string_view ns,
                                                         std::string_view op) const {
  const std::string name = absl::StrCat(ns, ".", op);
  const std::string text_name = absl::StrCat(DialectPrefix(dialect), name);
  const bool backend_namespace =
      std::find(impl_->backend_namespaces.begin(), impl_->backend_namespaces.end(), ns) !=
      impl_->backend_namespaces.end();
  if (dialect == Dialect::kBackend && !backend_namespace) {
    return absl::InvalidArgumentError(absl::StrCat("operator '", text_name, "': the ", ns,
                                                   " op library does not belong to backend ops: ",
                                                   absl::StrJoin(impl_->backend_namespaces, ", ")));
  }
  if (!impl_->known_namespaces.contains(ns) && !backend_namespace) {
    return absl::NotFoundError(
        absl::StrCat("operator '", text_name, "': unknown namespace '", ns, "'"));
  }
  if (Overloads(ns, op).empty()) {
    return absl::NotFoundError(absl::StrCat("operator '", text_name, "': namespace '", ns,
                                            "' has no operator '", op, "'"));
  }
  absl::MutexLock lock(&impl_->mutex);
  std::unique_ptr<const OpPacket>& packet = impl_->packets[text_name];
  if (packet == nullptr) {
    std::unique_ptr<OpPacket> made(new OpPacket);
    made->dialect_ = dialect;
    made->ns_ = std::string(ns);
    made->op_ = std::string(op);
    made->name_ = name;
    made->text_name_ = text_name;
    packet = std::move(made);
  }
  return packet.get();
}

std::vector<const OpOverload*> OpRegistry::Overloads(std::string_view ns,
                                                     std::string_view op) const {
  std::vector<const OpOverload*> overloads;
  for (const auto& known : impl_->known) {
    if (known->ns() == ns && known->op() == op) overloads.push_back(known.get());
  }
  std::sort(overloads.begin(), overloads.end(),
            [](const OpOverload* a, const OpOverload* b) { return a->name() < b->name(); });
  return overloads;
}

absl::StatusOr<const OpOverload*> OpRegistry::Define(const OpDef& def) {
  if ((def.traits & kComposite) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "schema '", def.schema, "': a composite operator gets its kernel by SetCompositeKernel"));
  }
  absl::StatusOr<const OpOverload*> added = impl_->AddRow(impl_->Own(def).def);
  if (added.ok()) return added;
  impl_->owned_defs.pop_back();
  if (!absl::IsAlreadyExists(added.status())) return added;
  return absl::AlreadyExistsError(
      absl::StrCat("there is an operator of the name ", FromAbsl(added.status().message())));
}

absl::Status OpRegistry::SetMetaKernel(std::string_view name, MetaFn meta) {
  ABSL_ASSIGN_OR_RETURN(const OpOverload* op, Lookup(name));
  if (meta == nullptr || op->def() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "operator '", name, "': expected a meta kernel for an operator with a schema"));
  }
  if (op->has_meta_kernel()) {
    return absl::AlreadyExistsError(absl::StrCat("operator '", name, "' has a meta kernel"));
  }
  impl_->MutableRow(op).meta = meta;
  return absl::OkStatus();
}

absl::Status OpRegistry::SetCompositeKernel(std::string_view name, CompositeKind kind,
                                            CompositeFn kernel) {
  ABSL_ASSIGN_OR_RETURN(const OpOverload* op, Lookup(name));
  if (kernel == nullptr || op->def() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "operator '", name, "': expected a composite kernel for an operator with a schema"));
  }
  if (op->schema()->IsMutable() || op->schema()->IsView()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "operator '", name, "': expected new tensors as results of a composite kernel, got ",
        op->schema()->ToString()));
  }
  if (op->has_composite_explicit_kernel() || op->has_composite_implicit_kernel()) {
    return absl::AlreadyExistsError(absl::StrCat("operator '", name, "' has a composite kernel"));
  }
  impl_->composite_kernels.push_back(std::make_unique<const CompositeFn>(std::move(kernel)));
  OpOverload& changed = impl_->Mutable(op);
  changed.composite_kind_ = kind;
  changed.composite_kernel_ = impl_->composite_kernels.back().get();
  return absl::OkStatus();
}

void OpRegistry::AllowBackendNamespace(std::string_view ns) {
  if (std::find(impl_->backend_namespaces.begin(), impl_->backend_namespaces.end(), ns) ==
      impl_->backend_namespaces.end()) {
    impl_->backend_namespaces.emplace_back(ns);
  }
}

const OpOverload* OpRegistry::FindOrOpaque(std::string_view name) const {
  if (const OpOverload* found = Find(name)) return found;
  NameParts parts = SplitName(name);
  absl::MutexLock lock(&impl_->mutex);
  const auto it = impl_->opaque_by_name.find(parts.Full());
  if (it != impl_->opaque_by_name.end()) return it->second;
  impl_->lazy.push_back(Impl::New(Dialect::kAten, std::move(parts)));
  const OpOverload* made = impl_->lazy.back().get();
  impl_->opaque_by_name.emplace(made->name(), made);
  return made;
}

const OpOverload* OpRegistry::ToEdge(const OpOverload* aten) const {
  if (aten->dialect() != Dialect::kAten) return aten;
  absl::MutexLock lock(&impl_->mutex);
  return impl_->Wrap(aten, Dialect::kEdge, kEdgePrefix, impl_->edge_of);
}

absl::StatusOr<const OpOverload*> OpRegistry::ToBackend(const OpOverload* overload) const {
  const OpOverload* aten = overload->aten();
  if (aten->dialect() != Dialect::kAten) {
    return absl::InvalidArgumentError(
        absl::StrCat("operator '", aten->name(), "' has no backend overload"));
  }
  {
    absl::MutexLock lock(&impl_->mutex);
    const auto it = impl_->backend_of.find(aten);
    if (it != impl_->backend_of.end()) return it->second;
  }
  // Also rejects opaque operators.
  ABSL_RETURN_IF_ERROR(LookupPacket(Dialect::kBackend, aten->ns(), aten->op()).status());
  if (!aten->has_meta_kernel() && !aten->has_composite_explicit_kernel() &&
      !aten->has_composite_implicit_kernel()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "operator '", aten->name(),
        "': a backend op must contain either a composite explicit, a meta or a composite implicit ",
        "kernel, this one has none"));
  }
  absl::MutexLock lock(&impl_->mutex);
  return impl_->Wrap(aten, Dialect::kBackend, kBackendPrefix, impl_->backend_of);
}

const OpOverload* OpRegistry::FindText(std::string_view text_name) const {
  const auto known_or_opaque = [this](std::string_view name) -> const OpOverload* {
    if (const OpOverload* found = Find(name)) return found;
    absl::MutexLock lock(&impl_->mutex);
    const auto it = impl_->opaque_by_name.find(SplitName(name).Full());
    return it == impl_->opaque_by_name.end() ? nullptr : it->second;
  };
  if (text_name.substr(0, kEdgePrefix.size()) == kEdgePrefix) {
    const std::string_view name = text_name.substr(kEdgePrefix.size());
    const OpOverload* aten = known_or_opaque(name);
    const NameParts parts = SplitName(name);
    if (aten == nullptr && !parts.ns.empty() && !impl_->known_namespaces.contains(parts.ns)) {
      aten = FindOrOpaque(name);
    }
    return aten == nullptr || aten->dialect() != Dialect::kAten ? nullptr : ToEdge(aten);
  }
  if (text_name.substr(0, kBackendPrefix.size()) == kBackendPrefix) {
    const OpOverload* aten = Find(text_name.substr(kBackendPrefix.size()));
    if (aten == nullptr) return nullptr;
    const absl::StatusOr<const OpOverload*> backend = ToBackend(aten);
    return backend.ok() ? *backend : nullptr;
  }
  return known_or_opaque(text_name);
}

const OpOverload* OpRegistry::CallDelegate() const { return impl_->call_delegate; }

std::vector<const OpOverload*> OpRegistry::Known() const {
  std::vector<const OpOverload*> result;
  for (const auto& op : impl_->known) {
    if (op->dialect() != Dialect::kHigherOrder) result.push_back(op.get());
  }
  std::sort(result.begin(), result.end(),
            [](const OpOverload* a, const OpOverload* b) { return a->name() < b->name(); });
  return result;
}

}  // namespace belay::exir
