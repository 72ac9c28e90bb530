#include "exir/op/op_registry.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "exir/op/dtype_rule.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr std::string_view kHigherOrderNamespace = "higher_order";
constexpr std::string_view kCallDelegate = "executorch_call_delegate";
constexpr std::string_view kHigherOrderOps[] = {
    "associative_scan",
    "auto_functionalized",
    "auto_functionalized_v2",
    "cond",
    kCallDelegate,
    "map_impl",
    "scan",
    "while_loop",
    "with_effects",
    "wrap_with_autocast",
    "wrap_with_set_grad_enabled",
};
constexpr std::string_view kScalarNamespaces[] = {"_operator", "math", "torch"};
// lowering.md §5.2.
constexpr std::string_view kBackendNamespaces[] = {"DO_NOT_USE_TEST_ONLY", "executorch_prim",
                                                   "quantized_decomposed"};
constexpr std::string_view kEdgePrefix = "edge.";
constexpr std::string_view kBackendPrefix = "backend.";

bool IsOneOf(std::string_view name, absl::Span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Functions that have no overloads.
bool IsPlainNamespace(std::string_view ns) {
  return ns == kHigherOrderNamespace || IsOneOf(ns, kScalarNamespaces);
}

struct NameParts {
  std::string ns, op, overload;
  std::string Full() const {
    return absl::StrCat(ns, ns.empty() ? "" : ".", op, overload.empty() ? "" : ".", overload);
  }
};

// "aten.add.Tensor", "aten.relu" (overload "default"), "_operator.mul". Text without a dot is all
// operator.
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

struct OpRegistry::Impl {
  std::vector<std::unique_ptr<const FunctionSchema>> schemas;
  std::vector<std::unique_ptr<OpOverload>> known;
  absl::flat_hash_map<std::string_view, const OpOverload*> known_by_name;
  absl::flat_hash_set<std::string_view> known_namespaces;
  const OpOverload* call_delegate = nullptr;

  absl::Mutex mutex;
  std::vector<std::unique_ptr<OpOverload>> lazy ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<std::string_view, const OpOverload*> opaque_by_name ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<const OpOverload*, const OpOverload*> edge_of ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<const OpOverload*, const OpOverload*> backend_of ABSL_GUARDED_BY(mutex);

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

  // The wrapper of `aten` in `dialect`, made when there is none.
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
  for (std::string_view name : kHigherOrderOps) {
    const OpOverload* op = impl->AddKnown(Impl::New(
        Dialect::kHigherOrder, {std::string(kHigherOrderNamespace), std::string(name), ""}));
    if (name == kCallDelegate) impl->call_delegate = op;
  }
  std::vector<std::string> wrong;
  std::vector<std::string> repeated;
  for (absl::Span<const OpDef> table : tables) {
    for (const OpDef& def : table) {
      absl::StatusOr<FunctionSchema> schema = FunctionSchema::Parse(def.schema);
      if (!schema.ok()) {
        wrong.emplace_back(schema.status().message());
        continue;
      }
      const bool scalar = IsOneOf(schema->ns, kScalarNamespaces);
      if (scalar && schema->overload != "default") {
        wrong.push_back(
            absl::StrCat("schema '", def.schema, "': a scalar function has no overloads"));
        continue;
      }
      if (const absl::Status rule = DTypeRule::Create(*schema, def.dtypes).status(); !rule.ok()) {
        wrong.emplace_back(rule.message());
        continue;
      }
      std::unique_ptr<OpOverload> overload =
          Impl::New(scalar ? Dialect::kScalar : Dialect::kAten,
                    {schema->ns, schema->op, scalar ? "" : schema->overload});
      if (impl->known_by_name.contains(overload->name())) {
        repeated.push_back(overload->name());
        continue;
      }
      impl->schemas.push_back(std::make_unique<const FunctionSchema>(*std::move(schema)));
      overload->schema_ = impl->schemas.back().get();
      overload->def_ = &def;
      impl->AddKnown(std::move(overload));
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

absl::StatusOr<const OpOverload*> OpRegistry::Lookup(std::string_view name) const {
  if (const OpOverload* found = Find(name)) return found;
  const NameParts parts = SplitName(name);
  if (!impl_->known_namespaces.contains(parts.ns)) {
    return absl::NotFoundError(
        absl::StrCat("operator '", name, "': there is no namespace '", parts.ns, "'"));
  }
  std::vector<std::string> overloads;
  for (const auto& op : impl_->known) {
    if (op->ns() == parts.ns && op->op() == parts.op) overloads.emplace_back(op->overload());
  }
  if (overloads.empty()) {
    return absl::NotFoundError(absl::StrCat("operator '", name, "': namespace '", parts.ns,
                                            "' has no operator '", parts.op, "'"));
  }
  std::sort(overloads.begin(), overloads.end());
  return absl::NotFoundError(absl::StrCat("operator '", name, "': ", parts.ns, ".", parts.op,
                                          " has no overload '", parts.overload, "'; it has ",
                                          absl::StrJoin(overloads, ", ")));
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
  if (aten->dialect() != Dialect::kAten || !IsOneOf(aten->ns(), kBackendNamespaces)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "operator '", aten->name(), "' can't be a backend operator: those are of the namespaces ",
        absl::StrJoin(
            std::vector<std::string>(std::begin(kBackendNamespaces), std::end(kBackendNamespaces)),
            ", ")));
  }
  if (aten->def() == nullptr || (aten->def()->meta == nullptr && !aten->has_trait(kComposite))) {
    return absl::FailedPreconditionError(absl::StrCat(
        "operator '", aten->name(),
        "' can't be a backend operator: it has neither a meta kernel nor a decomposition"));
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
