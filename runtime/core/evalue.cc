#include "runtime/core/evalue.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace belay {

std::string EValue::KindName() const {
  if (is<None>()) return "none";
  if (is<int64_t>()) return "int";
  if (is<double>()) return "float";
  if (is<bool>()) return "bool";
  if (is<std::complex<double>>()) return "complex";
  if (is<std::string_view>()) return "string";
  if (const TensorView* tensor = get_if<TensorView>()) {
    return absl::StrCat("tensor ", tensor->ToString());
  }
  if (const ListView* list = get_if<ListView>()) {
    return absl::StrCat("list of ", list->elements.size());
  }
  if (is<DType>()) return "dtype";
  return "memory_format";
}

}  // namespace belay
