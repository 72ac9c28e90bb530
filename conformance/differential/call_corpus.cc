#include "conformance/differential/call_corpus.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "exir/ir/call_arguments.h"
#include "exir/op_definition/op_variants.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::Argument;
using exir::OpOverload;
using exir::ValueId;

// Converts the case's tensor. Keeps its strides if they are dense; otherwise it becomes contiguous.
absl::StatusOr<SampleTensor> ToSampleTensor(const CaseTensor& tensor) {
  if (!tensor.data.has_value()) return absl::UnimplementedError("a tensor without contents");
  SampleTensor sample{.dtype = tensor.dtype,
                      .sizes = tensor.sizes,
                      .strides = IsDense(tensor.sizes, tensor.strides)
                                     ? tensor.strides
                                     : ContiguousStrides(tensor.sizes),
                      .bytes = {}};
  const TensorView from{
      .dtype = tensor.dtype,
      .sizes = tensor.sizes,
      .strides = tensor.strides,
      .data = const_cast<char*>(tensor.data->data()) +
              static_cast<size_t>(tensor.storage_offset) * DTypeSize(tensor.dtype)};
  sample.bytes.resize(from.nbytes());
  ABSL_RETURN_IF_ERROR(CopyElements(from, sample.view()));
  return sample;
}

// Converts arguments of the call. Appends tensors to `tensors` and replaces them by their index.
class ArgumentMaker {
 public:
  explicit ArgumentMaker(std::vector<SampleTensor>& tensors) : tensors_(tensors) {}

  absl::StatusOr<Argument> operator()(None) { return Argument(); }
  absl::StatusOr<Argument> operator()(CaseAny) {
    return absl::InvalidArgumentError("an argument that is not specified");
  }
  absl::StatusOr<Argument> operator()(const CaseTensor& tensor) {
    ABSL_ASSIGN_OR_RETURN(SampleTensor sample, ToSampleTensor(tensor));
    tensors_.push_back(std::move(sample));
    return Argument(ValueId(static_cast<uint32_t>(tensors_.size() - 1)));
  }
  absl::StatusOr<Argument> operator()(const std::optional<CaseTensor>& tensor) {
    return tensor.has_value() ? (*this)(*tensor) : (*this)(None{});
  }
  absl::StatusOr<Argument> operator()(CaseLayout) { return Argument(exir::Layout::kStrided); }
  absl::StatusOr<Argument> operator()(CaseDevice) { return Argument(exir::Device{}); }
  template <class T>
  absl::StatusOr<Argument> operator()(const std::vector<T>& items) {
    Argument::List list;
    for (size_t i = 0; i < items.size(); ++i) {
      const T item = items[i];  // vector<bool> has no elements to refer to
      ABSL_ASSIGN_OR_RETURN(Argument argument, (*this)(item));
      list.push_back(std::move(argument));
    }
    return Argument(std::move(list));
  }
  template <class T>
  absl::StatusOr<Argument> operator()(const T& value) {
    return Argument(value);
  }

 private:
  std::vector<SampleTensor>& tensors_;
};

// as_strided counts offsets in the storage of its argument, which a dense copy does not have.
bool DependsOnStorage(const OpOverload& op) {
  return op.op() == "as_strided" || op.op() == "as_strided_copy" ||
         op.op() == "sym_storage_offset" || op.op() == "sym_stride" ||
         op.op() == "sym_is_contiguous";
}

bool IsWhole(const CaseValue& value) {
  const CaseTensor* tensor = std::get_if<CaseTensor>(&value);
  return tensor == nullptr ||
         (tensor->storage_offset == 0 && IsContiguous(tensor->sizes, tensor->strides));
}

// Returns whether PyTorch's kernel contradicts its shape function, which the exporter uses, or the
// dtypes of the edge dialect.
bool IsContradictory(const OpOverload& op, const SampleCall& call) {
  return (op.op() == "pixel_unshuffle" || op.op() == "native_dropout") &&
         call.tensors[0].bytes.empty();
}

// Converts the calls of `from` to calls of `op`, which has fewer or reordered arguments.
std::vector<SampleCall> CallsOfVariant(const OpOverload& op, const OperatorCalls& from) {
  const exir::FunctionSchema& schema = *op.schema();
  std::vector<SampleCall> calls;
  for (const SampleCall& call : from.calls) {
    SampleCall made{
        .id = call.id, .arguments = {}, .tensors = call.tensors, .unspecified = call.unspecified};
    std::vector<bool> taken(call.arguments.size());
    for (const exir::SchemaArgument& argument : schema.arguments) {
      const std::optional<int> i = from.op->schema()->ArgumentIndex(argument.name);
      if (i.has_value()) taken[*i] = true;
      made.arguments.push_back(i.has_value() ? call.arguments[*i] : DefaultArgument(argument));
    }
    // Arguments that only the variant has must have their default values.
    bool same = true;
    for (size_t i = 0; i < taken.size(); ++i) {
      same &= taken[i] || call.arguments[i] == DefaultArgument(from.op->schema()->arguments[i]);
    }
    if (same) calls.push_back(std::move(made));
  }
  return calls;
}

}  // namespace

absl::StatusOr<SampleCall> ToSampleCall(const OpOverload& op, const OpCase& op_case) {
  SampleCall call{.id = op_case.id,
                  .arguments = {},
                  .tensors = {},
                  .unspecified = op_case.check == CaseCheck::kMeta};
  ArgumentMaker maker(call.tensors);
  std::vector<exir::GivenArgument> given;
  const auto add = [&](std::string_view name, const CaseValue& value) -> absl::Status {
    if (DependsOnStorage(op) && !IsWhole(value)) {
      return absl::UnimplementedError("a view of a larger storage");
    }
    ABSL_ASSIGN_OR_RETURN(Argument argument, std::visit(maker, value));
    given.push_back({name, std::move(argument)});
    return absl::OkStatus();
  };
  for (const CaseValue& value : op_case.args) ABSL_RETURN_IF_ERROR(add("", value));
  for (const auto& [name, value] : op_case.kwargs) ABSL_RETURN_IF_ERROR(add(name, value));
  ABSL_ASSIGN_OR_RETURN(call.arguments, CompleteArguments(*op.schema(), std::move(given),
                                                          /*names_are_loose=*/false));
  return call;
}

absl::StatusOr<CallCorpus> CallCorpus::Read(const std::string& folder, const exir::OpRegistry& ops,
                                            int64_t max_elements) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> paths, OpCaseFiles(folder));
  CallCorpus corpus;
  for (const std::string& path : paths) {
    ABSL_ASSIGN_OR_RETURN(const OpCaseFile file, ReadOpCaseFile(path));
    OperatorCalls calls;
    ABSL_ASSIGN_OR_RETURN(calls.op, ops.Lookup(file.op));
    for (const OpCase& op_case : file.cases) {
      if (op_case.error.has_value()) continue;
      absl::StatusOr<SampleCall> call = ToSampleCall(*calls.op, op_case);
      if (absl::IsUnimplemented(call.status())) continue;
      ABSL_RETURN_IF_ERROR(call.status());
      const bool small =
          std::all_of(call->tensors.begin(), call->tensors.end(),
                      [&](const SampleTensor& t) { return t.view().numel() <= max_elements; });
      if (small && !IsContradictory(*calls.op, *call)) calls.calls.push_back(*std::move(call));
    }
    (calls.op->schema()->IsMutable() ? corpus.in_place_ : corpus.functional_)
        .push_back(std::move(calls));
  }
  std::map<std::string_view, const OperatorCalls*> by_name;
  for (const OperatorCalls& calls : corpus.functional_) by_name[calls.op->name()] = &calls;
  for (const OpOverload* op : ops.Known()) {
    if (op->schema() == nullptr || KindOf(*op->schema()) != exir::SchemaKind::kInplace) continue;
    const auto functional = ToVariant(ops, op, exir::SchemaKind::kFunctional);
    if (!functional.ok()) continue;
    const auto it = by_name.find((*functional)->name());
    if (it == by_name.end()) continue;
    const exir::FunctionSchema& schema = *it->second->op->schema();
    if (schema.returns.size() != 1 || schema.IsView() ||
        schema.arguments[0].name != op->schema()->arguments[0].name ||
        schema.arguments[0].type.base != exir::BaseType::kTensor) {
      continue;
    }
    const auto have = [&](const OperatorCalls& calls) { return calls.op == op; };
    if (std::any_of(corpus.in_place_.begin(), corpus.in_place_.end(), have)) continue;
    corpus.in_place_.push_back({op, CallsOfVariant(*op, *it->second)});
  }
  return corpus;
}

}  // namespace belay::conformance
