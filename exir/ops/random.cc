// Operators that combine given tensors with random numbers.

#include "runtime/kernel_interface/shape_rules/random.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// For the operator and its seeded variant, whose state is checked.
template <class Call>
using Seeded = SeededCall<Call, MetaArguments>;

absl::Status SetLike(MetaContext& context, int i, DType dtype, const TensorMeta& input) {
  ABSL_ASSIGN_OR_RETURN(TensorMeta result, ResultLike(dtype, input, MemoryFormat::kPreserve));
  context.SetOutput(i, std::move(result));
  return absl::OkStatus();
}

absl::Status DropoutMeta(MetaContext& context, const Seeded<DropoutCall<MetaArguments>>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const DType dtype = call.input->dtype;
  ABSL_RETURN_IF_ERROR(SetLike(context, 0, dtype, *call.input));
  return SetLike(context, 1, call.IsEmpty() ? dtype : DType::kBool, *call.input);
}

absl::Status PoissonMeta(MetaContext& context, const Seeded<PoissonCall<MetaArguments>>& call) {
  return SetLike(context, 0, call.self->dtype, *call.self);
}

absl::Status AdvanceMeta(MetaContext& context, const AdvanceCall<MetaArguments>& call) {
  return SetLike(context, 0, DType::kInt64, *call.random_state);
}

// A seeded operator is the ATen operator with a generator state before its arguments. It is a pure
// function of its arguments, which may be moved, repeated and computed by a delegate
// (exir/passes/seed_random_ops.h).
#define BELAY_SEED "Tensor random_state, int offset, "

constexpr OpDef kRows[] = {
    {.schema = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&DropoutMeta>,
     .traits = kCore | kNondeterministic,
     .dtypes = "input:A ->0:A ->1:{b8} A=float",
     .tolerance = {1e-6, 0}},
    {.schema = "aten::poisson(Tensor self, Generator? generator=None) -> Tensor",
     .meta = &MetaKernel<&PoissonMeta>,
     .traits = kNondeterministic},
    {.schema = "seeded::advance(Tensor random_state, int count) -> Tensor",
     .meta = &MetaKernel<&AdvanceMeta>,
     .tolerance = {0, 0}},
    {.schema = "seeded::native_dropout(" BELAY_SEED
               "Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&DropoutMeta>},
    {.schema = "seeded::poisson(" BELAY_SEED "Tensor self, Generator? generator=None) -> Tensor",
     .meta = &MetaKernel<&PoissonMeta>},
};

#undef BELAY_SEED

}  // namespace

absl::Span<const OpDef> RandomOps() { return kRows; }

}  // namespace belay::exir
