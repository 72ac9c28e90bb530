// Padding: with a constant, mirrored, and with the border repeated.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernel/shape_rules/pad.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/pad_kernels.h"
#include "runtime/kernels/call/scalar_element.h"
#include "runtime/kernels/call/strided_view.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/mapped_copy.h"

namespace belay {
namespace {

void FillElements(const TensorView& out, const ScalarElement& element) { element.Fill(out); }

template <PadMode kMode, int kSpatial>
absl::Status MirroredPad(KernelContext& context) {
  constexpr std::string_view kName =
      kMode == PadMode::kReflect ? "reflection_pad" : "replication_pad";
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  const TensorView in = *self;
  ABSL_ASSIGN_OR_RETURN(const Padding<CheckedInt> padding,
                        ReadPadding(kName, KernelArgs(context), 1, in.rank(), kSpatial));
  ABSL_ASSIGN_OR_RETURN(
      const Dims<CheckedInt> dims,
      MirroredShape<CheckedInt>(kName, kMode, ToDims(in.sizes), kSpatial, padding));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, in.dtype, dims));
  // The numbers of MirroredShape keep this inside: each padding is less than the size where it
  // reflects.
  return CopyMapped(in, *out, [&](int d, int64_t i) {
    // Only a large part that is taken away overflows, beyond the last element.
    const int64_t place =
        CheckedSub(i, padding.before[d].value()).value_or(std::numeric_limits<int64_t>::max());
    const int64_t last = in.sizes[d] - 1;
    if (kMode == PadMode::kReplicate) return std::clamp<int64_t>(place, 0, last);
    return place < 0 ? -place : place > last ? 2 * last - place : place;
  });
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    {"aten.constant_pad_nd.default", "ConstantPad", kReference,
     &ConstantPad<&CopyElements, &FillElements>},
    {"aten.reflection_pad1d.default", "ReflectionPad1d", kReference,
     &MirroredPad<PadMode::kReflect, 1>},
    {"aten.reflection_pad2d.default", "ReflectionPad2d", kReference,
     &MirroredPad<PadMode::kReflect, 2>},
    {"aten.reflection_pad3d.default", "ReflectionPad3d", kReference,
     &MirroredPad<PadMode::kReflect, 3>},
    {"aten.replication_pad1d.default", "ReplicationPad1d", kReference,
     &MirroredPad<PadMode::kReplicate, 1>},
    {"aten.replication_pad2d.default", "ReplicationPad2d", kReference,
     &MirroredPad<PadMode::kReplicate, 2>},
    {"aten.replication_pad3d.default", "ReplicationPad3d", kReference,
     &MirroredPad<PadMode::kReplicate, 3>},
};

}  // namespace

absl::Span<const Kernel> PadKernels() { return kKernels; }

}  // namespace belay
