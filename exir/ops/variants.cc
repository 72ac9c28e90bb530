// In-place and out variants. Declares only their schemas; functionalization replaces them by the
// functional overloads.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "exir/op_definition/op_variants.h"
#include "exir/ops/families.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// --- Variants that are derived from the functional overload (DeriveVariant) ---

// Functional overloads with an in-place variant, e.g. add.Scalar for add_.Scalar. Sorted, without
// the namespace.
constexpr std::string_view kInPlace =
    "__and__.Scalar __and__.Tensor __lshift__.Scalar __lshift__.Tensor __or__.Scalar "
    "__or__.Tensor __rshift__.Scalar __rshift__.Tensor __xor__.Scalar __xor__.Tensor abs "
    "absolute acos acosh add.Scalar add.Tensor addbmm addcdiv addcmul addmm addmv addr "
    "alpha_dropout arccos arccosh arcsin arcsinh arctan arctan2 arctanh as_strided asin asinh "
    "atan atan2 atanh baddbmm bernoulli.Tensor bitwise_and.Scalar bitwise_and.Tensor "
    "bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar bitwise_not bitwise_or.Scalar "
    "bitwise_or.Tensor bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar "
    "bitwise_xor.Scalar bitwise_xor.Tensor cauchy ceil celu clamp clamp.Tensor clamp_max "
    "clamp_max.Tensor clamp_min clamp_min.Tensor clip clip.Tensor conj_physical copysign.Scalar "
    "copysign.Tensor cos cosh cumprod cumsum deg2rad detach digamma div.Scalar div.Scalar_mode "
    "div.Tensor div.Tensor_mode divide.Scalar divide.Scalar_mode divide.Tensor "
    "divide.Tensor_mode dropout elu eq.Scalar eq.Tensor erf erfc erfinv exp exp2 expm1 "
    "exponential feature_alpha_dropout feature_dropout fill.Scalar fill.Tensor fix floor "
    "floor_divide.Scalar fmod.Scalar fmod.Tensor frac gcd ge.Scalar ge.Tensor geometric "
    "greater.Scalar greater.Tensor greater_equal.Scalar greater_equal.Tensor gt.Scalar gt.Tensor "
    "hardsigmoid hardswish hardtanh heaviside hypot i0 igamma igammac index_add "
    "index_fill.int_Scalar index_fill.int_Tensor index_reduce lcm le.Scalar le.Tensor leaky_relu "
    "lerp.Scalar lerp.Tensor less.Scalar less.Tensor less_equal.Scalar less_equal.Tensor lgamma "
    "log log10 log1p log2 log_normal logical_and logical_not logical_or logical_xor logit "
    "lt.Scalar lt.Tensor masked_fill.Scalar masked_fill.Tensor masked_scatter mish mul.Scalar "
    "mul.Tensor multiply.Scalar multiply.Tensor mvlgamma nan_to_num ne.Scalar ne.Tensor neg "
    "negative nextafter not_equal.Scalar not_equal.Tensor put rad2deg random random.from "
    "random.to reciprocal relu relu6 remainder.Scalar remainder.Tensor renorm round "
    "round.decimals rrelu rsqrt scatter.reduce scatter.src scatter.value scatter.value_reduce "
    "scatter_add scatter_reduce.two selu sgn sigmoid sign silu sin sinc sinh sqrt square squeeze "
    "squeeze.dim squeeze.dims sub.Scalar sub.Tensor subtract.Scalar subtract.Tensor swapaxes "
    "swapdims t tan tanh threshold tril triu true_divide.Scalar true_divide.Tensor trunc uniform "
    "unsqueeze xlogy.Scalar_Other xlogy.Tensor zero";

// Functional overloads with an out variant, e.g. add.Scalar for add.Scalar_out, relu for relu.out.
// Sorted, without the namespace.
constexpr std::string_view kOut =
    "__lshift__.Scalar __lshift__.Tensor __rshift__.Scalar __rshift__.Tensor "
    "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _cdist_forward "
    "_embedding_bag _euclidean_dist _fft_c2c _fft_c2r _fft_r2c _log_softmax "
    "_native_batch_norm_legit_no_training _pdist_forward _softmax _unsafe_view "
    "_upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d "
    "_upsample_nearest_exact3d _weight_norm_interface abs absolute acos acosh add.Scalar addbmm "
    "addcdiv addcmul addmm addmv addr affine_grid_generator alias_copy all.dims amax amin "
    "aminmax angle any.dims arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin "
    "as_strided_copy as_strided_scatter asin asinh atan atanh avg_pool2d avg_pool3d baddbmm "
    "baddbmm.dtype bernoulli binary_cross_entropy binary_cross_entropy_with_logits "
    "bitwise_and.Scalar bitwise_and.Scalar_Tensor bitwise_and.Tensor "
    "bitwise_left_shift.Scalar_Tensor bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar "
    "bitwise_not bitwise_or.Scalar bitwise_or.Scalar_Tensor bitwise_or.Tensor "
    "bitwise_right_shift.Scalar_Tensor bitwise_right_shift.Tensor "
    "bitwise_right_shift.Tensor_Scalar bitwise_xor.Scalar bitwise_xor.Scalar_Tensor "
    "bitwise_xor.Tensor block_diag bmm bucketize.Tensor cat ceil celu channel_shuffle clamp "
    "clamp.Tensor clamp_max clamp_max.Tensor clamp_min clamp_min.Tensor clip clip.Tensor clone "
    "col2im conj_physical constant_pad_nd convolution convolution_backward copy copysign.Scalar "
    "cos cosh count_nonzero count_nonzero.dim_IntList cummax cummin cumprod cumsum deg2rad diag "
    "diag_embed diagonal_copy diagonal_scatter dist div.Scalar div.Scalar_mode dot elu embedding "
    "embedding_dense_backward eq.Scalar eq.Tensor erf exp exp2 expand_copy expm1 fft_fft "
    "fft_fft2 fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ihfft "
    "fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn "
    "fill.Scalar fill.Tensor fix flip floor floor_divide floor_divide.Scalar fmod.Scalar "
    "fmod.Tensor frac gather ge.Scalar ge.Tensor gelu glu greater.Scalar greater.Tensor "
    "greater_equal.Scalar greater_equal.Tensor grid_sampler_2d gt.Scalar gt.Tensor hardshrink "
    "hardsigmoid hardswish hardtanh heaviside huber_loss hypot im2col index.Tensor index_add "
    "index_copy index_fill.int_Scalar index_fill.int_Tensor index_put index_select "
    "isin.Scalar_Tensor isin.Tensor_Scalar isin.Tensor_Tensor isinf isnan isneginf isposinf "
    "le.Scalar le.Tensor leaky_relu lerp.Scalar lerp.Tensor less.Scalar less.Tensor "
    "less_equal.Scalar less_equal.Tensor lift_fresh_copy linalg_cross linalg_vector_norm linear "
    "log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor "
    "logit logsumexp lt.Scalar lt.Tensor masked_fill.Scalar masked_fill.Tensor masked_scatter "
    "masked_select matmul max_unpool2d max_unpool3d maximum median minimum mish mm mse_loss "
    "mul.Scalar multi_margin_loss mv mvlgamma nan_to_num nansum narrow_copy native_dropout "
    "native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward "
    "ne.Scalar ne.Tensor neg negative nll_loss nonzero norm.Scalar norm.ScalarOpt_dtype "
    "not_equal.Scalar not_equal.Tensor permute_copy pixel_shuffle pixel_unshuffle pow.Scalar "
    "pow.Tensor_Scalar pow.Tensor_Tensor prod rad2deg reciprocal reflection_pad1d "
    "reflection_pad2d reflection_pad3d relu remainder.Scalar remainder.Scalar_Tensor "
    "remainder.Tensor renorm repeat repeat_interleave.Tensor replication_pad1d replication_pad2d "
    "replication_pad3d roll rot90 round round.decimals rsqrt rsub.Scalar rsub.Tensor "
    "scatter.reduce scatter.src scatter.value scatter.value_reduce scatter_add "
    "scatter_reduce.two searchsorted.Tensor select_scatter sgn sigmoid sign signbit silu sin "
    "sinc sinh slice_scatter smooth_l1_loss soft_margin_loss softplus softshrink special_entr "
    "special_log_ndtr special_ndtr special_xlog1py special_xlog1py.other_scalar "
    "special_xlog1py.self_scalar sqrt square squeeze_copy squeeze_copy.dim squeeze_copy.dims "
    "stack std.correction std_mean.correction sub.Scalar sum t_copy take tan tanh threshold "
    "trace transpose_copy.int tril triu trunc unfold_copy unsqueeze_copy upsample_bilinear2d "
    "upsample_bilinear2d.vec upsample_linear1d upsample_nearest1d upsample_nearest2d "
    "upsample_nearest2d.vec upsample_nearest3d var.correction var_mean.correction vdot view_copy "
    "view_copy.dtype where.self zero";

// Variants with irregular names.
struct Named {
  std::string_view functional;
  std::string_view variant;    // of the same operator: an out variant; of another: an in-place one
  std::string_view outs = "";  // names of the out arguments if irregular
};
// Sorted.
constexpr Named kNamed[] = {
    {"_linalg_det", "_linalg_det.result"},
    {"_native_batch_norm_legit.no_stats", "_native_batch_norm_legit.no_stats_out",
     "out save_mean save_invstd"},
    {"adaptive_max_pool2d", "adaptive_max_pool2d.out", "out indices"},
    {"adaptive_max_pool3d", "adaptive_max_pool3d.out", "out indices"},
    {"add.Tensor", "add.out"},
    {"all", "all.all_out"},
    {"all.dim", "all.out"},
    {"any", "any.all_out"},
    {"any.dim", "any.out"},
    {"avg_pool2d_backward", "avg_pool2d_backward.grad_input", "grad_input"},
    {"copysign.Tensor", "copysign.out"},
    {"div.Tensor", "div.out"},
    {"div.Tensor_mode", "div.out_mode"},
    {"divide.Tensor", "divide.out"},
    {"divide.Tensor_mode", "divide.out_mode"},
    {"float_power.Tensor_Scalar", "float_power_.Scalar"},
    {"float_power.Tensor_Tensor", "float_power_.Tensor"},
    {"floor_divide", "floor_divide_.Tensor"},
    {"kthvalue", "kthvalue.values"},
    {"ldexp.Tensor", "ldexp.out"},
    {"ldexp.Tensor", "ldexp_"},
    {"linalg_cholesky_ex", "linalg_cholesky_ex.L"},
    {"linalg_inv_ex", "linalg_inv_ex.inverse"},
    {"max", "max.unary_out"},
    {"max.dim", "max.dim_max", "max max_values"},
    {"max.other", "max.out"},
    {"max_pool2d_with_indices", "max_pool2d_with_indices.out", "out indices"},
    {"max_pool2d_with_indices_backward", "max_pool2d_with_indices_backward.grad_input",
     "grad_input"},
    {"max_pool3d_with_indices", "max_pool3d_with_indices.out", "out indices"},
    {"mean", "mean.dtype_out"},
    {"mean.dim", "mean.out"},
    {"median.dim", "median.dim_values"},
    {"min", "min.unary_out"},
    {"min.dim", "min.dim_min", "min min_indices"},
    {"min.other", "min.out"},
    {"mul.Tensor", "mul.out"},
    {"multiply.Tensor", "multiply.out"},
    {"native_batch_norm", "native_batch_norm.out", "out save_mean save_invstd"},
    {"norm.ScalarOpt_dim", "norm.out"},
    {"norm.ScalarOpt_dim_dtype", "norm.dtype_out"},
    {"pow.Tensor_Scalar", "pow_.Scalar"},
    {"pow.Tensor_Tensor", "pow_.Tensor"},
    {"prod.dim_int", "prod.int_out"},
    {"sort", "sort.values"},
    {"sort.stable", "sort.values_stable"},
    {"std.dim", "std.out"},
    {"sub.Tensor", "sub.out"},
    {"subtract.Tensor", "subtract.out"},
    {"sum.dim_IntList", "sum.IntList_out"},
    {"topk", "topk.values"},
    {"transpose.int", "transpose_"},
    {"true_divide.Tensor", "true_divide.out"},
    {"var.dim", "var.out"},
    {"xlogy.Scalar_Other", "xlogy.OutScalar_Other"},
    {"xlogy.Scalar_Self", "xlogy.OutScalar_Self"},
    {"xlogy.Tensor", "xlogy.OutTensor"},
};

// --- Variants without a functional overload of the same signature ---

constexpr OpDef kOps[] = {
    {.schema = "aten::bernoulli.float_out(Tensor self, float p=0.5, *, Generator? generator=None, "
               "Tensor(a!) out) -> Tensor(a!)"},
    {.schema =
         "aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> "
         "Tensor(a!)"},
    {.schema = "aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float "
               "norm_type) -> Tensor(a!)"},
    {.schema = "aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> "
               "Tensor(a!)"},
    {.schema = "aten::log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) "
               "buffer) -> (Tensor(a!), Tensor(b!))"},
    {.schema =
         "aten::multilabel_margin_loss_forward.output(Tensor self, Tensor target, int "
         "reduction, *, Tensor(a!) output, Tensor(b!) is_target) -> (Tensor(a!), Tensor(b!))"},
    {.schema = "aten::nll_loss2d_forward.output(Tensor self, Tensor target, Tensor? weight, int "
               "reduction, SymInt ignore_index, *, Tensor(a!) output, Tensor(b!) total_weight) -> "
               "(Tensor(a!), Tensor(b!))"},
    {.schema = "aten::nll_loss_forward.output(Tensor self, Tensor target, Tensor? weight, int "
               "reduction, SymInt ignore_index, *, Tensor(a!) output, Tensor(b!) total_weight) -> "
               "(Tensor(a!), Tensor(b!))"},
    {.schema = "aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? "
               "generator=None) -> Tensor(a!)"},
    {.schema = "aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)"},
};

std::vector<std::string> Words(std::string_view text) {
  return absl::StrSplit(ToAbsl(text), ' ', absl::SkipEmpty());
}

absl::Status AddVariant(OpRegistry& ops, std::string_view functional, SchemaKind kind,
                        const Named* named) {
  ABSL_ASSIGN_OR_RETURN(const OpOverload* op, ops.Lookup(absl::StrCat("aten.", functional)));
  ABSL_ASSIGN_OR_RETURN(FunctionSchema schema, DeriveVariant(*op->schema(), kind));
  if (named != nullptr) {
    const std::pair<std::string, std::string> name =
        absl::StrSplit(ToAbsl(named->variant), absl::MaxSplits('.', 1));
    schema.op = name.first;
    schema.overload = name.second.empty() ? "default" : name.second;
    const std::vector<std::string> outs = Words(named->outs);
    for (size_t i = 0; i < outs.size(); ++i) {
      schema.arguments[schema.arguments.size() - outs.size() + i].name = outs[i];
    }
  }
  return ops.Define({.schema = schema.ToString()}).status();
}

}  // namespace

absl::Span<const OpDef> VariantsOps() { return kOps; }

absl::Status AddVariants(OpRegistry& ops) {
  for (const std::string& op : Words(kInPlace)) {
    ABSL_RETURN_IF_ERROR(AddVariant(ops, op, SchemaKind::kInplace, nullptr));
  }
  for (const std::string& op : Words(kOut)) {
    ABSL_RETURN_IF_ERROR(AddVariant(ops, op, SchemaKind::kOut, nullptr));
  }
  for (const Named& row : kNamed) {
    const std::string_view op = row.functional.substr(0, row.functional.find('.'));
    const bool out = row.variant.substr(0, row.variant.find('.')) == op;
    ABSL_RETURN_IF_ERROR(
        AddVariant(ops, row.functional, out ? SchemaKind::kOut : SchemaKind::kInplace, &row));
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
