// Padding: constant, reflection, and replication.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/kernel_interface/shape_rules/pad.h"

namespace belay::exir {
namespace {

// Returns whether no padding amount is above 0.
bool IsOnlyCropping(const Padding<SymInt>& padding) {
  bool away = true;
  for (const auto* numbers : {&padding.before, &padding.after}) {
    for (const SymInt& number : *numbers) away = away && number.AsInt().value_or(1) <= 0;
  }
  return away;
}

absl::Status ConstantPadMeta(MetaContext& context, const ConstantPadCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  TensorMeta out = DenseInFormat(self->dtype, sizes, LooksChannelsLast(*self));
  if (IsOnlyCropping(call.padding)) {  // PyTorch clones the remaining slice
    TensorMeta part = *self;
    part.sizes = std::move(sizes);
    ABSL_ASSIGN_OR_RETURN(out, ResultLike(self->dtype, part, MemoryFormat::kPreserve));
  }
  out.device = self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

template <PadMode kMode, int kSpatial>
absl::Status MirroredPadMeta(MetaContext& context,
                             const MirroredPadCall<MetaArguments, kMode, kSpatial>& call) {
  constexpr DTypeSet kTypes = kIntegralTypes | kFloatTypes | kComplexTypes;
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, MetaArguments(context).Tensor("self", kTypes));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  TensorMeta out =
      DenseInFormat(self->dtype, std::move(sizes), kSpatial > 1 && LooksChannelsLast(*self));
  out.device = self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

template <PadMode kMode, int kSpatial>
constexpr MetaFn kMirroredPad = &MetaKernel<&MirroredPadMeta<kMode, kSpatial>>;

constexpr std::string_view kSame = "self:A ->:A A=any";

constexpr OpDef kOps[] = {
    {"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
     &MetaKernel<&ConstantPadMeta>, kCore | kDataMovement, kSame},
    {"aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
     kMirroredPad<PadMode::kReflect, 1>, kCore | kDataMovement, kSame},
    {"aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     kMirroredPad<PadMode::kReflect, 2>, kCore | kDataMovement, kSame},
    {"aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
     kMirroredPad<PadMode::kReflect, 3>, kCore | kDataMovement, kSame},
    {"aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
     kMirroredPad<PadMode::kReplicate, 1>, kDataMovement, kSame},
    {"aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     kMirroredPad<PadMode::kReplicate, 2>, kCore | kDataMovement, kSame},
    {"aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
     kMirroredPad<PadMode::kReplicate, 3>, kCore | kDataMovement, kSame},
};

}  // namespace

absl::Span<const OpDef> PadOps() { return kOps; }

}  // namespace belay::exir
