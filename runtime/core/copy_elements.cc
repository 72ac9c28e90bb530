// CopyElements with all conversions. A separate file, so that binaries that never convert need not
// link it.
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/element.h"
#include "runtime/core/element_runs.h"
#include "runtime/core/one_dtype_copy.h"
#include "runtime/core/tensor_view.h"

namespace belay {
namespace {

constexpr DTypeSet kConvertibleTypes =
    kRealTypes | kComplexTypes | kUnsignedWideTypes | kFloat8Types;

// A stored bool may be any byte: loading it as bool would be undefined behavior.
template <class T>
T LoadElement(const void* base, int64_t offset) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<const uint8_t*>(base)[offset] != 0;
  } else {
    return static_cast<const T*>(base)[offset];
  }
}

// Converts `count` elements, from index `f` to index `t`.
using ConvertFn = void (*)(const void* from, int64_t f, int64_t from_step, void* to, int64_t t,
                           int64_t to_step, int64_t count);

// Instantiated for each pair of dtypes, so it must stay small: one loop of a few instructions that
// compilers do not unroll.
template <class From, class To>
void ConvertElements(const void* from, int64_t f, int64_t from_step, void* to, int64_t t,
                     int64_t to_step, int64_t count) {
  To* target = static_cast<To*>(to) + t;
#pragma clang loop vectorize(disable) unroll(disable)
  for (int64_t i = 0; i < count; ++i) {
    target[i * to_step] = ConvertElement<To>(LoadElement<From>(from, f + i * from_step));
  }
}

}  // namespace

absl::Status CopyElements(const TensorView& from, const TensorView& to) {
  if (!(from.sizes == to.sizes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot copy ", from.ToString(), " to ", to.ToString(), ": sizes differ"));
  }
  if (from.dtype != to.dtype &&
      (!kConvertibleTypes.contains(from.dtype) || !kConvertibleTypes.contains(to.dtype))) {
    return absl::InvalidArgumentError(
        absl::StrCat("no conversion from ", DTypeName(from.dtype), " to ", DTypeName(to.dtype)));
  }
  if (from.dtype == to.dtype) return CopyElementsOfOneDType(from, to);
  if (from.numel() == 0) return absl::OkStatus();
  ConvertFn convert = nullptr;
  DispatchDType<kConvertibleTypes>(from.dtype, [&](auto from_tag) {
    DispatchDType<kConvertibleTypes>(to.dtype, [&](auto to_tag) {
      convert = &ConvertElements<CppType<from_tag.value>, CppType<to_tag.value>>;
    });
  });
  ForEachRun(from, to,
             [&](int64_t f, int64_t t, int64_t count, int64_t from_step, int64_t to_step) {
               convert(from.data, f, from_step, to.data, t, to_step, count);
             });
  return absl::OkStatus();
}

}  // namespace belay
