// Padding: constant, reflection and replication.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/pad.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/scalar_element.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/mapped_copy.h"

namespace belay {
namespace {

absl::Status ConstantPad(KernelContext& context, const ConstantPadCall<KernelArguments>& call) {
  const TensorView in = *call.self;
  const Padding<CheckedInt>& padding = call.padding;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, in.dtype, dims));
  ABSL_ASSIGN_OR_RETURN(const ScalarElement element, ScalarElement::Create(call.value, in.dtype));
  element.Fill(*out);
  // Kept part of the input, and its layout in the output.
  StridedDims<CheckedInt> from = LayoutOf(in), to = LayoutOf(*out);
  for (int d = 0; d < in.rank(); ++d) {
    const int64_t before = padding.before[d].value(), after = padding.after[d].value();
    const CheckedInt kept =
        CheckedInt(in.sizes[d]) + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    from.offset = from.offset - CheckedInt(std::min<int64_t>(before, 0)) * from.strides[d];
    to.offset = to.offset + CheckedInt(std::max<int64_t>(before, 0)) * to.strides[d];
    from.sizes[d] = kept;
    to.sizes[d] = kept;
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView source, ViewOf(in, from));
  ABSL_ASSIGN_OR_RETURN(const TensorView target, ViewOf(*out, to));
  return CopyElements(source, target);
}

template <PadMode kMode, int kSpatial>
absl::Status MirroredPad(KernelContext& context,
                         const MirroredPadCall<KernelArguments, kMode, kSpatial>& call) {
  const TensorView in = *call.self;
  const Padding<CheckedInt>& padding = call.padding;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, in.dtype, dims));
  // MirroredShape guarantees that the position is inside: each padding is less than the reflected
  // size.
  return CopyMapped(in, *out, [&](int d, int64_t i) {
    // Overflows only for a large negative padding; the position is then after the last element.
    const int64_t place =
        CheckedSub(i, padding.before[d].value()).value_or(std::numeric_limits<int64_t>::max());
    const int64_t last = in.sizes[d] - 1;
    if (kMode == PadMode::kReplicate) return std::clamp<int64_t>(place, 0, last);
    return place < 0 ? -place : place > last ? 2 * last - place : place;
  });
}

constexpr KernelEngine kReference = KernelEngine::kReference;

template <PadMode kMode, int kSpatial>
constexpr Kernel MirroredPadRow(std::string_view op, std::string_view name) {
  return KernelRow<&MirroredPad<kMode, kSpatial>>(op, "self padding", name, kReference);
}

constexpr Kernel kKernels[] = {
    KernelRow<&ConstantPad>("aten.constant_pad_nd.default", "self pad value", "ConstantPad",
                            kReference),
    MirroredPadRow<PadMode::kReflect, 1>("aten.reflection_pad1d.default", "ReflectionPad1d"),
    MirroredPadRow<PadMode::kReflect, 2>("aten.reflection_pad2d.default", "ReflectionPad2d"),
    MirroredPadRow<PadMode::kReflect, 3>("aten.reflection_pad3d.default", "ReflectionPad3d"),
    MirroredPadRow<PadMode::kReplicate, 1>("aten.replication_pad1d.default", "ReplicationPad1d"),
    MirroredPadRow<PadMode::kReplicate, 2>("aten.replication_pad2d.default", "ReplicationPad2d"),
    MirroredPadRow<PadMode::kReplicate, 3>("aten.replication_pad3d.default", "ReplicationPad3d"),
};

}  // namespace

absl::Span<const Kernel> PadKernels() { return kKernels; }

}  // namespace belay
