// dim_order_ops: copies and allocations with a dim order argument instead of a memory format
// (docs/edge-dialect.md §3 row 13).

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/kernel_interface/shape_rules/movement.h"

namespace belay::exir {
namespace {

// Returns a tensor of `sizes` in the dim order of the argument, which must be that of a memory
// format: contiguous or channels last.
absl::StatusOr<TensorMeta> InDimOrder(const MetaArguments& arguments, DType dtype,
                                      std::vector<SymInt> sizes) {
  ABSL_ASSIGN_OR_RETURN(const Sizes order, arguments.StaticIntList("dim_order"));
  const auto is = [&](const DimOrder& other) {
    return std::equal(order.begin(), order.end(), other.begin(), other.end());
  };
  const bool contiguous = is(ContiguousOrder(order.size()));
  if (!contiguous && !is(ChannelsLastOrder(order.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("dim_order: expected contiguous or channels last, got ", FormatSizes(order)));
  }
  if (static_cast<int>(sizes.size()) != order.size()) {
    return absl::InvalidArgumentError(absl::StrCat("dim_order: ", FormatSizes(order),
                                                   " is for rank ", order.size(), ", got ",
                                                   FormatDims<SymInt>(sizes)));
  }
  return DenseInFormat(dtype, std::move(sizes), !contiguous);
}

// Dim order None preserves that of the input; the same for dtype.
absl::Status CopyMeta(MetaContext& context, const CopyCall<MetaArguments>& call) {
  const TensorMeta& self = *call.self;
  const MetaArguments arguments(context);
  ABSL_ASSIGN_OR_RETURN(const DType dtype, arguments.DtypeOr("dtype", self.dtype));
  ABSL_ASSIGN_OR_RETURN(TensorMeta out, ResultLike(dtype, self, MemoryFormat::kPreserve));
  if (!arguments.IsNone("dim_order")) {
    ABSL_ASSIGN_OR_RETURN(out, InDimOrder(arguments, dtype, self.sizes));
  }
  out.device = self.device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

absl::Status EmptyMeta(MetaContext& context, const ResizeCall<MetaArguments>& call) {
  const MetaArguments arguments(context);
  ABSL_ASSIGN_OR_RETURN(const DType dtype, arguments.DtypeOr("dtype", DType::kFloat32));
  for (const SymInt& size : call.size) {
    if (KnownNegative(size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("size: negative number in ", FormatDims<SymInt>(call.size)));
    }
  }
  TensorMeta out = TensorMeta::Contiguous(dtype, call.size);
  if (!arguments.IsNone("dim_order")) {
    ABSL_ASSIGN_OR_RETURN(out, InDimOrder(arguments, dtype, call.size));
  }
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

constexpr OpDef kOps[] = {
    {"dim_order_ops::_clone_dim_order(Tensor self, *, bool non_blocking=False, int[]? "
     "dim_order=None) -> Tensor",
     &MetaKernel<&CopyMeta>, kDataMovement | kPointwise | kMovesElements | kKeepsBytes,
     "self:A ->:A A=any"},
    {"dim_order_ops::_empty_dim_order(int[] size, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None, int[]? dim_order=None) -> Tensor",
     &MetaKernel<&EmptyMeta>, kNondeterministic | kCreation},
    {"dim_order_ops::_to_dim_order_copy(Tensor self, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, int[]? "
     "dim_order=None) -> Tensor",
     &MetaKernel<&CopyMeta>, kPointwise | kKeepsBytes},
};

}  // namespace

absl::Span<const OpDef> DimOrderOps() { return kOps; }

}  // namespace belay::exir
