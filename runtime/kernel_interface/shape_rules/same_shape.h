// Check that two shapes are equal.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SAME_SHAPE_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SAME_SHAPE_H_

#include <string_view>

#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// OK if `dims` is the expected shape.
template <class D>
absl::Status CheckSameShape(std::string_view name, absl::Span<const D> dims,
                            absl::Span<const D> expected) {
  if (MayBeEqual(dims, expected)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": expected shape ", FormatDims<D>(expected),
                                                 ", got ", FormatDims<D>(dims)));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_SAME_SHAPE_H_
