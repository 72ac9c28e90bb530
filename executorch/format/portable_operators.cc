#include "executorch/format/portable_operators.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace belay::pte {
namespace {

// Operators that share a list of arguments. The prefix "aten::" is omitted. "=" introduces an
// exception to the rule of portable_operators.h: the overload of the functional operator, or '-' if
// it has none.
struct Row {
  std::string_view operators;
  std::string_view arguments;
};
constexpr Row kRows[] = {
    // kernels/portable and its optimized replacements: docs/pte-format.md §12.
    {"_conj_physical.out abs.out acos.out acosh.out alias_copy.out any.all_out=default asin.out "
     "asinh.out atan.out atanh.out bitwise_not.out ceil.out cos.out cosh.out detach_copy.out "
     "erf.out exp.out expm1.out floor.out isinf.out isnan.out lift_fresh_copy.out log.out "
     "log10.out log1p.out log2.out logical_not.out max.unary_out=default min.unary_out=default "
     "neg.out nonzero.out reciprocal.out relu.out round.out rsqrt.out sigmoid.out sign.out "
     "sin.out sinh.out sqrt.out t_copy.out tan.out tanh.out trunc.out view_as_real_copy.out "
     "et_copy::_d2h_copy.out et_copy::_h2d_copy.out",
     "Tensor self, Tensor! out"},
    {"atan2.out bitwise_and.Tensor_out bitwise_left_shift.Tensor_out bitwise_or.Tensor_out "
     "bitwise_right_shift.Tensor_out bitwise_xor.Tensor_out div.out=Tensor eq.Tensor_out "
     "floor_divide.out fmod.Tensor_out ge.Tensor_out gt.Tensor_out le.Tensor_out logical_and.out "
     "logical_or.out logical_xor.out lt.Tensor_out maximum.out minimum.out mul.out=Tensor "
     "ne.Tensor_out remainder.Tensor_out",
     "Tensor self, Tensor other, Tensor! out"},
    {"bitwise_and.Scalar_out bitwise_left_shift.Tensor_Scalar_out bitwise_or.Scalar_out "
     "bitwise_right_shift.Tensor_Scalar_out bitwise_xor.Scalar_out div.Scalar_out eq.Scalar_out "
     "fmod.Scalar_out ge.Scalar_out gt.Scalar_out le.Scalar_out lt.Scalar_out mul.Scalar_out "
     "ne.Scalar_out remainder.Scalar_out",
     "Tensor self, Scalar other, Tensor! out"},
    {"ones.out rand.out randn.out zeros.out", "int[] size, Tensor! out"},
    {"add.Scalar_out rsub.Scalar_out sub.Scalar_out",
     "Tensor self, Scalar other, Scalar alpha, Tensor! out"},
    {"_log_softmax.out _softmax.out", "Tensor self, int dim, bool half_to_float, Tensor! out"},
    {"add.out=Tensor sub.out=Tensor", "Tensor self, Tensor other, Scalar alpha, Tensor! out"},
    {"amax.out amin.out", "Tensor self, int[] dim, bool keepdim, Tensor! out"},
    {"argmax.out argmin.out", "Tensor self, int? dim, bool keepdim, Tensor! out"},
    {"bmm.out mm.out", "Tensor self, Tensor mat2, Tensor! out"},
    {"cat.out stack.out", "Tensor[] tensors, int dim, Tensor! out"},
    {"flip.out permute_copy.out", "Tensor self, int[] dims, Tensor! out"},
    {"mean.dtype_out=default prod.out", "Tensor self, ScalarType? dtype, Tensor! out"},
    {"mean.out=dim sum.IntList_out=dim_IntList",
     "Tensor self, int[]? dim, bool keepdim, ScalarType? dtype, Tensor! out"},
    {"reflection_pad1d.out replication_pad1d.out", "Tensor self, int[] padding, Tensor! out"},
    {"reflection_pad2d.out replication_pad2d.out", "Tensor self, int[] padding, Tensor! out"},
    {"reflection_pad3d.out replication_pad3d.out", "Tensor self, int[] padding, Tensor! out"},
    {"scatter.src_out scatter_add.out",
     "Tensor self, int dim, Tensor index, Tensor src, Tensor! out"},
    {"squeeze_copy.dim_out unsqueeze_copy.out", "Tensor self, int dim, Tensor! out"},
    {"dim_order_ops::_clone_dim_order.out dim_order_ops::_to_dim_order_copy.out",
     "Tensor self, bool non_blocking, int[]? dim_order, Tensor! out"},
    {"_adaptive_avg_pool2d.out", "Tensor self, int[] output_size, Tensor! out"},
    {"_cdist_forward.out", "Tensor x1, Tensor x2, float p, int? compute_mode, Tensor! out"},
    {"_fft_c2r.out", "Tensor self, int[] dim, int normalization, int last_dim_size, Tensor! out"},
    {"_fft_r2c.out", "Tensor self, int[] dim, int normalization, bool onesided, Tensor! out"},
    {"_native_batch_norm_legit.no_stats_out",
     "Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps, "
     "Tensor! out, Tensor! save_mean, Tensor! save_invstd"},
    {"_native_batch_norm_legit.out",
     "Tensor input, Tensor? weight, Tensor? bias, Tensor! running_mean, Tensor! running_var, "
     "bool training, float momentum, float eps, Tensor! out, Tensor! save_mean, Tensor! "
     "save_invstd"},
    {"_native_batch_norm_legit_no_training.out",
     "Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float "
     "momentum, float eps, Tensor! out0, Tensor! out1, Tensor! out2"},
    {"_pdist_forward.out", "Tensor self, float p, Tensor! out"},
    {"_to_copy.out", "Tensor self, bool non_blocking, MemoryFormat? memory_format, Tensor! out"},
    {"_upsample_bilinear2d_aa.out",
     "Tensor self, int[] output_size, bool align_corners, float? scales_h, float? scales_w, "
     "Tensor! out"},
    {"addmm.out", "Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha, Tensor! out"},
    {"any.dims_out", "Tensor self, int[]? dim, bool keepdim, Tensor! out"},
    {"any.out=dim", "Tensor self, int dim, bool keepdim, Tensor! out"},
    {"arange.out", "Scalar end, Tensor! out"},
    {"arange.start_out=start_step", "Scalar start, Scalar end, Scalar step, Tensor! out"},
    {"as_strided_copy.out",
     "Tensor self, int[] size, int[] stride, int? storage_offset, Tensor! out"},
    {"avg_pool2d.out",
     "Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool "
     "count_include_pad, int? divisor_override, Tensor! out"},
    {"clamp.Tensor_out", "Tensor self, Tensor? min, Tensor? max, Tensor! out"},
    {"clamp.out", "Tensor self, Scalar? min, Scalar? max, Tensor! out"},
    {"clone.out", "Tensor self, MemoryFormat? memory_format, Tensor! out"},
    {"constant_pad_nd.out", "Tensor self, int[] pad, Scalar value, Tensor! out"},
    {"convolution.out",
     "Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
     "bool transposed, int[] output_padding, int groups, Tensor! out"},
    {"convolution_backward.out",
     "Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[] "
     "padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[] "
     "output_mask, Tensor! out0, Tensor! out1, Tensor! out2"},
    {"copy.out", "Tensor self, Tensor src, bool non_blocking, Tensor! out"},
    {"copy_", "Tensor! self, Tensor src, bool non_blocking -> self"},
    {"cumsum.out", "Tensor self, int dim, ScalarType? dtype, Tensor! out"},
    {"diagonal_copy.out", "Tensor self, int offset, int dim1, int dim2, Tensor! out"},
    {"div.Scalar_mode_out", "Tensor self, Scalar other, str? rounding_mode, Tensor! out"},
    {"div.out_mode=Tensor_mode", "Tensor self, Tensor other, str? rounding_mode, Tensor! out"},
    {"elu.out", "Tensor self, Scalar alpha, Scalar scale, Scalar input_scale, Tensor! out"},
    {"embedding.out",
     "Tensor weight, Tensor indices, int padding_idx, bool scale_grad_by_freq, bool sparse, "
     "Tensor! out"},
    {"empty.out=memory_format", "int[] size, MemoryFormat? memory_format, Tensor! out"},
    {"expand_copy.out", "Tensor self, int[] size, bool implicit, Tensor! out"},
    {"fill.Scalar_out", "Tensor self, Scalar value, Tensor! out"},
    {"fill.Tensor_out", "Tensor self, Tensor value, Tensor! out"},
    {"full.out", "int[] size, Scalar fill_value, Tensor! out"},
    {"full_like.out", "Tensor self, Scalar fill_value, MemoryFormat? memory_format, Tensor! out"},
    {"gather.out", "Tensor self, int dim, Tensor index, bool sparse_grad, Tensor! out"},
    {"gelu.out", "Tensor self, str approximate, Tensor! out"},
    {"glu.out", "Tensor self, int dim, Tensor! out"},
    {"grid_sampler_2d.out",
     "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, "
     "Tensor! out"},
    {"hardtanh.out", "Tensor self, Scalar min_val, Scalar max_val, Tensor! out"},
    {"index.Tensor_out", "Tensor self, Tensor?[] indices, Tensor! out"},
    {"index_put.out",
     "Tensor self, Tensor?[] indices, Tensor values, bool accumulate, Tensor! out"},
    {"index_put_", "Tensor! self, Tensor?[] indices, Tensor values, bool accumulate -> self"},
    {"index_select.out", "Tensor self, int dim, Tensor index, Tensor! out"},
    {"leaky_relu.out", "Tensor self, Scalar negative_slope, Tensor! out"},
    {"linear.out", "Tensor input, Tensor weight, Tensor? bias, Tensor! out"},
    {"logit.out", "Tensor self, float? eps, Tensor! out"},
    {"masked_fill.Scalar_out", "Tensor self, Tensor mask, Scalar value, Tensor! out"},
    {"masked_scatter.out", "Tensor self, Tensor mask, Tensor source, Tensor! out"},
    {"masked_select.out", "Tensor self, Tensor mask, Tensor! out"},
    {"max.dim_max=dim", "Tensor self, int dim, bool keepdim, Tensor! max, Tensor! max_values"},
    {"max_pool2d_with_indices.out",
     "Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool "
     "ceil_mode, Tensor! out, Tensor! indices"},
    {"max_pool2d_with_indices_backward.grad_input=default",
     "Tensor grad_output, Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] "
     "dilation, bool ceil_mode, Tensor indices, Tensor! grad_input"},
    {"min.dim_min=dim", "Tensor self, int dim, bool keepdim, Tensor! min, Tensor! min_indices"},
    {"narrow_copy.out", "Tensor self, int dim, int start, int length, Tensor! out"},
    {"native_dropout.out", "Tensor input, float p, bool? train, Tensor! out0, Tensor! out1"},
    {"native_group_norm.out",
     "Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps, "
     "Tensor! out0, Tensor! out1, Tensor! out2"},
    {"native_layer_norm.out",
     "Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, Tensor! "
     "out0, Tensor! out1, Tensor! out2"},
    {"pixel_shuffle.out", "Tensor self, int upscale_factor, Tensor! out"},
    {"pixel_unshuffle.out", "Tensor self, int downscale_factor, Tensor! out"},
    {"pow.Scalar_out", "Scalar self, Tensor exponent, Tensor! out"},
    {"pow.Tensor_Scalar_out", "Tensor self, Scalar exponent, Tensor! out"},
    {"pow.Tensor_Tensor_out", "Tensor self, Tensor exponent, Tensor! out"},
    {"prod.int_out=dim_int", "Tensor self, int dim, bool keepdim, ScalarType? dtype, Tensor! out"},
    {"repeat.out", "Tensor self, int[] repeats, Tensor! out"},
    {"repeat_interleave.Tensor_out", "Tensor repeats, int? output_size, Tensor! out"},
    {"roll.out", "Tensor self, int[] shifts, int[] dims, Tensor! out"},
    {"scalar_tensor.out", "Scalar s, Tensor! out"},
    {"scatter.value_out", "Tensor self, int dim, Tensor index, Scalar value, Tensor! out"},
    {"select_copy.int_out", "Tensor self, int dim, int index, Tensor! out"},
    {"select_scatter.out", "Tensor self, Tensor src, int dim, int index, Tensor! out"},
    {"slice_copy.Tensor_out", "Tensor self, int dim, int? start, int? end, int step, Tensor! out"},
    {"slice_scatter.out",
     "Tensor self, Tensor src, int dim, int? start, int? end, int step, Tensor! out"},
    {"split_copy.Tensor_out", "Tensor self, int split_size, int dim, Tensor![] out"},
    {"split_with_sizes_copy.out", "Tensor self, int[] split_sizes, int dim, Tensor![] out"},
    {"squeeze_copy.dims_out", "Tensor self, int[] dim, Tensor! out"},
    {"topk.values=default",
     "Tensor self, int k, int dim, bool largest, bool sorted, Tensor! values, Tensor! indices"},
    {"transpose_copy.int_out", "Tensor self, int dim0, int dim1, Tensor! out"},
    {"tril.out", "Tensor self, int diagonal, Tensor! out"},
    {"unbind_copy.int_out", "Tensor self, int dim, Tensor![] out"},
    {"unfold_copy.out", "Tensor self, int dimension, int size, int step, Tensor! out"},
    {"upsample_bilinear2d.vec_out",
     "Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors, Tensor! out"},
    {"upsample_nearest2d.vec_out",
     "Tensor input, int[]? output_size, float[]? scale_factors, Tensor! out"},
    {"var.correction_out",
     "Tensor self, int[]? dim, Scalar? correction, bool keepdim, Tensor! out"},
    {"var.out=dim", "Tensor self, int[]? dim, bool unbiased, bool keepdim, Tensor! out"},
    {"var_mean.correction_out",
     "Tensor self, int[]? dim, Scalar? correction, bool keepdim, Tensor! out0, Tensor! out1"},
    {"view_copy.out", "Tensor self, int[] size, Tensor! out"},
    {"where.self_out", "Tensor condition, Tensor self, Tensor other, Tensor! out"},
    {"dim_order_ops::_empty_dim_order.out", "int[] size, int[]? dim_order, Tensor! out"},
    // kernels/quantized, a separate library.
    {"quantized_decomposed::quantize_per_tensor.out",
     "Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, "
     "Tensor! out"},
    {"quantized_decomposed::quantize_per_tensor.Tensor_out=tensor",
     "Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, "
     "ScalarType dtype, Tensor! out"},
    {"quantized_decomposed::dequantize_per_tensor.out",
     "Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, "
     "ScalarType? out_dtype, Tensor! out"},
    {"quantized_decomposed::dequantize_per_tensor.Tensor_out=tensor",
     "Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, "
     "ScalarType dtype, ScalarType? out_dtype, Tensor! out"},
    {"quantized_decomposed::quantize_per_channel.out",
     "Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, "
     "ScalarType dtype, Tensor! out"},
    {"quantized_decomposed::dequantize_per_channel.out",
     "Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, "
     "ScalarType dtype, ScalarType? out_dtype, Tensor! out"},
    {"quantized_decomposed::quantize_per_token.out",
     "Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
     "ScalarType dtype, Tensor! out"},
    {"quantized_decomposed::dequantize_per_token.out",
     "Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
     "ScalarType dtype, ScalarType output_dtype, Tensor! out"},
    {"quantized_decomposed::choose_qparams.Tensor_out=tensor",
     "Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype, Tensor! scale_out, "
     "Tensor! zero_point_out"},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric.out",
     "Tensor input, ScalarType dtype, Tensor! scale_out, Tensor! zero_point_out"},
    {"quantized_decomposed::add.out",
     "Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, "
     "float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, "
     "int out_zero_point, int out_quant_min, int out_quant_max, Tensor! out"},
    {"quantized_decomposed::embedding_2bit.out quantized_decomposed::embedding_4bit.out "
     "quantized_decomposed::embedding_byte.out",
     "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, "
     "int weight_quant_max, Tensor indices, Tensor! out"},
    {"quantized_decomposed::embedding_2bit.dtype_out "
     "quantized_decomposed::embedding_4bit.dtype_out "
     "quantized_decomposed::embedding_byte.dtype_out",
     "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, "
     "int weight_quant_max, Tensor indices, ScalarType? dtype, Tensor! out"},
    {"quantized_decomposed::mixed_linear.out",
     "Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "ScalarType? dtype, Tensor! out"},
    {"quantized_decomposed::mixed_mm.out",
     "Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, Tensor! out"},
    // extension/llm/custom_ops, a separate library.
    {"llama::custom_quantized_sdpa.out",
     "Tensor query, Tensor key, Tensor value, int start_pos, Tensor? attn_mask, float drpout_p, "
     "bool is_causal, float? scale, Tensor? q_zero_points, Tensor? q_scales, Tensor? "
     "k_zero_points, Tensor? k_scales, Tensor? v_zero_points, Tensor? v_scales, bool "
     "is_seq_at_dim_2, Tensor! out"},
    {"llama::custom_sdpa.out",
     "Tensor query, Tensor key, Tensor value, int start_pos, Tensor? attn_mask, float drpout_p, "
     "bool is_causal, float? scale, Tensor! out"},
    {"llama::fast_hadamard_transform.out", "Tensor mat, Tensor! out"},
    {"llama::sdpa_with_kv_cache.out",
     "Tensor query, Tensor key, Tensor value, Tensor! key_cache, Tensor! value_cache, int "
     "start_pos, int seq_len, Tensor? attn_mask, float drpout_p, bool is_causal, float? scale, "
     "Tensor! out"},
    {"llama::update_cache.out", "Tensor value, Tensor! cache, int start_pos, Tensor! out"},
    {"llama::update_cache_with_indices.out",
     "Tensor value, Tensor! cache, int start_pos, Tensor indices, Tensor! out"},
    // Built into the runtime: docs/pte-format.md §13.
    {"executorch_prim::add.Scalar executorch_prim::sub.Scalar executorch_prim::mul.Scalar "
     "executorch_prim::floordiv.Scalar executorch_prim::mod.Scalar=- "
     "executorch_prim::truediv.Scalar executorch_prim::eq.Scalar executorch_prim::gt.Scalar "
     "executorch_prim::lt.Scalar executorch_prim::ge.Scalar executorch_prim::le.Scalar "
     "executorch_prim::sym_max.Scalar executorch_prim::sym_min.Scalar "
     "executorch_prim::floordiv.int=- executorch_prim::mod.int=-",
     "Scalar a, Scalar b -> value"},
    {"executorch_prim::neg.Scalar executorch_prim::ceil.Scalar executorch_prim::trunc.Scalar "
     "executorch_prim::round.Scalar=- executorch_prim::sym_not.Scalar "
     "executorch_prim::sym_float.Scalar executorch_prim::sym_int.Scalar",
     "Scalar a -> value"},
    {"executorch_prim::sym_ite.Scalar", "Scalar b, Scalar t, Scalar f -> value"},
    {"sym_size.int", "Tensor self, int dim -> value"},
    {"sym_numel _local_scalar_dense", "Tensor self -> value"},
    {"executorch_prim::et_view.default=-", "Tensor self, int[] size -> value"},
    {"executorch_prim::et_copy_index.tensor=-", "Tensor! to, Tensor from, int index -> none"},
};

constexpr std::pair<std::string_view, ArgumentKind> kKinds[] = {
    {"Tensor", ArgumentKind::kTensor}, {"Scalar", ArgumentKind::kScalar},
    {"int", ArgumentKind::kInt},       {"float", ArgumentKind::kFloat},
    {"bool", ArgumentKind::kBool},     {"ScalarType", ArgumentKind::kDtype},
    {"str", ArgumentKind::kString},    {"MemoryFormat", ArgumentKind::kMemoryFormat},
};

// Suffixes after " -> "; rows with out tensors have none.
constexpr std::pair<std::string_view, PortableOperator::Result> kResults[] = {
    {"self", PortableOperator::Result::kSelf},
    {"value", PortableOperator::Result::kValue},
    {"none", PortableOperator::Result::kNone},
};

// Splits `text` at the first `mark`; without one, the second part is empty.
std::pair<std::string_view, std::string_view> Cut(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + mark.size())};
}

bool DropSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

PortableArgument ParseArgument(std::string_view text) {
  auto [type, argument_name] = Cut(text, " ");
  PortableArgument argument;
  argument.name = argument_name;
  argument.optional = DropSuffix(type, "?");
  argument.list = DropSuffix(type, "[]");
  argument.element_optional = argument.list && DropSuffix(type, "?");
  argument.written = DropSuffix(type, "!");
  for (const auto& [name, kind] : kKinds) {
    if (name == type) argument.kind = kind;
  }
  return argument;
}

// "aten::add.Scalar_out", "" → "aten.add.Scalar".
std::string FunctionalName(std::string_view name, std::string_view given) {
  if (given == "-") return "";
  const auto [ns, rest] = Cut(name, "::");
  const auto [op, written_overload] = Cut(rest, ".");
  std::string_view overload = given.empty() ? written_overload : given;
  DropSuffix(overload, "_out");
  if (overload == "out" || overload.empty()) overload = "default";
  std::string functional(ns);
  return functional.append(".").append(op).append(".").append(overload);
}

void ParseRow(const Row& row, std::vector<PortableOperator>& out) {
  auto [arguments_text, word] = Cut(row.arguments, " -> ");
  PortableOperator op;
  while (!arguments_text.empty()) {
    const auto [argument, others] = Cut(arguments_text, ", ");
    op.arguments.push_back(ParseArgument(argument));
    arguments_text = others;
  }
  for (const auto& [name, result] : kResults) {
    if (name == word) op.result = result;
  }
  if (op.result == PortableOperator::Result::kOut) {
    while (op.arguments[op.arguments.size() - 1 - op.outs].written) ++op.outs;
  }
  for (std::string_view names = row.operators; !names.empty();) {
    const auto [text, others] = Cut(names, " ");
    const auto [name, given] = Cut(text, "=");
    op.name = name.find("::") == std::string_view::npos ? "aten::" : "";
    op.name.append(name);
    op.functional = FunctionalName(op.name, given);
    out.push_back(op);
    names = others;
  }
}

struct Table {
  std::vector<PortableOperator> operators;
  absl::flat_hash_map<std::string_view, const PortableOperator*> by_name, by_functional;
};

const Table& Operators() {
  static const Table* const table = [] {
    auto* t = new Table;
    for (const Row& row : kRows) ParseRow(row, t->operators);
    for (const PortableOperator& op : t->operators) {
      t->by_name.emplace(op.name, &op);
      if (!op.functional.empty()) t->by_functional.emplace(op.functional, &op);
    }
    return t;
  }();
  return *table;
}

const PortableOperator* Find(
    const absl::flat_hash_map<std::string_view, const PortableOperator*>& map,
    std::string_view name) {
  const auto it = map.find(name);
  return it == map.end() ? nullptr : it->second;
}

}  // namespace

absl::Span<const PortableOperator> PortableOperators() { return Operators().operators; }

const PortableOperator* FindPortable(std::string_view name) {
  return Find(Operators().by_name, name);
}

const PortableOperator* FindPortableOfFunctional(std::string_view functional) {
  return Find(Operators().by_functional, functional);
}

}  // namespace belay::pte
