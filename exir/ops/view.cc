// View operators and their copies. Each pair is one rule of runtime/kernel/shape_rules: the view
// form gets the layout that the rule computes, the copy form its sizes, contiguous.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_args.h"
#include "exir/ops/meta_checks.h"
#include "exir/ops/strided_meta.h"
#include "runtime/kernel/shape_rules/slice.h"
#include "runtime/kernel/shape_rules/view.h"

namespace belay::exir {
namespace {

using Layout = StridedDims<SymInt>;

template <class Rule>
absl::StatusOr<Layout> ApplyRule(const MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Layout in, LayoutOf(*self));
  return Rule::Apply(in, MetaArgs(context));
}

template <class Rule>
absl::Status ViewMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Layout out, ApplyRule<Rule>(context));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  context.SetOutput(0, ViewOf(*self, std::move(out)));
  return absl::OkStatus();
}

template <class Rule>
absl::Status CopyMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Layout out, ApplyRule<Rule>(context));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  context.SetOutput(0, CopyOf(*self, std::move(out.sizes)));
  return absl::OkStatus();
}

// A view where there is one, else a copy.
absl::Status ReshapeMeta(MetaContext& context) {
  if (ViewMeta<ViewRule>(context).ok()) return absl::OkStatus();
  return CopyMeta<ReshapeRule>(context);
}

template <class Rule, bool kCopy>
absl::Status PiecesMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const Layout in, LayoutOf(*self));
  MetaList pieces;
  ABSL_RETURN_IF_ERROR(Rule::ForEach(in, MetaArgs(context), [&](int, Layout piece) {
    pieces.push_back(kCopy ? CopyOf(*self, std::move(piece.sizes))
                           : ViewOf(*self, std::move(piece)));
    return absl::OkStatus();
  }));
  context.SetOutput(0, std::move(pieces));
  return absl::OkStatus();
}

// The result of a view that reads the elements as another dtype.
absl::Status SetReinterpreted(MetaContext& context, Layout layout, DType dtype, bool copy) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  TensorMeta out = copy ? CopyOf(*self, std::move(layout.sizes)) : ViewOf(*self, std::move(layout));
  out.dtype = dtype;
  context.SetOutput(0, std::move(out));
  return absl::OkStatus();
}

template <bool kCopy>
absl::Status ViewDtypeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(1));
  ABSL_ASSIGN_OR_RETURN(const Layout in, LayoutOf(*self));
  ABSL_ASSIGN_OR_RETURN(Layout out,
                        ReinterpretDims(in, static_cast<int64_t>(DTypeSize(self->dtype)),
                                        static_cast<int64_t>(DTypeSize(dtype))));
  return SetReinterpreted(context, std::move(out), dtype, kCopy);
}

template <bool kCopy>
absl::Status ViewAsRealMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self,
                        TensorOf(context, 0, kComplexTypes | DTypeSet{DType::kComplex32}));
  ABSL_ASSIGN_OR_RETURN(Layout out, ApplyRule<ViewAsRealRule>(context));
  return SetReinterpreted(context, std::move(out), RealPart(self->dtype), kCopy);
}

template <bool kCopy>
absl::Status ViewAsComplexMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self,
                        TensorOf(context, 0, {DType::kFloat16, DType::kFloat32, DType::kFloat64}));
  ABSL_ASSIGN_OR_RETURN(Layout out, ApplyRule<ViewAsComplexRule>(context));
  const DType dtype = self->dtype == DType::kFloat16   ? DType::kComplex32
                      : self->dtype == DType::kFloat32 ? DType::kComplex64
                                                       : DType::kComplex128;
  return SetReinterpreted(context, std::move(out), dtype, kCopy);
}

constexpr uint32_t kView = kDataMovement;
constexpr uint32_t kCoreView = kDataMovement | kCore;
constexpr uint32_t kCopy = kDataMovement | kViewCopy;
constexpr std::string_view kSame = "self:A ->:A A=any";
constexpr std::string_view kToReal = "self:{c64} ->:{f32} | self:{c128} ->:{f64}";
constexpr std::string_view kToComplex = "self:{f32} ->:{c64} | self:{f64} ->:{c128}";

constexpr OpDef kOps[] = {
    {"aten::_conj(Tensor(a) self) -> Tensor(a)", &ViewMeta<IdentityRule>, 0, kSame},
    {"aten::_conj_copy(Tensor self) -> Tensor", &CopyMeta<IdentityRule>, kViewCopy, kSame},
    {"aten::_neg_view(Tensor(a) self) -> Tensor(a)", &ViewMeta<IdentityRule>, 0, kSame},
    {"aten::_neg_view_copy(Tensor self) -> Tensor", &CopyMeta<IdentityRule>, kViewCopy, kSame},
    {"aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
     &ViewMeta<AsStridedRule<1, -1>>, kView, kSame},
    {"aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor",
     &CopyMeta<AsStridedRule<1, -1>>, kCopy | kReshapesBytes, kSame},
    {"aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", &ViewMeta<ViewRule>,
     kView | kReshapesBytes, kSame},
    {"aten::alias(Tensor(a) self) -> Tensor(a)", &ViewMeta<IdentityRule>, kCoreView, kSame},
    {"aten::alias_copy(Tensor self) -> Tensor", &CopyMeta<IdentityRule>,
     kCopy | kMovesElements | kKeepsBytes, kSame},
    {"aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor(a)",
     &ViewMeta<AsStridedRule<>>, kCoreView, kSame},
    {"aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? "
     "storage_offset=None) -> Tensor",
     &CopyMeta<AsStridedRule<>>, kCopy, kSame},
    {"aten::detach(Tensor(a) self) -> Tensor(a)", &ViewMeta<IdentityRule>, kView, kSame},
    {"aten::detach_copy(Tensor self) -> Tensor", &CopyMeta<IdentityRule>, kCopy | kKeepsBytes,
     kSame},
    {"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
     &ViewMeta<DiagonalRule<>>, kCoreView, kSame},
    {"aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
     &CopyMeta<DiagonalRule<>>, kCopy, kSame},
    {"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
     &ViewMeta<ExpandRule>, kCoreView, kSame},
    {"aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
     &CopyMeta<ExpandRule>, kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::lift_fresh(Tensor(a) self) -> Tensor(a)", &ViewMeta<IdentityRule>, kView, kSame},
    {"aten::lift_fresh_copy(Tensor self) -> Tensor", &CopyMeta<IdentityRule>, kCopy | kKeepsBytes,
     kSame},
    {"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
     &ViewMeta<NarrowRule>, kView, kSame},
    {"aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
     &CopyMeta<NarrowRule>, kCopy | kCutsBytes, kSame},
    {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", &ViewMeta<PermuteRule>, kCoreView,
     kSame},
    {"aten::permute_copy(Tensor self, int[] dims) -> Tensor", &CopyMeta<PermuteRule>,
     kCopy | kMovesElements | kPermutesBytes, kSame},
    {"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", &ReshapeMeta,
     kDataMovement | kComposite | kReshapesBytes, kSame},
    {"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
     &ViewMeta<SelectRule<>>, kCoreView, kSame},
    {"aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", &CopyMeta<SelectRule<>>,
     kCopy | kMovesElements | kCutsBytes, kSame},
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
     "step=1) -> Tensor(a)",
     &ViewMeta<SliceRule<>>, kCoreView, kSame},
    {"aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
     "step=1) -> Tensor",
     &CopyMeta<SliceRule<>>, kCopy | kMovesElements | kCutsBytes, kSame},
    {"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
     &PiecesMeta<SplitRule, false>, kView, kSame},
    {"aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
     &PiecesMeta<SplitRule, true>, kCopy | kSplitsBytes, kSame},
    {"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
     &PiecesMeta<SplitWithSizesRule, false>, kCoreView | kAlwaysDecomposed, kSame},
    {"aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
     &PiecesMeta<SplitWithSizesRule, true>, kCopy | kSplitsBytes, kSame},
    {"aten::squeeze(Tensor(a) self) -> Tensor(a)", &ViewMeta<SqueezeRule>, kView, kSame},
    {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", &ViewMeta<SqueezeDimRule>,
     kCoreView, kSame},
    {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", &ViewMeta<SqueezeDimsRule>,
     kCoreView, kSame},
    {"aten::squeeze_copy(Tensor self) -> Tensor", &CopyMeta<SqueezeRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", &CopyMeta<SqueezeDimRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", &CopyMeta<SqueezeDimsRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::t(Tensor(a) self) -> Tensor(a)", &ViewMeta<MatrixTransposeRule>, kView, kSame},
    {"aten::t_copy(Tensor self) -> Tensor", &CopyMeta<MatrixTransposeRule>,
     kCopy | kMovesElements | kPermutesBytes, kSame},
    {"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
     &ViewMeta<TransposeRule>, kView, kSame},
    {"aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
     &CopyMeta<TransposeRule>, kCopy | kMovesElements | kPermutesBytes, kSame},
    {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
     &PiecesMeta<UnbindRule, false>, kView | kAlwaysDecomposed, kSame},
    {"aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", &PiecesMeta<UnbindRule, true>,
     kCopy | kSplitsBytes, kSame},
    {"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
     &ViewMeta<UnfoldRule>, kView, kSame},
    {"aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
     &CopyMeta<UnfoldRule>, kCopy | kMovesElements, kSame},
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", &ViewMeta<UnsqueezeRule>, kCoreView,
     kSame},
    {"aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", &CopyMeta<UnsqueezeRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", &ViewMeta<ViewRule>, kCoreView,
     kSame},
    {"aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", &ViewDtypeMeta<false>,
     kView},
    {"aten::view_as_complex(Tensor(a) self) -> Tensor(a)", &ViewAsComplexMeta<false>, kView,
     kToComplex},
    {"aten::view_as_complex_copy(Tensor self) -> Tensor", &ViewAsComplexMeta<true>,
     kCopy | kReinterpretsBytes, kToComplex},
    {"aten::view_as_real(Tensor(a) self) -> Tensor(a)", &ViewAsRealMeta<false>, kView, kToReal},
    {"aten::view_as_real_copy(Tensor self) -> Tensor", &ViewAsRealMeta<true>,
     kCopy | kReinterpretsBytes, kToReal},
    {"aten::view_copy(Tensor self, SymInt[] size) -> Tensor", &CopyMeta<ReshapeRule>,
     kCopy | kMovesElements | kReshapesBytes, kSame},
    {"aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", &ViewDtypeMeta<true>,
     kCopy | kReinterpretsBytes},
};

}  // namespace

absl::Span<const OpDef> ViewOps() { return kOps; }

}  // namespace belay::exir
