#include "conformance/ops/op_compare.h"

#include <optional>
#include <type_traits>

#include "exir/compare/compare.h"
#include "runtime/core/str_cat.h"

namespace belay::conformance {
namespace {

exir::Closeness ClosenessOf(const OpCase& op_case) {
  if (op_case.check == CaseCheck::kBits) return exir::kSameBits;
  return {.atol = op_case.atol, .rtol = op_case.rtol};
}

Difference ToDifference(const absl::Status& status) { return Difference(status.message()); }

// nullopt for kinds that no operator returns.
std::optional<EValue> ToEValue(const CaseValue& value) {
  return std::visit(
      []<class T>(const T& v) -> std::optional<EValue> {
        if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::complex<double>> ||
                      std::is_same_v<T, None>) {
          return EValue(v);
        } else {
          return std::nullopt;
        }
      },
      value);
}

}  // namespace

Difference CompareTensor(const CaseTensor& want, const TensorView& got, const OpCase& op_case) {
  TensorView expected{
      .dtype = want.dtype, .sizes = want.sizes, .strides = want.strides, .data = nullptr};
  if (op_case.check == CaseCheck::kMeta || !want.data.has_value()) {
    return ToDifference(exir::CompareTensors(expected, got, exir::kAnyElements));
  }
  expected.data = const_cast<char*>(want.data->data()) +
                  static_cast<size_t>(want.storage_offset) * DTypeSize(want.dtype);
  return ToDifference(exir::CompareTensors(expected, got, ClosenessOf(op_case)));
}

Difference CompareScalar(const CaseValue& want, const EValue& got, const OpCase& op_case) {
  const std::optional<EValue> expected = ToEValue(want);
  if (!expected.has_value()) {
    return absl::StrCat("expected a value of a kind that no operator returns, got ",
                        got.KindName());
  }
  return ToDifference(exir::CompareValues(*expected, got, ClosenessOf(op_case)));
}

Difference CompareLayout(const CaseTensor& want, const TensorView& got) {
  if (got.numel() <= 1) return "";
  for (int d = 0; d < got.sizes.size(); ++d) {
    if (got.sizes[d] != 1 && want.strides[d] != got.strides[d]) {
      return absl::StrCat("expected strides ", FormatSizes(want.strides), ", got ",
                          FormatSizes(got.strides), " of shape ", FormatSizes(got.sizes));
    }
  }
  return "";
}

}  // namespace belay::conformance
