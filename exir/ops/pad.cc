// Padding: with a constant, mirrored, and with the border repeated.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_args.h"
#include "exir/ops/meta_checks.h"
#include "runtime/kernel/shape_rules/pad.h"

namespace belay::exir {
namespace {

absl::Status ConstantPadMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_RETURN_IF_ERROR(CheckRank(self->sizes.size()));
  ABSL_ASSIGN_OR_RETURN(const Padding<SymInt> padding,
                        ReadPadding("constant_pad_nd", MetaArgs(context), 1, self->rank()));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes,
                        PaddedShape<SymInt>("constant_pad_nd", self->sizes, padding));
  ABSL_ASSIGN_OR_RETURN(const DType category, context.ScalarCategory(2));
  if (IsComplex(category) && !IsComplex(self->dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("value: a complex number for ", DTypeName(self->dtype)));
  }
  TensorMeta out = DenseInFormat(self->dtype, std::move(sizes), LooksChannelsLast(*self));
  out.device = self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

template <PadMode kMode, int kSpatial>
absl::Status MirroredPadMeta(MetaContext& context) {
  constexpr DTypeSet kTypes = kIntegralTypes | kFloatTypes | kComplexTypes;
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kTypes));
  const std::string& op = context.schema().op;
  ABSL_RETURN_IF_ERROR(CheckRank(self->sizes.size()));
  ABSL_ASSIGN_OR_RETURN(const Padding<SymInt> padding,
                        ReadPadding(op, MetaArgs(context), 1, self->rank(), kSpatial));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes,
                        MirroredShape<SymInt>(op, kMode, self->sizes, kSpatial, padding));
  const bool batched = self->rank() == kSpatial + 2;
  TensorMeta out = DenseInFormat(self->dtype, std::move(sizes),
                                 kSpatial > 1 && batched && LooksChannelsLast(*self));
  out.device = self->device;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

constexpr std::string_view kSame = "self:A ->:A A=any";

constexpr OpDef kOps[] = {
    {"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", &ConstantPadMeta,
     kCore | kDataMovement, kSame},
    {"aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
     &MirroredPadMeta<PadMode::kReflect, 1>, kCore | kDataMovement, kSame},
    {"aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     &MirroredPadMeta<PadMode::kReflect, 2>, kCore | kDataMovement, kSame},
    {"aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
     &MirroredPadMeta<PadMode::kReflect, 3>, kCore | kDataMovement, kSame},
    {"aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor",
     &MirroredPadMeta<PadMode::kReplicate, 1>, kDataMovement, kSame},
    {"aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor",
     &MirroredPadMeta<PadMode::kReplicate, 2>, kCore | kDataMovement, kSame},
    {"aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor",
     &MirroredPadMeta<PadMode::kReplicate, 3>, kCore | kDataMovement, kSame},
};

}  // namespace

absl::Span<const OpDef> PadOps() { return kOps; }

}  // namespace belay::exir
