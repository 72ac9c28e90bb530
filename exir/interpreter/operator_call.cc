#include "exir/interpreter/operator_call.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "exir/interpreter/run_kernel.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// Bound used if the meta kernel does not know one: large enough for every kernel's scratch memory.
constexpr int64_t kUnknownBound = 4096;

class FreshSymbols : public SymbolSource {
 public:
  SymExpr Fresh(SymRange range) override {
    const std::string name = absl::StrCat("fresh", ranges_.size());
    ranges_[name] = range;
    return SymExpr::Symbol(name);
  }
  const SymRanges& ranges() const { return ranges_; }

 private:
  SymRanges ranges_;
};

// Allocates results when kernels resize them, and protects read-only values.
class ResultMemory : public OutputAllocator {
 public:
  ResultMemory(uint64_t max_bytes, BufferPool* pool) : max_bytes_(max_bytes), pool_(pool) {}

  void AddResult(OwnedValue* datum) {
    if (const TensorView* tensor = datum->slot()->get_if<TensorView>()) results_[tensor] = datum;
  }
  void AddArgument(const OwnedValue* datum) { arguments_[&datum->value()] = datum; }

  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    if (tensor.sizes.span() == sizes && (tensor.data != nullptr || tensor.numel() == 0)) {
      return absl::OkStatus();
    }
    const auto it = results_.find(&tensor);
    const std::optional<Sizes> wanted = Sizes::TryFrom(sizes);
    if (it == results_.end() || !wanted.has_value() || tensor.data != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("expected sizes ", FormatSizes(tensor.sizes),
                                                     ", the kernel gives ", FormatSizes(sizes)));
    }
    if (wanted->size() != tensor.rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected rank ", tensor.rank(), ", the kernel gives sizes ", FormatSizes(sizes)));
    }
    if (!NumElements(*wanted).has_value()) {
      return absl::InvalidArgumentError(absl::StrCat("no tensor has sizes ", FormatSizes(sizes)));
    }
    const DimOrder order =
        DimOrderOf(tensor.sizes, tensor.strides).value_or(ContiguousOrder(tensor.rank()));
    ABSL_ASSIGN_OR_RETURN(OwnedValue datum,
                          OwnedValue::Allocate(tensor.dtype, *wanted, DenseStrides(*wanted, order),
                                               max_bytes_, pool_));
    *it->second = std::move(datum);  // `datum` owns `tensor`
    return absl::OkStatus();
  }

  absl::Status CheckMutable(const EValue& argument) override {
    const auto it = arguments_.find(&argument);
    if (it != arguments_.end() && it->second->writable()) return absl::OkStatus();
    return absl::FailedPreconditionError("this value must not be written to");
  }

 private:
  uint64_t max_bytes_;
  BufferPool* pool_;
  absl::flat_hash_map<const TensorView*, OwnedValue*> results_;
  absl::flat_hash_map<const EValue*, const OwnedValue*> arguments_;
};

MetaValue MetaOfValue(const OwnedValue& datum) {
  const EValue& value = datum.value();
  if (datum.tensor() != nullptr) return datum.Meta();
  if (const auto* v = value.get_if<int64_t>()) return SymExpr(*v);
  if (const auto* v = value.get_if<double>()) return *v;
  if (const auto* v = value.get_if<bool>()) return *v;
  if (const auto* v = value.get_if<std::complex<double>>()) return *v;
  if (const auto* v = value.get_if<std::string_view>()) return std::string(*v);
  if (const auto* v = value.get_if<DType>()) return *v;
  if (const auto* v = value.get_if<MemoryFormat>()) return *v;
  return None{};
}

MetaValue MetaOfOperand(const Operand& operand) {
  if (operand.datum != nullptr) return MetaOfValue(*operand.datum);
  if (!operand.list.has_value()) return operand.literal;
  MetaList list;
  for (const Operand& element : *operand.list) list.push_back(MetaOfOperand(element));
  return list;
}

EValue LiteralValue(const MetaValue& literal) {
  return std::visit(
      [](const auto& v) -> EValue {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, SymExpr>) {
          if (const auto i = v.AsInt()) return EValue(*i);
          if (const auto b = v.AsBool()) return EValue(*b);
          if (const auto f = v.AsFloat()) return EValue(*f);
          return EValue();
        } else if constexpr (std::is_same_v<T, std::string>) {
          return EValue(std::string_view(v));
        } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                             std::is_same_v<T, std::complex<double>> || std::is_same_v<T, DType> ||
                             std::is_same_v<T, MemoryFormat>) {
          return EValue(v);
        } else {
          return EValue();  // none: kernels have a single layout and device
        }
      },
      literal.value);
}

// Returns the argument that shares its memory with return `i`; -1 for a new result.
int SharedArgument(const FunctionSchema& schema, size_t i, bool written) {
  const auto& alias = schema.returns[i].alias;
  if (!alias.has_value() || alias->write != written) return -1;
  for (size_t k = 0; k < schema.arguments.size(); ++k) {
    const auto& argument = schema.arguments[k].alias;
    if (argument.has_value() && argument->write == written && argument->set == alias->set) {
      return static_cast<int>(k);
    }
  }
  return -1;
}

class Call {
 public:
  Call(const OpOverload& op, absl::Span<Operand> arguments, const KernelRegistry& kernels,
       const CallOptions& options)
      : op_(op),
        schema_(*op.schema()),
        arguments_(arguments),
        kernels_(kernels),
        options_(options),
        memory_(options.max_tensor_bytes, options.pool) {}

  absl::StatusOr<std::vector<CallResult>> Run() {
    std::vector<MetaValue> metas;
    for (Operand& argument : arguments_) {
      metas.push_back(MetaOfOperand(argument));
      argument_slots_.push_back(Slot(argument));
    }
    MetaContext context(schema_, std::move(metas), &symbols_);
    ABSL_RETURN_IF_ERROR(op_.def()->meta(context));
    results_.resize(schema_.returns.size());
    bool all_views = !results_.empty();
    for (size_t i = 0; i < results_.size(); ++i) {
      ABSL_ASSIGN_OR_RETURN(const bool view, MakeResult(i, context.outputs()[i]));
      all_views = all_views && view;
    }
    if (!all_views) ABSL_RETURN_IF_ERROR(RunIt());
    ABSL_RETURN_IF_ERROR(ReplaceByViews(context));
    return std::move(results_);
  }

 private:
  EValue* Slot(Operand& operand) {
    if (operand.datum != nullptr) {
      memory_.AddArgument(operand.datum);
      return operand.datum->slot();
    }
    if (!operand.list.has_value()) return &literals_.emplace_back(LiteralValue(operand.literal));
    std::vector<EValue*> elements;
    for (Operand& element : *operand.list) elements.push_back(Slot(element));
    return ListSlot(std::move(elements));
  }

  EValue* ListSlot(std::vector<EValue*> elements) {
    lists_.push_back(std::move(elements));
    return &literals_.emplace_back(ListView{absl::MakeConstSpan(lists_.back())});
  }

  absl::StatusOr<OwnedValue> NewTensor(const TensorMeta& meta) const {
    if (meta.rank() > kMaxRank || meta.strides.size() != meta.sizes.size()) {
      return absl::InternalError(absl::StrCat("the meta kernel of ", op_.name(), " gives ",
                                              meta.sizes.size(), " sizes and ", meta.strides.size(),
                                              " strides"));
    }
    const std::optional<Sizes> sizes = AsInts(meta.sizes);
    if (sizes.has_value()) {
      if (!NumElements(*sizes).has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("no tensor has sizes ", FormatSizes(*sizes)));
      }
      const std::optional<Sizes> strides = AsInts(meta.strides);
      if (strides.has_value() && IsDense(*sizes, *strides)) {
        return OwnedValue::Allocate(meta.dtype, *sizes, *strides, options_.max_tensor_bytes,
                                    options_.pool);
      }
      const std::optional<DimOrder> order =
          strides.has_value() ? DimOrderOf(*sizes, *strides) : std::nullopt;
      return OwnedValue::Allocate(
          meta.dtype, *sizes, DenseStrides(*sizes, order.value_or(ContiguousOrder(sizes->size()))),
          options_.max_tensor_bytes, options_.pool);
    }
    Sizes bounds;
    for (const SymInt& size : meta.sizes) {
      const int64_t bound = size.Range(symbols_.ranges()).max;
      bounds.push_back(bound == SymRange::kUnboundedAbove ? kUnknownBound
                                                          : std::max<int64_t>(bound, 0));
    }
    if (!NumElements(bounds).has_value()) bounds = Sizes(meta.rank(), 1);
    return OwnedValue::Planned(meta.dtype, bounds, belay::ContiguousStrides(bounds));
  }

  // Returns the memory of the first argument if the operator's only result, described by `meta`, has
  // its bytes.
  std::optional<OwnedValue> SharedCopy(const MetaValue& meta) const {
    if (!options_.share_copies || results_.size() != 1 || op_.has_trait(kComposite)) {
      return std::nullopt;
    }
    const OwnedValue* datum = arguments_.empty() ? nullptr : arguments_[0].datum;
    const TensorView* from = datum == nullptr ? nullptr : datum->tensor();
    const TensorMeta* to = meta.get_if<TensorMeta>();
    if (from == nullptr || to == nullptr || from->dtype != to->dtype) return std::nullopt;
    const std::optional<Sizes> sizes = AsInts(to->sizes);
    const std::optional<Sizes> strides = AsInts(to->strides);
    if (!sizes.has_value() || !strides.has_value()) return std::nullopt;
    const bool keeps =
        op_.has_trait(kKeepsBytes) && *sizes == from->sizes && *strides == from->strides;
    const bool reshapes =
        op_.has_trait(kReshapesBytes) && IsContiguous(from->sizes, from->strides) &&
        *strides == belay::ContiguousStrides(*sizes) && NumElements(*sizes) == from->numel();
    if (!keeps && !reshapes) return std::nullopt;
    const std::optional<int64_t> offset = datum->Meta().storage_offset.AsInt();
    if (!offset.has_value()) return std::nullopt;
    absl::StatusOr<OwnedValue> shared = datum->View(to->dtype, *sizes, *strides, *offset);
    return shared.ok() ? std::optional(*std::move(shared)) : std::nullopt;
  }

  // Returns true if the result needs no kernel; never for composite operators.
  absl::StatusOr<bool> MakeResult(size_t i, const MetaValue& meta) {
    CallResult& result = results_[i];
    const int written = SharedArgument(schema_, i, true);
    if (written >= 0 && arguments_[written].datum != nullptr) {
      output_slots_.push_back(argument_slots_[written]);
      written_.emplace_back(i, written);
      return false;
    }
    if (options_.views && SharedArgument(schema_, i, false) == 0 &&
        arguments_[0].datum != nullptr && arguments_[0].datum->tensor() != nullptr) {
      views_.push_back(i);
      if (!op_.has_trait(kComposite)) return true;
    }
    if (std::optional<OwnedValue> shared = SharedCopy(meta)) {
      result.values.push_back(*std::move(shared));
      return true;
    }
    if (const TensorMeta* tensor = meta.get_if<TensorMeta>()) {
      ABSL_ASSIGN_OR_RETURN(OwnedValue datum, NewTensor(*tensor));
      result.values.push_back(std::move(datum));
    } else if (const MetaList* list = meta.get_if<MetaList>()) {
      result.is_list = true;
      for (const MetaValue& element : *list) {
        const TensorMeta* item = element.get_if<TensorMeta>();
        if (item == nullptr) {
          return absl::InternalError(absl::StrCat("the meta kernel of ", op_.name(),
                                                  " returns a list that contains non-tensors"));
        }
        ABSL_ASSIGN_OR_RETURN(OwnedValue datum, NewTensor(*item));
        result.values.push_back(std::move(datum));
      }
    } else {
      result.values.emplace_back();
    }
    std::vector<EValue*> slots;
    for (OwnedValue& datum : result.values) {
      memory_.AddResult(&datum);
      slots.push_back(datum.slot());
    }
    output_slots_.push_back(result.is_list ? ListSlot(std::move(slots)) : slots[0]);
    return false;
  }

  absl::Status RunIt() {
    const KernelContext plan(argument_slots_, output_slots_, &memory_, {}, options_.threads);
    const Kernel* kernel = ChooseKernel(kernels_, op_.name(), options_.engine, plan);
    if (kernel == nullptr) {
      std::string text;
      for (const EValue* slot : argument_slots_) {
        absl::StrAppend(&text, text.empty() ? "" : ", ", slot->KindName());
      }
      return absl::UnimplementedError(
          absl::StrCat("no kernel of ", op_.name(), " supports the call (", text, ")"));
    }
    ABSL_RETURN_IF_ERROR(RunKernel(*kernel, argument_slots_, output_slots_, &memory_,
                                   options_.threads, options_.pool));
    for (const auto& [result, argument] : written_) {
      results_[result].values.push_back(*arguments_[argument].datum);
    }
    return absl::OkStatus();
  }

  static bool SameElements(const TensorView& a, const TensorView& b) {
    if (a.dtype != b.dtype || !(a.sizes == b.sizes)) return false;
    const size_t element = DTypeSize(a.dtype);
    const auto* from = static_cast<const std::byte*>(a.data);
    const auto* to = static_cast<const std::byte*>(b.data);
    for (StridedIterator<2> it(a.sizes, {a.strides, b.strides}); !it.done(); it.Next()) {
      if (std::memcmp(from + it.offset(0) * static_cast<int64_t>(element),
                      to + it.offset(1) * static_cast<int64_t>(element), element) != 0) {
        return false;
      }
    }
    return true;
  }

  // Composite operators may return views or copies; the computed result decides which layout the
  // meta kernel inferred.
  absl::Status ReplaceByViews(const MetaContext& context) {
    for (size_t i : views_) {
      const OwnedValue& self = *arguments_[0].datum;
      MetaList metas;
      const MetaList* list = context.outputs()[i].get_if<MetaList>();
      if (list != nullptr) {
        metas = *list;
      } else {
        metas.push_back(context.outputs()[i]);
      }
      std::vector<OwnedValue> views;
      for (size_t k = 0; k < metas.size(); ++k) {
        const TensorMeta* meta = metas[k].get_if<TensorMeta>();
        const std::optional<Sizes> sizes = meta == nullptr ? std::nullopt : AsInts(meta->sizes);
        const std::optional<Sizes> strides = meta == nullptr ? std::nullopt : AsInts(meta->strides);
        const std::optional<int64_t> offset =
            meta == nullptr ? std::nullopt : meta->storage_offset.AsInt();
        if (!sizes.has_value() || !strides.has_value() || !offset.has_value()) {
          return absl::InternalError(
              absl::StrCat("the meta kernel of ", op_.name(), " gives no layout of its view"));
        }
        absl::StatusOr<OwnedValue> view = self.View(meta->dtype, *sizes, *strides, *offset);
        if (op_.has_trait(kComposite) &&
            (!view.ok() || !SameElements(*view->tensor(), *results_[i].values[k].tensor()))) {
          view = results_[i].values[k];
        }
        if (!view.ok()) return view.status();
        views.push_back(*std::move(view));
      }
      results_[i].is_list = list != nullptr;
      results_[i].values = std::move(views);
    }
    return absl::OkStatus();
  }

  const OpOverload& op_;
  const FunctionSchema& schema_;
  absl::Span<Operand> arguments_;
  const KernelRegistry& kernels_;
  const CallOptions& options_;
  FreshSymbols symbols_;
  ResultMemory memory_;
  std::deque<EValue> literals_;
  std::deque<std::vector<EValue*>> lists_;
  std::vector<EValue*> argument_slots_, output_slots_;
  std::vector<CallResult> results_;
  std::vector<std::pair<size_t, int>> written_;  // result → written argument that it aliases
  std::vector<size_t> views_;                    // results that may be views of argument 0
};

}  // namespace

absl::StatusOr<std::vector<CallResult>> CallOperator(const OpOverload& op,
                                                     absl::Span<Operand> arguments,
                                                     const KernelRegistry& kernels,
                                                     const CallOptions& options) {
  if (op.schema() == nullptr || op.def() == nullptr || op.def()->meta == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("operator ", op.name(), " has no schema or no meta kernel"));
  }
  if (arguments.size() != op.schema()->arguments.size()) {
    return absl::InvalidArgumentError(absl::StrCat(op.name(), " takes ",
                                                   op.schema()->arguments.size(),
                                                   " arguments, the call has ", arguments.size()));
  }
  return Call(op, arguments, kernels, options).Run();
}

}  // namespace belay::exir
