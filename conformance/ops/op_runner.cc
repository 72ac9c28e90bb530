#include "conformance/ops/op_runner.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "conformance/ops/case_memory.h"
#include "conformance/ops/op_compare.h"
#include "conformance/ops/symbolic_check.h"
#include "exir/interpreter/run_kernel.h"
#include "exir/op_definition/schema.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::FunctionSchema;
using exir::MetaContext;
using exir::MetaList;
using exir::MetaValue;
using exir::OpDef;
using exir::SchemaArgument;
using exir::SchemaDefault;
using exir::SymExpr;
using exir::TensorMeta;

std::string StatusText(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", std::string(status.message()));
}

// Returns whether the code rejects wrong arguments. kUnimplemented is not a rejection.
bool IsRejection(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

TensorMeta MetaOf(const CaseTensor& tensor) {
  TensorMeta meta;
  meta.dtype = tensor.dtype;
  for (int64_t s : tensor.sizes) meta.sizes.emplace_back(s);
  for (int64_t s : tensor.strides) meta.strides.emplace_back(s);
  meta.storage_offset = tensor.storage_offset;
  return meta;
}

CaseValue FromDefault(const SchemaDefault& value) {
  return std::visit([](const auto& v) { return CaseValue(v); }, value);
}

// PyTorch's conversions at the call: a scalar for a list of fixed length is repeated; an int for a
// float is converted.
CaseValue Coerce(CaseValue value, const exir::SchemaType& type) {
  if (type.base == exir::BaseType::kFloat) {
    if (const int64_t* i = std::get_if<int64_t>(&value)) value = static_cast<double>(*i);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      value = std::vector<double>(list->begin(), list->end());
    }
  }
  if (type.list && type.list_size.has_value()) {
    const size_t n = static_cast<size_t>(*type.list_size);
    if (const int64_t* i = std::get_if<int64_t>(&value)) return std::vector<int64_t>(n, *i);
    if (const double* d = std::get_if<double>(&value)) return std::vector<double>(n, *d);
    if (const bool* b = std::get_if<bool>(&value)) return std::vector<bool>(n, *b);
  }
  return value;
}

// Returns one value per schema argument. kInvalidArgument: unknown, repeated or missing arguments.
absl::StatusOr<std::vector<CaseValue>> BindArguments(const FunctionSchema& schema,
                                                     const OpCase& op_case) {
  std::vector<std::optional<CaseValue>> bound(schema.arguments.size());
  if (op_case.args.size() > bound.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(op_case.args.size(), " arguments, expected at most ", bound.size()));
  }
  for (size_t i = 0; i < op_case.args.size(); ++i) bound[i] = op_case.args[i];
  for (const auto& [name, value] : op_case.kwargs) {
    const std::optional<int> i = schema.ArgumentIndex(name);
    if (!i.has_value())
      return absl::InvalidArgumentError(absl::StrCat("unknown argument '", name, "'"));
    if (bound[*i].has_value())
      return absl::InvalidArgumentError(absl::StrCat("argument '", name, "' is repeated"));
    bound[*i] = value;
  }
  std::vector<CaseValue> values;
  for (size_t i = 0; i < bound.size(); ++i) {
    const SchemaArgument& argument = schema.arguments[i];
    if (!bound[i].has_value()) {
      if (!argument.default_value.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("argument '", argument.name, "' is missing"));
      }
      bound[i] = FromDefault(*argument.default_value);
    }
    values.push_back(Coerce(*std::move(bound[i]), argument.type));
  }
  return values;
}

// as_strided counts offsets from the beginning of its input's storage, even if the input is a view.
// In Belay, a tensor begins with its first element, so the input becomes the whole storage.
void ExtendToStorage(const FunctionSchema& schema, std::vector<CaseValue>& values) {
  if (schema.op != "as_strided" && schema.op != "as_strided_copy") return;
  CaseTensor* self = std::get_if<CaseTensor>(&values[0]);
  if (self == nullptr || self->storage_offset == 0 || !self->data.has_value()) return;
  if (std::holds_alternative<None>(values[3])) values[3] = self->storage_offset;
  self->sizes = {static_cast<int64_t>(self->data->size() / DTypeSize(self->dtype))};
  self->strides = {1};
  self->storage_offset = 0;
}

// One argument, for the kernel and for the meta kernel.
struct Argument {
  EValue* slot = nullptr;
  MetaValue meta;
};

class ArgumentMaker {
 public:
  ArgumentMaker(CaseMemory& memory, bool writable) : memory_(memory), writable_(writable) {}

  absl::StatusOr<Argument> operator()(None) { return Make(None{}, None{}); }
  absl::StatusOr<Argument> operator()(CaseAny) {
    return absl::InvalidArgumentError("an argument that is not specified");
  }
  absl::StatusOr<Argument> operator()(const CaseTensor& tensor) {
    ABSL_ASSIGN_OR_RETURN(EValue * slot, memory_.NewInput(tensor, writable_));
    return Argument{slot, MetaOf(tensor)};
  }
  absl::StatusOr<Argument> operator()(int64_t v) { return Make(v, SymExpr(v)); }
  absl::StatusOr<Argument> operator()(double v) { return Make(v, v); }
  absl::StatusOr<Argument> operator()(bool v) { return Make(v, v); }
  absl::StatusOr<Argument> operator()(std::complex<double> v) { return Make(v, v); }
  absl::StatusOr<Argument> operator()(const std::string& v) {
    return Make(memory_.NewString(v), v);
  }
  absl::StatusOr<Argument> operator()(const std::vector<int64_t>& v) { return MakeList(v); }
  absl::StatusOr<Argument> operator()(const std::vector<double>& v) { return MakeList(v); }
  absl::StatusOr<Argument> operator()(const std::vector<bool>& v) { return MakeList(v); }
  absl::StatusOr<Argument> operator()(const std::vector<std::optional<CaseTensor>>& v) {
    return MakeList(v);
  }
  absl::StatusOr<Argument> operator()(const std::optional<CaseTensor>& v) {
    return v.has_value() ? (*this)(*v) : (*this)(None{});
  }
  absl::StatusOr<Argument> operator()(DType v) { return Make(v, v); }
  absl::StatusOr<Argument> operator()(MemoryFormat v) { return Make(v, v); }
  // Kernels support one layout and one device; these arguments are None for them.
  absl::StatusOr<Argument> operator()(CaseLayout) { return Make(None{}, exir::Layout::kStrided); }
  absl::StatusOr<Argument> operator()(CaseDevice) { return Make(None{}, exir::Device{}); }

 private:
  template <class V, class M>
  absl::StatusOr<Argument> Make(V value, M meta) {
    return Argument{memory_.NewValue(EValue(value)), MetaValue(std::move(meta))};
  }
  template <class T>
  absl::StatusOr<Argument> MakeList(const std::vector<T>& items) {
    std::vector<EValue*> slots;
    MetaList metas;
    for (size_t i = 0; i < items.size(); ++i) {
      const T item = items[i];  // vector<bool> has no elements to refer to
      ABSL_ASSIGN_OR_RETURN(Argument argument, (*this)(item));
      slots.push_back(argument.slot);
      metas.push_back(std::move(argument.meta));
    }
    return Argument{memory_.NewList(std::move(slots)), MetaValue(std::move(metas))};
  }

  CaseMemory& memory_;
  bool writable_;
};

// Returns the index of the argument that the return aliases: the argument written under the same
// alias. -1 if the return is a new value.
int WrittenArgument(const FunctionSchema& schema, const exir::SchemaReturn& ret) {
  if (!ret.alias.has_value() || !ret.alias->write) return -1;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const auto& alias = schema.arguments[i].alias;
    if (alias.has_value() && alias->write && alias->set == ret.alias->set)
      return static_cast<int>(i);
  }
  return -1;
}

std::string MetaText(const TensorMeta& meta) {
  std::string text = absl::StrCat(DTypeShortName(meta.dtype), "[");
  for (int d = 0; d < meta.rank(); ++d)
    absl::StrAppend(&text, d == 0 ? "" : ",", meta.sizes[d].ToString());
  return text + "]";
}

// Returns "" if the inferred tensor can be the expected one.
Difference CompareMeta(const CaseTensor& want, const TensorMeta& got) {
  bool same = want.dtype == got.dtype && want.sizes.size() == got.rank();
  for (int d = 0; same && d < got.rank(); ++d) {
    const std::optional<int64_t> size = got.sizes[d].AsInt();
    same = !size.has_value() || *size == want.sizes[d];
  }
  return same ? "" : absl::StrCat("expected ", MetaText(MetaOf(want)), ", got ", MetaText(got));
}

// Returns whether the operator asks for a layout, which tensors of the runtime cannot answer. The
// edge conversion replaces such calls by the result of their meta kernel.
bool IsCompileTimeQuery(const exir::OpOverload& op, const KernelRegistry& kernels) {
  return op.has_trait(exir::kSymbolic) && op.has_meta_kernel() && !kernels.Contains(op.name());
}

// State of one run. Each check returns a CaseResult on failure.
class CaseRun {
 public:
  CaseRun(const exir::OpOverload& op, const OpCase& op_case)
      : op_(op), schema_(*op.schema()), case_(op_case) {}

  CaseResult Run(const KernelRegistry& kernels, KernelEngine engine) {
    absl::Status status = MakeArguments();
    if (!status.ok()) return Fail("case", StatusText(status));
    status = op_.def()->meta(*context_);
    if (!status.ok()) return Rejected("meta", status);
    if (!case_.error.has_value()) {
      if (CaseResult result = CheckMeta(); result.outcome != CaseOutcome::kPassed) return result;
    }
    if (!case_.error.has_value()) {
      const Difference difference = CheckSymbolicSizes(op_, metas_, context_->outputs());
      if (!difference.empty()) return Fail("symbolic", difference);
    }
    status = MakeOutputs();
    if (!status.ok()) return Rejected("meta", status);
    if (IsCompileTimeQuery(op_, kernels)) {
      if (case_.error.has_value()) return Fail("error", "expected a rejection, got a result");
      for (size_t i = 0; i < output_slots_.size(); ++i) {
        const exir::SymInt* number = context_->outputs()[i].get_if<exir::SymInt>();
        if (number == nullptr || !number->AsInt().has_value()) {
          return Fail("meta", absl::StrCat("result ", i, " is not a scalar"));
        }
        *output_slots_[i] = EValue(*number->AsInt());
      }
      return CompareResults();
    }

    const KernelContext plan(argument_slots_, output_slots_, &memory_, {});
    const Kernel* kernel = exir::ChooseKernel(kernels, op_.name(), engine, plan);
    if (kernel == nullptr) {
      // Rejection of a wrong call in Accepts() counts as an error.
      if (case_.error.has_value()) return {};
      return {CaseOutcome::kSkipped, "",
              absl::StrCat("no ", KernelEngineName(engine), " kernel accepts the call")};
    }
    status = exir::RunKernel(*kernel, argument_slots_, output_slots_, &memory_);
    if (const absl::Status untouched = memory_.CheckUntouched(); !untouched.ok()) {
      return Fail("memory", std::string(untouched.message()));
    }
    if (!status.ok()) return Rejected("kernel", status);
    if (case_.error.has_value()) {
      return Fail("error", absl::StrCat("expected a rejection (", case_.error->error_class, ": ",
                                        FirstLine(case_.error->torch_message), "), got a result"));
    }
    return CompareResults();
  }

 private:
  static std::string FirstLine(const std::string& text) {
    return text.substr(0, std::min(text.find('\n'), size_t{120}));
  }

  CaseResult Fail(std::string check, std::string detail) const {
    return {CaseOutcome::kFailed, std::move(check), std::move(detail)};
  }

  CaseResult Rejected(std::string stage, const absl::Status& status) const {
    if (!case_.error.has_value()) return Fail(std::move(stage), StatusText(status));
    if (IsRejection(status)) return {};
    return Fail("error", absl::StrCat("expected a rejection (", case_.error->error_class, "), got ",
                                      StatusText(status)));
  }

  absl::Status MakeArguments() {
    ABSL_ASSIGN_OR_RETURN(std::vector<CaseValue> values, BindArguments(schema_, case_));
    ExtendToStorage(schema_, values);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto& alias = schema_.arguments[i].alias;
      absl::StatusOr<Argument> argument =
          std::visit(ArgumentMaker(memory_, alias.has_value() && alias->write), values[i]);
      if (!argument.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("argument '", schema_.arguments[i].name,
                         "': ", std::string(argument.status().message())));
      }
      argument_slots_.push_back(argument->slot);
      metas_.push_back(std::move(argument->meta));
    }
    context_.emplace(schema_, metas_, &symbols_);
    return absl::OkStatus();
  }

  CaseResult CheckMeta() const {
    const std::vector<CaseValue>& expect = *case_.expect;
    if (expect.size() != schema_.returns.size()) {
      return Fail("case",
                  absl::StrCat(expect.size(), " results, the schema has ", schema_.returns.size()));
    }
    for (size_t i = 0; i < expect.size(); ++i) {
      const Difference difference = CheckMetaValue(expect[i], context_->outputs()[i]);
      if (!difference.empty()) return Fail("meta", absl::StrCat("result ", i, ": ", difference));
    }
    return {};
  }

  static Difference CheckMetaValue(const CaseValue& want, const MetaValue& got) {
    if (std::holds_alternative<CaseAny>(want)) return "";
    if (const CaseTensor* tensor = std::get_if<CaseTensor>(&want)) {
      const TensorMeta* meta = got.get_if<TensorMeta>();
      return meta == nullptr ? "expected a tensor, got something else"
                             : CompareMeta(*tensor, *meta);
    }
    if (const auto* tensors = std::get_if<std::vector<std::optional<CaseTensor>>>(&want)) {
      const MetaList* list = got.get_if<MetaList>();
      if (list == nullptr || list->size() != tensors->size()) {
        return absl::StrCat("expected ", tensors->size(), " tensors, got ",
                            list == nullptr ? "something else" : absl::StrCat(list->size()));
      }
      for (size_t k = 0; k < list->size(); ++k) {
        const Difference difference = CheckMetaValue(CaseValue((*tensors)[k].value()), (*list)[k]);
        if (!difference.empty()) return absl::StrCat("element ", k, ": ", difference);
      }
      return "";
    }
    if (std::holds_alternative<None>(want))
      return got.is_none() ? "" : "expected none, got a result";
    if (got.get_if<TensorMeta>() != nullptr || got.is_none())
      return "expected a scalar, got something else";
    // A scalar known to shape inference must be equal.
    const SymExpr* e = got.get_if<SymExpr>();
    const int64_t* i = std::get_if<int64_t>(&want);
    if (e != nullptr && i != nullptr && e->AsInt().has_value() && *e->AsInt() != *i) {
      return absl::StrCat("expected ", *i, ", got ", e->ToString());
    }
    const bool* b = std::get_if<bool>(&want);
    const bool* known = got.get_if<bool>();
    if (b != nullptr && known != nullptr && *b != *known)
      return absl::StrCat("expected ", *b, ", got ", *known);
    return "";
  }

  absl::Status MakeOutputs() {
    for (size_t i = 0; i < schema_.returns.size(); ++i) {
      const MetaValue& meta = context_->outputs()[i];
      const int written = WrittenArgument(schema_, schema_.returns[i]);
      if (written >= 0) {
        output_slots_.push_back(argument_slots_[written]);
        if (const TensorMeta* tensor = meta.get_if<TensorMeta>()) {
          memory_.MakeResizable(argument_slots_[written], *tensor, symbols_.ranges());
        }
      } else if (const TensorMeta* tensor = meta.get_if<TensorMeta>()) {
        ABSL_ASSIGN_OR_RETURN(EValue * slot, memory_.NewOutput(*tensor, symbols_.ranges()));
        output_slots_.push_back(slot);
      } else if (const MetaList* list = meta.get_if<MetaList>()) {
        std::vector<EValue*> elements;
        for (const MetaValue& element : *list) {
          const TensorMeta* item = element.get_if<TensorMeta>();
          if (item == nullptr)
            return absl::InternalError("the meta kernel's list has something else than tensors");
          ABSL_ASSIGN_OR_RETURN(EValue * slot, memory_.NewOutput(*item, symbols_.ranges()));
          elements.push_back(slot);
        }
        output_slots_.push_back(memory_.NewList(std::move(elements)));
      } else {
        output_slots_.push_back(memory_.NewValue(EValue()));
      }
    }
    return absl::OkStatus();
  }

  // `layout` receives the first difference in strides. It is reported only if nothing else differs.
  Difference CompareValue(const CaseValue& want, const EValue& got, Difference& layout) const {
    if (std::holds_alternative<CaseAny>(want)) return "";
    if (const CaseTensor* tensor = std::get_if<CaseTensor>(&want)) {
      const TensorView* view = got.get_if<TensorView>();
      if (view == nullptr) return absl::StrCat("expected a tensor, got ", got.KindName());
      if (view->data == nullptr && view->numel() != 0)
        return "the kernel gave the result no memory";
      const Difference difference = CompareTensor(*tensor, *view, case_);
      if (difference.empty() && layout.empty()) layout = CompareLayout(*tensor, *view);
      return difference;
    }
    if (const auto* tensors = std::get_if<std::vector<std::optional<CaseTensor>>>(&want)) {
      const ListView* list = got.get_if<ListView>();
      if (list == nullptr || list->elements.size() != tensors->size()) {
        return absl::StrCat("expected ", tensors->size(), " tensors, got ", got.KindName());
      }
      for (size_t k = 0; k < tensors->size(); ++k) {
        const Difference difference =
            CompareValue(CaseValue((*tensors)[k].value()), *list->elements[k], layout);
        if (!difference.empty()) return absl::StrCat("element ", k, ": ", difference);
      }
      return "";
    }
    return CompareScalar(want, got, case_);
  }

  CaseResult CompareResults() const {
    Difference layout;
    for (size_t i = 0; i < case_.expect->size(); ++i) {
      Difference result_layout;
      const Difference difference =
          CompareValue((*case_.expect)[i], *output_slots_[i], result_layout);
      if (!difference.empty()) return Fail("values", absl::StrCat("result ", i, ": ", difference));
      if (layout.empty() && !result_layout.empty())
        layout = absl::StrCat("result ", i, ": ", result_layout);
    }
    for (const auto& [name, want] : case_.mutated) {
      const std::optional<int> i = schema_.ArgumentIndex(name);
      if (!i.has_value())
        return Fail("case", absl::StrCat("mutated: unknown argument '", name, "'"));
      Difference ignored;
      const Difference difference = CompareValue(want, *argument_slots_[*i], ignored);
      if (!difference.empty())
        return Fail("mutated", absl::StrCat("argument '", name, "': ", difference));
    }
    return layout.empty() ? CaseResult{} : Fail("layout", layout);
  }

  const exir::OpOverload& op_;
  const FunctionSchema& schema_;
  const OpCase& case_;
  CaseSymbols symbols_;
  CaseMemory memory_;
  std::vector<MetaValue> metas_;
  std::optional<MetaContext> context_;
  std::vector<EValue*> argument_slots_;
  std::vector<EValue*> output_slots_;
};

}  // namespace

std::string OpRunner::SkipReason(const OpCaseFile& file) const {
  const exir::OpOverload* op = ops_.Find(file.op);
  if (op == nullptr || op->schema() == nullptr) return "the operator is not declared";
  if (op->def()->meta == nullptr) return "the operator has no meta kernel";
  if (engine_ == KernelEngine::kReference && IsCompileTimeQuery(*op, kernels_)) return "";
  const std::vector<const Kernel*> kernels = kernels_.Candidates(op->name());
  const bool any = std::any_of(kernels.begin(), kernels.end(),
                               [&](const Kernel* k) { return k->engine == engine_; });
  return any ? "" : absl::StrCat("no ", KernelEngineName(engine_), " kernel");
}

std::vector<std::string> OpRunner::CheckDeclaration(const OpCaseFile& file) const {
  std::vector<std::string> differences;
  const exir::OpOverload* op = ops_.Find(file.op);
  const absl::StatusOr<FunctionSchema> schema = FunctionSchema::Parse(file.schema);
  if (!schema.ok()) return {std::string(schema.status().message())};
  if (schema->ToString() != op->schema()->ToString()) {
    differences.push_back(
        absl::StrCat("expected schema ", schema->ToString(), ", got ", op->schema()->ToString()));
  }
  for (const auto& [tag, trait] :
       {std::pair{"core", exir::kCore}, std::pair{"view_copy", exir::kViewCopy}}) {
    const auto it = file.tags.find(tag);
    if (it != file.tags.end() && it->second != op->has_trait(trait)) {
      differences.push_back(absl::StrCat("expected tag ", tag, it->second ? " set" : " not set",
                                         ", got the opposite"));
    }
  }
  return differences;
}

CaseResult OpRunner::Run(const OpCaseFile& file, const OpCase& op_case) const {
  return CaseRun(*ops_.Find(file.op), op_case).Run(kernels_, engine_);
}

}  // namespace belay::conformance
