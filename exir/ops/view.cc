// View operators and their copies. Each pair uses one rule of runtime/kernel_interface/shape_rules: the view
// has the layout that the rule computes, the copy has its sizes, contiguous.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/strided_meta.h"
#include "runtime/kernel_interface/shape_rules/slice.h"
#include "runtime/kernel_interface/shape_rules/view.h"

namespace belay::exir {
namespace {

using Layout = StridedDims<SymInt>;

template <template <class> class Rule>
using Call = ViewCall<MetaArguments, Rule>;

template <template <class> class Rule>
absl::Status ViewMeta(MetaContext& context, const Call<Rule>& call) {
  ABSL_ASSIGN_OR_RETURN(const Layout in, LayoutOf(*call.self));
  ABSL_ASSIGN_OR_RETURN(Layout out, call.rule.Apply(in));
  context.SetOutput(0, ViewOf(*call.self, std::move(out)));
  return absl::OkStatus();
}

template <template <class> class Rule>
absl::Status CopyMeta(MetaContext& context, const Call<Rule>& call) {
  ABSL_ASSIGN_OR_RETURN(const Layout in, LayoutOf(*call.self));
  ABSL_ASSIGN_OR_RETURN(Layout out, call.rule.Apply(in));
  context.SetOutput(0, CopyOf(*call.self, std::move(out.sizes)));
  return absl::OkStatus();
}

template <template <class> class Rule, bool kCopies>
absl::Status PiecesMeta(MetaContext& context, const Call<Rule>& call) {
  ABSL_ASSIGN_OR_RETURN(const Layout in, LayoutOf(*call.self));
  MetaList pieces;
  ABSL_RETURN_IF_ERROR(call.rule.ForEach(in, [&](int, Layout piece) {
    pieces.push_back(kCopies ? CopyOf(*call.self, std::move(piece.sizes))
                             : ViewOf(*call.self, std::move(piece)));
    return absl::OkStatus();
  }));
  context.SetOutput(0, std::move(pieces));
  return absl::OkStatus();
}

// view, or view_copy if kCopies.
template <bool kCopies>
absl::Status ReshapedMeta(MetaContext& context, const ReshapeCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Layout in, LayoutOf(*call.self));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> sizes, call.Shape());
  if (kCopies) {
    context.SetOutput(0, CopyOf(*call.self, std::move(sizes)));
    return absl::OkStatus();
  }
  ABSL_ASSIGN_OR_RETURN(Layout out, ViewDims(in, std::move(sizes)));
  context.SetOutput(0, ViewOf(*call.self, std::move(out)));
  return absl::OkStatus();
}

// reshape: a view if strides allow it, else a copy.
absl::Status ReshapeMeta(MetaContext& context, const ReshapeCall<MetaArguments>& call) {
  if (ReshapedMeta<false>(context, call).ok()) return absl::OkStatus();
  return ReshapedMeta<true>(context, call);
}

// A view of the elements as another dtype.
template <template <class> class ReinterpretCall, bool kCopies>
absl::Status ReinterpretedMeta(MetaContext& context, const ReinterpretCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Layout in, LayoutOf(*call.self));
  ABSL_ASSIGN_OR_RETURN(Layout layout, call.Apply(in));
  TensorMeta out =
      kCopies ? CopyOf(*call.self, std::move(layout.sizes)) : ViewOf(*call.self, std::move(layout));
  out.dtype = call.dtype;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

template <template <class> class Rule>
constexpr MetaFn kViewBy = &MetaKernel<&ViewMeta<Rule>>;
template <template <class> class Rule>
constexpr MetaFn kCopyBy = &MetaKernel<&CopyMeta<Rule>>;
template <template <class> class Rule>
constexpr MetaFn kViewsBy = &MetaKernel<&PiecesMeta<Rule, false>>;
template <template <class> class Rule>
constexpr MetaFn kCopiesBy = &MetaKernel<&PiecesMeta<Rule, true>>;
template <template <class> class ReinterpretCall>
constexpr MetaFn kReinterpretedViewBy = &MetaKernel<&ReinterpretedMeta<ReinterpretCall, false>>;
template <template <class> class ReinterpretCall>
constexpr MetaFn kReinterpretedCopyBy = &MetaKernel<&ReinterpretedMeta<ReinterpretCall, true>>;

constexpr uint32_t kView = kDataMovement;
constexpr uint32_t kCoreView = kDataMovement | kCore;
constexpr uint32_t kCopy = kDataMovement | kViewCopy;
constexpr std::string_view kSame = "self:A ->:A A=any";
constexpr std::string_view kToReal = "self:{c64} ->:{f32} | self:{c128} ->:{f64}";
constexpr std::string_view kToComplex = "self:{f32} ->:{c64} | self:{f64} ->:{c128}";

constexpr OpDef kOps[] = {
    {"aten::_conj(Tensor(a) self) -> Tensor(a)", kViewBy<IdentityRule>, 0, kSame},
    {"aten::_conj_copy(Tensor self) -> Tensor", kCopyBy<IdentityRule>, kViewCopy, kSame},
    {"aten::_neg_view(Tensor(a) self) -> Tensor(a)", kViewBy<IdentityRule>, 0, kSame},
    {"aten::_neg_view_copy(Tensor self) -> Tensor", kCopyBy<IdentityRule>, kViewCopy, kSame},
    {"aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
     kViewBy<AsStridedRule>, kView, kSame},
    {"aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor",
     kCopyBy<AsStridedRule>, kCopy | kReshapesBytes, kSame},
    {"aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", &MetaKernel<&ReshapedMeta<false>>,
     kView | kReshapesBytes, kSame},
    {"aten::alias(Tensor(a) self) -> Tensor(a)", kViewBy<IdentityRule>, kCoreView, kSame},
    {"aten::alias_copy(Tensor self) -> Tensor", kCopyBy<IdentityRule>,
     kCopy | kMovesElements | kKeepsBytes, kSame},
    {"aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor(a)",
     kViewBy<AsStridedRule>, kCoreView, kSame},
    {"aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor",
     kCopyBy<AsStridedRule>, kCopy, kSame},
    {"aten::detach(Tensor(a) self) -> Tensor(a)", kViewBy<IdentityRule>, kView, kSame},
    {"aten::detach_copy(Tensor self) -> Tensor", kCopyBy<IdentityRule>, kCopy | kKeepsBytes, kSame},
    {"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
     kViewBy<DiagonalRule>, kCoreView, kSame},
    {"aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
     kCopyBy<DiagonalRule>, kCopy, kSame},
    {"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     kViewBy<ExpandRule>, kCoreView, kSame},
    {"aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
     kCopyBy<ExpandRule>, kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::lift_fresh(Tensor(a) self) -> Tensor(a)", kViewBy<IdentityRule>, kView, kSame},
    {"aten::lift_fresh_copy(Tensor self) -> Tensor", kCopyBy<IdentityRule>, kCopy | kKeepsBytes,
     kSame},
    {"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
     kViewBy<NarrowRule>, kView, kSame},
    {"aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
     kCopyBy<NarrowRule>, kCopy | kCutsBytes, kSame},
    {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", kViewBy<PermuteRule>, kCoreView,
     kSame},
    {"aten::permute_copy(Tensor self, int[] dims) -> Tensor", kCopyBy<PermuteRule>,
     kCopy | kMovesElements | kPermutesBytes, kSame},
    {"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", &MetaKernel<&ReshapeMeta>,
     kDataMovement | kComposite | kReshapesBytes, kSame},
    {"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", kViewBy<SelectRule>,
     kCoreView, kSame},
    {"aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", kCopyBy<SelectRule>,
     kCopy | kMovesElements | kCutsBytes, kSame},
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
     "step=1) -> Tensor(a)",
     kViewBy<SliceRule>, kCoreView, kSame},
    {"aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
     "step=1) -> Tensor",
     kCopyBy<SliceRule>, kCopy | kMovesElements | kCutsBytes, kSame},
    {"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
     kViewsBy<SplitRule>, kView, kSame},
    {"aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
     kCopiesBy<SplitRule>, kCopy | kSplitsBytes, kSame},
    {"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
     kViewsBy<SplitWithSizesRule>, kCoreView | kAlwaysDecomposed, kSame},
    {"aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
     kCopiesBy<SplitWithSizesRule>, kCopy | kSplitsBytes, kSame},
    {"aten::squeeze(Tensor(a) self) -> Tensor(a)", kViewBy<SqueezeRule>, kView, kSame},
    {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", kViewBy<SqueezeDimRule>, kCoreView,
     kSame},
    {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", kViewBy<SqueezeDimsRule>,
     kCoreView, kSame},
    {"aten::squeeze_copy(Tensor self) -> Tensor", kCopyBy<SqueezeRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", kCopyBy<SqueezeDimRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", kCopyBy<SqueezeDimsRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::t(Tensor(a) self) -> Tensor(a)", kViewBy<MatrixTransposeRule>, kView, kSame},
    {"aten::t_copy(Tensor self) -> Tensor", kCopyBy<MatrixTransposeRule>,
     kCopy | kMovesElements | kPermutesBytes, kSame},
    {"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", kViewBy<TransposeRule>,
     kView, kSame},
    {"aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", kCopyBy<TransposeRule>,
     kCopy | kMovesElements | kPermutesBytes, kSame},
    {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", kViewsBy<UnbindRule>,
     kView | kAlwaysDecomposed, kSame},
    {"aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", kCopiesBy<UnbindRule>,
     kCopy | kSplitsBytes, kSame},
    {"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
     kViewBy<UnfoldRule>, kView, kSame},
    {"aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
     kCopyBy<UnfoldRule>, kCopy | kMovesElements, kSame},
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", kViewBy<UnsqueezeRule>, kCoreView,
     kSame},
    {"aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", kCopyBy<UnsqueezeRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", &MetaKernel<&ReshapedMeta<false>>,
     kCoreView, kSame},
    {"aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
     kReinterpretedViewBy<ViewDtypeCall>, kView},
    {"aten::view_as_complex(Tensor(a) self) -> Tensor(a)", kReinterpretedViewBy<ViewAsComplexCall>,
     kView, kToComplex},
    {"aten::view_as_complex_copy(Tensor self) -> Tensor", kReinterpretedCopyBy<ViewAsComplexCall>,
     kCopy | kReinterpretsBytes, kToComplex},
    {"aten::view_as_real(Tensor(a) self) -> Tensor(a)", kReinterpretedViewBy<ViewAsRealCall>, kView,
     kToReal},
    {"aten::view_as_real_copy(Tensor self) -> Tensor", kReinterpretedCopyBy<ViewAsRealCall>,
     kCopy | kReinterpretsBytes, kToReal},
    {"aten::view_copy(Tensor self, SymInt[] size) -> Tensor", &MetaKernel<&ReshapedMeta<true>>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
     kReinterpretedCopyBy<ViewDtypeCall>, kCopy | kReinterpretsBytes},
};

}  // namespace

absl::Span<const OpDef> ViewOps() { return kOps; }

}  // namespace belay::exir
