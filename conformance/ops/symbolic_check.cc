#include "conformance/ops/symbolic_check.h"

#include <charconv>
#include <utility>

#include "conformance/ops/case_memory.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

using exir::MetaList;
using exir::MetaValue;
using exir::SymInt;
using exir::TensorMeta;

// The symbol of size 7 is "s7".
std::optional<int64_t> SizeOf(std::string_view symbol) {
  int64_t size = 0;
  if (symbol.empty() || symbol[0] != 's') return std::nullopt;
  const std::from_chars_result r =
      std::from_chars(symbol.data() + 1, symbol.data() + symbol.size(), size);
  return r.ec == std::errc() ? std::optional<int64_t>(size) : std::nullopt;
}

// Returns false if the value has a tensor that is not contiguous.
bool MakeSymbolic(MetaValue& value) {
  if (MetaList* list = std::get_if<MetaList>(&value.value)) {
    for (MetaValue& element : *list) {
      if (!MakeSymbolic(element)) return false;
    }
  }
  TensorMeta* tensor = std::get_if<TensorMeta>(&value.value);
  if (tensor == nullptr) return true;
  if (!tensor->is_contiguous()) return false;
  std::vector<SymInt> sizes;
  for (const SymInt& size : tensor->sizes) {
    sizes.push_back(*size.AsInt() > 1 ? exir::SymExpr::Symbol(absl::StrCat("s", *size.AsInt()))
                                      : size);
  }
  TensorMeta symbolic = TensorMeta::Contiguous(tensor->dtype, std::move(sizes));
  symbolic.storage_offset = tensor->storage_offset;
  *tensor = std::move(symbolic);
  return true;
}

std::string Text(const std::vector<SymInt>& exprs) {
  std::string text = "[";
  for (size_t i = 0; i < exprs.size(); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ",", exprs[i].ToString());
  return text + "]";
}

bool SameAtSizes(const std::vector<SymInt>& want, const std::vector<SymInt>& got) {
  if (want.size() != got.size()) return false;
  for (size_t i = 0; i < want.size(); ++i) {
    // Data-dependent sizes have new symbols, which are not compared.
    if (want[i].AsInt().has_value() && got[i].EvaluateInt(&SizeOf) != want[i].AsInt()) return false;
  }
  return true;
}

Difference Compare(const MetaValue& want, const MetaValue& got) {
  if (want.value.index() != got.value.index())
    return "expected a result of the same kind as for numbers, got another";
  if (const MetaList* list = want.get_if<MetaList>()) {
    const MetaList& other = *got.get_if<MetaList>();
    if (list->size() != other.size())
      return absl::StrCat("expected ", list->size(), " tensors, got ", other.size());
    for (size_t i = 0; i < list->size(); ++i) {
      const Difference difference = Compare((*list)[i], other[i]);
      if (!difference.empty()) return difference;
    }
  }
  if (const exir::SymExpr* e = want.get_if<exir::SymExpr>()) {
    const exir::SymExpr& other = *got.get_if<exir::SymExpr>();
    if (!SameAtSizes({*e}, {other}))
      return absl::StrCat("expected ", e->ToString(), ", got ", other.ToString());
  }
  const TensorMeta* tensor = want.get_if<TensorMeta>();
  if (tensor == nullptr) return "";
  const TensorMeta& other = *got.get_if<TensorMeta>();
  if (tensor->dtype != other.dtype) {
    return absl::StrCat("expected ", DTypeName(tensor->dtype), ", got ", DTypeName(other.dtype));
  }
  if (!SameAtSizes(tensor->sizes, other.sizes)) {
    return absl::StrCat("expected sizes ", Text(tensor->sizes), ", got ", Text(other.sizes));
  }
  // Strides of tensors without elements are meaningless.
  const bool empty = tensor->NumElements().AsInt() == 0;
  for (int d = 0; d < tensor->rank() && !empty; ++d) {
    if (tensor->sizes[d].AsInt() != 1 && !SameAtSizes({tensor->strides[d]}, {other.strides[d]})) {
      return absl::StrCat("expected strides ", Text(tensor->strides), ", got ", Text(other.strides),
                          " of sizes ", Text(other.sizes));
    }
  }
  return "";
}

}  // namespace

Difference CheckSymbolicSizes(const exir::OpOverload& op, const std::vector<MetaValue>& arguments,
                              const std::vector<MetaValue>& outputs) {
  std::vector<MetaValue> symbolic = arguments;
  for (MetaValue& argument : symbolic) {
    if (!MakeSymbolic(argument)) return "";
  }
  CaseSymbols symbols;
  exir::MetaContext context(*op.schema(), std::move(symbolic), &symbols);
  if (!op.def()->meta(context).ok()) return "";
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Difference difference = Compare(outputs[i], context.outputs()[i]);
    if (!difference.empty()) return absl::StrCat("result ", i, ": ", difference);
  }
  return "";
}

}  // namespace belay::conformance
