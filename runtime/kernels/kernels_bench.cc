// Measures Highway kernels against the reference kernels. Calls alternate, so that both run under
// the same conditions. The reported time is that of the Highway kernel. `ratio` is the reference
// time divided by the Highway time, each the fastest run, which excludes other load of the machine.
//
//   tools/bazel run --config=opt //runtime/kernels:kernels_bench -- --benchmark_filter=softmax
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "runtime/kernels/kernel_comparison.h"

namespace belay {
namespace {

using Ints = std::vector<int64_t>;

struct Measured {
  std::string name;  // family/case
  KernelCall call;
};

TestTensorSpec F32(const Sizes& sizes) { return {DType::kFloat32, sizes}; }
TestTensorSpec BF16(const Sizes& sizes) { return {DType::kBFloat16, sizes}; }
EValue Int(int64_t v) { return EValue(v); }

std::vector<Measured> Calls() {
  const DType f32 = DType::kFloat32, bf16 = DType::kBFloat16, i64 = DType::kInt64,
              i8 = DType::kInt8;
  const Sizes tokens = {1, 128, 768}, image = {1, 64, 56, 56};
  const TestTensorSpec row = F32({768}), channel = F32({64, 1, 1});
  const auto conv = [](const Sizes& input, const Sizes& weight, int64_t stride, int64_t padding,
                       bool transposed, int64_t groups) -> KernelCall {
    return {"aten.convolution.default",
            {F32(input), F32(weight), EValue(), Ints{stride, stride}, Ints{padding, padding},
             Ints{1, 1}, EValue(transposed), Ints{0, 0}, EValue(groups)}};
  };
  const auto ids = [&](const Sizes& sizes, int64_t below) {
    return TestTensorSpec{i64, sizes, Layout::kRowMajor, Values::kNormal, below};
  };
  const auto positive = [&](const Sizes& sizes) {
    return TestTensorSpec{f32, sizes, Layout::kRowMajor, Values::kPositive, 0};
  };
  const auto unit = [&](const Sizes& sizes) {
    return TestTensorSpec{f32, sizes, Layout::kRowMajor, Values::kUnit, 0};
  };
  const auto channels_last = [&](const Sizes& sizes) {
    return TestTensorSpec{f32, sizes, Layout::kChannelsLast};
  };
  const DType c64 = DType::kComplex64;
  return {
      {"pointwise/add_f32", {"aten.add.Tensor", {F32(tokens), F32(tokens), Int(1)}, {f32}}},
      {"pointwise/add_one_element", {"aten.add.Tensor", {F32({1}), F32({1}), Int(1)}, {f32}}},
      {"pointwise/add_bias_row", {"aten.add.Tensor", {F32(tokens), row, Int(1)}, {f32}}},
      {"pointwise/mul_by_channel", {"aten.mul.Tensor", {F32(image), channel}, {f32}}},
      {"pointwise/add_bf16", {"aten.add.Tensor", {BF16(tokens), BF16(tokens), Int(1)}, {bf16}}},
      {"pointwise/add_i64",
       {"aten.add.Tensor",
        {TestTensorSpec{i64, tokens}, TestTensorSpec{i64, tokens}, Int(1)},
        {i64}}},
      {"pointwise/relu_f32", {"aten.relu.default", {F32(image)}, {f32}}},
      {"pointwise/gelu_f32",
       {"aten.gelu.default", {F32(tokens), EValue(std::string_view("none"))}, {f32}}},
      {"pointwise/sigmoid_f32", {"aten.sigmoid.default", {F32(tokens)}, {f32}}},
      {"pointwise/sigmoid_bf16", {"aten.sigmoid.default", {BF16(tokens)}, {bf16}}},
      {"pointwise/exp_f32", {"aten.exp.default", {F32(tokens)}, {f32}}},
      {"pointwise/less_f32", {"aten.lt.Tensor", {F32(tokens), F32(tokens)}, {DType::kBool}}},
      {"pointwise/where_f32",
       {"aten.where.self",
        {TestTensorSpec{DType::kBool, tokens}, F32(tokens), F32(tokens)},
        {f32}}},
      {"reduce/sum_rows",
       {"aten.sum.dim_IntList", {F32(tokens), Ints{-1}, EValue(false), EValue()}, {f32}}},
      {"reduce/mean_columns",
       {"aten.mean.dim", {F32(tokens), Ints{1}, EValue(false), EValue()}, {f32}}},
      {"reduce/mean_image",
       {"aten.mean.dim", {F32(image), Ints{2, 3}, EValue(true), EValue()}, {f32}}},
      {"reduce/amax_bf16", {"aten.amax.default", {BF16(tokens), Ints{-1}, EValue(false)}, {bf16}}},
      {"reduce/argmax", {"aten.argmax.default", {F32({8, 32000}), Int(-1), EValue(false)}, {i64}}},
      {"reduce/var",
       {"aten.var.correction", {F32(tokens), Ints{-1}, Int(1), EValue(false)}, {f32}}},
      {"fft/real_400x101",
       {"aten._fft_r2c.default", {F32({101, 400}), Ints{1}, Int(0), EValue(true)}, {c64}}},
      {"fft/real_512x64",
       {"aten._fft_r2c.default", {F32({64, 512}), Ints{1}, Int(0), EValue(true)}, {c64}}},
      {"fft/real_65536",
       {"aten._fft_r2c.default", {F32({1, 65536}), Ints{1}, Int(0), EValue(true)}, {c64}}},
      {"fft/real_1009x16",
       {"aten._fft_r2c.default", {F32({16, 1009}), Ints{1}, Int(0), EValue(true)}, {c64}}},
      {"fft/real_64x64",
       {"aten._fft_r2c.default", {F32({16, 64, 64}), Ints{1, 2}, Int(0), EValue(true)}, {c64}}},
      {"distance/cdist_64",
       {"aten._cdist_forward.default", {F32({300, 64}), F32({300, 64}), EValue(2.0), EValue()}}},
      {"distance/cdist_3",
       {"aten._cdist_forward.default", {F32({1024, 3}), F32({1024, 3}), EValue(2.0), EValue()}}},
      {"distance/pdist", {"aten._pdist_forward.default", {F32({300, 64}), EValue(2.0)}}},
      {"movement/reflection_pad",
       {"aten.reflection_pad2d.default", {F32({1, 32, 128, 128}), Ints{3, 3, 3, 3}}, {f32}}},
      {"movement/reflection_pad3d",
       {"aten.reflection_pad3d.default",
        {F32({1, 16, 16, 32, 32}), Ints{1, 1, 1, 1, 1, 1}},
        {f32}}},
      {"movement/index_select_columns",
       {"aten.index_select.default", {F32({1, 64, 112, 56}), Int(3), ids({112}, 56)}, {f32}}},
      {"resize/grid_sample_bilinear",
       {"aten.grid_sampler_2d.default",
        {F32({1, 32, 64, 64}), unit({1, 64, 64, 2}), Int(0), Int(0), EValue(false)}}},
      {"resize/grid_sample_reflection",
       {"aten.grid_sampler_2d.default",
        {F32({1, 32, 64, 64}), F32({1, 64, 64, 2}), Int(0), Int(2), EValue(false)}}},
      {"resize/grid_sample_bicubic",
       {"aten.grid_sampler_2d.default",
        {F32({1, 8, 64, 64}), unit({1, 64, 64, 2}), Int(2), Int(0), EValue(false)}}},
      {"resize/grid_sample_3d",
       {"aten.grid_sampler_3d.default",
        {F32({1, 8, 16, 32, 32}), unit({1, 16, 32, 32, 3}), Int(0), Int(0), EValue(false)}}},
      {"resize/nearest_channels_last",
       {.op = "aten.upsample_nearest2d.vec",
        .arguments = {channels_last({1, 64, 40, 40}), Ints{80, 80}, EValue()},
        .output_layout = Layout::kChannelsLast}},
      {"resize/bilinear_channels_last",
       {.op = "aten.upsample_bilinear2d.vec",
        .arguments = {channels_last({1, 64, 28, 28}), Ints{56, 56}, EValue(false), EValue()},
        .output_layout = Layout::kChannelsLast}},
      {"pointwise/pow", {"aten.pow.Tensor_Scalar", {positive({1, 65536}), EValue(0.75)}, {f32}}},
      {"pool/adaptive_14_to_7",
       {"aten._adaptive_avg_pool2d.default", {F32({1, 512, 14, 14}), Ints{7, 7}}, {f32}}},
      {"pool/adaptive_channels_last",
       {.op = "aten._adaptive_avg_pool2d.default",
        .arguments = {channels_last({1, 64, 28, 28}), Ints{7, 7}},
        .output_layout = Layout::kChannelsLast}},
      {"index/embedding_bag",
       {"aten._embedding_bag.default",
        {F32({1000, 64}), ids({640}, 1000), ids({1}, 1), EValue(false), Int(1), EValue(false),
         EValue(), EValue(false), Int(-1)},
        {f32, i64, i64, i64}}},
      {"movement/permute_nhwc",
       {"aten.permute_copy.default", {F32(image), Ints{0, 2, 3, 1}}, {f32}}},
      {"movement/transpose", {"aten.transpose_copy.int", {F32({768, 768}), Int(0), Int(1)}, {f32}}},
      {"movement/heads",
       {"aten.permute_copy.default", {F32({1, 128, 12, 64}), Ints{0, 2, 1, 3}}, {f32}}},
      {"movement/slice",
       {"aten.slice_copy.Tensor", {F32(image), Int(1), Int(0), Int(32), Int(1)}, {f32}}},
      {"movement/cat",
       {"aten.cat.default", {std::vector<TestTensorSpec>{F32(image), F32(image)}, Int(1)}, {f32}}},
      {"movement/flip_columns", {"aten.flip.default", {F32(image), Ints{3}}, {f32}}},
      {"movement/flip_rows", {"aten.flip.default", {F32(image), Ints{2}}, {f32}}},
      {"movement/roll_windows",
       {"aten.roll.default", {F32({1, 56, 56, 96}), Ints{-3, -3}, Ints{1, 2}}, {f32}}},
      {"movement/slice_tokens",
       {"aten.slice_copy.Tensor", {F32(tokens), Int(2), Int(0), Int(384), Int(1)}, {f32}}},
      {"movement/slice_small",
       {"aten.slice_copy.Tensor", {F32({1, 32, 64}), Int(1), Int(0), Int(16), Int(1)}, {f32}}},
      {"movement/cat_tokens",
       {"aten.cat.default",
        {std::vector<TestTensorSpec>{F32({1, 128, 64}), F32({1, 128, 64})}, Int(2)},
        {f32}}},
      {"movement/cat_small",
       {"aten.cat.default",
        {std::vector<TestTensorSpec>{F32({1, 1, 64}), F32({1, 8, 64})}, Int(1)},
        {f32}}},
      {"movement/f32_to_bf16",
       {"aten._to_copy.default",
        {F32(tokens), EValue(bf16), EValue(), EValue(), EValue(), EValue(false), EValue()},
        {bf16}}},
      {"movement/expand",
       {"aten.expand_copy.default", {F32({64, 1, 1}), Ints{1, 64, 56, 56}, EValue(false)}, {f32}}},
      {"softmax/rows",
       {"aten._softmax.default", {F32({12, 128, 128}), Int(-1), EValue(false)}, {f32}}},
      {"softmax/rows_bf16",
       {"aten._softmax.default", {BF16({12, 128, 128}), Int(-1), EValue(false)}, {bf16}}},
      {"softmax/channels",
       {"aten._softmax.default", {F32({1, 21, 64, 64}), Int(1), EValue(false)}, {f32}}},
      {"norm/layer",
       {"aten.native_layer_norm.default",
        {F32(tokens), Ints{768}, row, row, EValue(1e-5)},
        {f32, f32, f32}}},
      {"norm/layer_bf16",
       {"aten.native_layer_norm.default",
        {BF16(tokens), Ints{768}, BF16({768}), BF16({768}), EValue(1e-5)},
        {bf16, bf16, bf16}}},
      {"norm/group",
       {"aten.native_group_norm.default",
        {F32(image), F32({64}), F32({64}), Int(1), Int(64), Int(56 * 56), Int(8), EValue(1e-5)},
        {f32, f32, f32}}},
      {"norm/batch",
       {"aten._native_batch_norm_legit_no_training.default",
        {F32(image), F32({64}), F32({64}), F32({64}),
         TestTensorSpec{f32, {64}, Layout::kRowMajor, Values::kPositive, 0}, EValue(0.1),
         EValue(1e-5)},
        {f32, f32, f32}}},
      {"gemm/mm_128_768_768", {"aten.mm.default", {F32({128, 768}), F32({768, 768})}, {f32}}},
      {"gemm/mm_1_768_768", {"aten.mm.default", {F32({1, 768}), F32({768, 768})}, {f32}}},
      {"gemm/mm_bf16", {"aten.mm.default", {BF16({128, 768}), BF16({768, 768})}, {bf16}}},
      {"gemm/bmm_heads", {"aten.bmm.default", {F32({12, 128, 64}), F32({12, 64, 128})}, {f32}}},
      {"conv/3x3", conv({1, 64, 28, 28}, {64, 64, 3, 3}, 1, 1, false, 1)},
      {"conv/1x1", conv({1, 64, 28, 28}, {64, 64, 1, 1}, 1, 0, false, 1)},
      {"conv/depthwise", conv({1, 64, 56, 56}, {64, 1, 3, 3}, 1, 1, false, 64)},
      {"conv/transposed", conv({1, 32, 14, 14}, {32, 32, 4, 4}, 2, 1, true, 1)},
      {"pool/max_3x3",
       {"aten.max_pool2d_with_indices.default",
        {F32(image), Ints{3, 3}, Ints{2, 2}, Ints{1, 1}, Ints{1, 1}, EValue(false)},
        {f32, i64}}},
      {"pool/global_average",
       {"aten._adaptive_avg_pool2d.default", {F32(image), Ints{1, 1}}, {f32}}},
      {"resize/bilinear",
       {"aten.upsample_bilinear2d.vec",
        {F32(image), Ints{112, 112}, EValue(false), EValue()},
        {f32}}},
      {"resize/nearest",
       {"aten.upsample_nearest2d.vec", {F32(image), Ints{112, 112}, EValue()}, {f32}}},
      {"select/topk",
       {"aten.topk.default",
        {F32({8, 32000}), Int(50), Int(-1), EValue(true), EValue(true)},
        {f32, i64}}},
      {"select/gather",
       {"aten.gather.default",
        {F32(tokens), Int(2), TestTensorSpec{i64, tokens, Layout::kRowMajor, Values::kNormal, 768},
         EValue(false)},
        {f32}}},
      {"sort/rows_f32", {"aten.sort.default", {F32({8, 4096}), Int(-1), EValue(true)}, {f32, i64}}},
      {"sort/rows_i64",
       {"aten.sort.default", {TestTensorSpec{i64, {8, 4096}}, Int(-1), EValue(false)}, {i64, i64}}},
      {"sort/scores",
       {"aten.sort.stable", {F32({300}), EValue(true), Int(0), EValue(true)}, {f32, i64}}},
      {"sort/short_rows",
       {"aten.sort.default", {F32({1000, 16}), Int(-1), EValue(false)}, {f32, i64}}},
      {"index/embedding",
       {"aten.embedding.default",
        {F32({32000, 768}), ids({1, 128}, 32000), Int(-1), EValue(false), EValue(false)},
        {f32}}},
      {"index/embedding_one_token",
       {"aten.embedding.default",
        {F32({32000, 64}), ids({1, 1}, 32000), Int(-1), EValue(false), EValue(false)},
        {f32}}},
      {"index/embedding_narrow",
       {"aten.embedding.default",
        {F32({49, 12}), ids({2401}, 49), Int(-1), EValue(false), EValue(false)},
        {f32}}},
      {"index/rows",
       {"aten.index.Tensor",
        {F32({512, 64}), std::vector<TestTensorSpec>{ids({128}, 512)}},
        {f32}}},
      {"index/two_tensors",
       {"aten.index.Tensor",
        {F32({64, 64}), std::vector<TestTensorSpec>{ids({64, 1}, 64), ids({1, 64}, 64)}},
        {f32}}},
      {"index/last_dim",
       {"aten.index.Tensor",
        {F32(tokens),
         std::vector<std::optional<TestTensorSpec>>{std::nullopt, std::nullopt, ids({384}, 768)}},
        {f32}}},
      {"index/one_place",
       {"aten.index.Tensor", {F32({32, 64}), std::vector<TestTensorSpec>{ids({1}, 32)}}, {f32}}},
      {"index/put_rows",
       {"aten.index_put.default",
        {F32({1, 8, 256, 64}),
         std::vector<std::optional<TestTensorSpec>>{std::nullopt, std::nullopt, ids({16}, 256)},
         F32({1, 8, 16, 64}), EValue(false)},
        {f32}}},
      {"movement/slice_scatter",
       {"aten.slice_scatter.default",
        {F32({1, 256, 64}), F32({1, 16, 64}), Int(1), Int(32), Int(48), Int(1)},
        {f32}}},
      {"creation/full",
       {"aten.full.default",
        {Ints{1, 128, 768}, EValue(0.5), EValue(f32), EValue(), EValue(), EValue()},
        {f32}}},
      {"creation/full_bool",
       {"aten.full.default",
        {Ints{1, 128, 128}, EValue(true), EValue(DType::kBool), EValue(), EValue(), EValue()},
        {DType::kBool}}},
      {"creation/scalar_tensor",
       {"aten.scalar_tensor.default",
        {EValue(0.5), EValue(f32), EValue(), EValue(), EValue()},
        {f32}}},
      {"creation/arange",
       {"aten.arange.start_step",
        {Int(0), Int(128), Int(1), EValue(i64), EValue(), EValue(), EValue()},
        {i64}}},
      {"gemm/mm_i8",
       {"aten.mm.default", {TestTensorSpec{i8, {128, 768}}, TestTensorSpec{i8, {768, 768}}}, {i8}}},
      {"gemm/mm_i32",
       {"aten.mm.default",
        {TestTensorSpec{DType::kInt32, {128, 768}}, TestTensorSpec{DType::kInt32, {768, 768}}},
        {DType::kInt32}}},
      {"gemm/mixed_linear",
       {"quantized_decomposed.mixed_linear.default",
        {F32({32, 768}), TestTensorSpec{i8, {768, 768}}, positive({768}), EValue(), EValue()},
        {f32}}},
      {"gemm/mixed_linear_one_row",
       {"quantized_decomposed.mixed_linear.default",
        {F32({1, 768}), TestTensorSpec{i8, {768, 768}}, positive({768, 24}), EValue(), EValue()},
        {f32}}},
      {"gemm/mixed_mm",
       {"quantized_decomposed.mixed_mm.default",
        {F32({32, 768}), TestTensorSpec{i8, {768, 768}}, positive({768}), EValue()},
        {f32}}},
      {"norm/batch_running",
       {"aten._native_batch_norm_legit.default",
        {F32(image), F32({64}), F32({64}), F32({64}), positive({64}), EValue(false), EValue(0.1),
         EValue(1e-5)},
        {f32, f32, f32}}},
      {"quantize/choose",
       {"quantized_decomposed.choose_qparams.tensor",
        {F32(tokens), Int(-128), Int(127), EValue(1e-5), EValue(i8)},
        {DType::kFloat64, i64}}},
      {"quantize/choose_small",
       {"quantized_decomposed.choose_qparams.tensor",
        {F32({1, 16}), Int(-128), Int(127), EValue(1e-5), EValue(i8)},
        {DType::kFloat64, i64}}},
      {"quantize/choose_per_token",
       {"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
        {F32(tokens), EValue(i8)},
        {DType::kFloat64, i64}}},
      {"quantize/add",
       {"quantized_decomposed.add.default",
        {TestTensorSpec{i8, tokens}, EValue(0.05), Int(3), Int(-128), Int(127),
         TestTensorSpec{i8, tokens}, EValue(0.03), Int(1), Int(-128), Int(127), EValue(0.07),
         Int(0), Int(-128), Int(127)},
        {i8}}},
      {"quantize/embedding_byte",
       {"quantized_decomposed.embedding_byte.default",
        {TestTensorSpec{i8, {3200, 768}}, positive({3200}), EValue(), Int(-128), Int(127),
         ids({1, 128}, 3200)},
        {f32}}},
      {"quantize/embedding_4bit",
       {"quantized_decomposed.embedding_4bit.default",
        {TestTensorSpec{DType::kUint8, {3200, 384}}, positive({3200, 24}), EValue(), Int(-8),
         Int(7), ids({1, 128}, 3200)},
        {f32}}},
      {"quantize/per_tensor",
       {"quantized_decomposed.quantize_per_tensor.default",
        {F32(tokens), EValue(0.05), Int(3), Int(-128), Int(127), EValue(i8)},
        {i8}}},
      {"quantize/dequantize_small",
       {"quantized_decomposed.dequantize_per_tensor.default",
        {TestTensorSpec{i8, {1, 16}}, EValue(0.05), Int(3), Int(-128), Int(127), EValue(i8),
         EValue()},
        {f32}}},
      {"quantize/dequantize_rows",
       {"quantized_decomposed.dequantize_per_channel.default",
        {TestTensorSpec{i8, {64, 576}},
         TestTensorSpec{f32, {64}, Layout::kRowMajor, Values::kPositive, 0},
         TestTensorSpec{i64, {64}, Layout::kRowMajor, Values::kNormal, 4}, Int(0), Int(-128),
         Int(127), EValue(i8), EValue()},
        {f32}}},
      {"quantize/dequantize_depthwise",
       {"quantized_decomposed.dequantize_per_channel.default",
        {TestTensorSpec{i8, {64, 1, 3, 3}},
         TestTensorSpec{f32, {64}, Layout::kRowMajor, Values::kPositive, 0},
         TestTensorSpec{i64, {64}, Layout::kRowMajor, Values::kNormal, 4}, Int(0), Int(-128),
         Int(127), EValue(i8), EValue()},
        {f32}}},
      {"quantize/dequantize_columns",
       {"quantized_decomposed.dequantize_per_channel.default",
        {TestTensorSpec{i8, {576, 64}},
         TestTensorSpec{f32, {64}, Layout::kRowMajor, Values::kPositive, 0},
         TestTensorSpec{i64, {64}, Layout::kRowMajor, Values::kNormal, 4}, Int(1), Int(-128),
         Int(127), EValue(i8), EValue()},
        {f32}}},
      {"quantize/dequantize",
       {"quantized_decomposed.dequantize_per_tensor.default",
        {TestTensorSpec{i8, tokens}, EValue(0.05), Int(3), Int(-128), Int(127), EValue(i8),
         EValue()},
        {f32}}},
  };
}

void Run(benchmark::State& state, const KernelCall& call) {
  KernelComparison comparison;
  const std::unique_ptr<KernelComparison::Pair> pair = comparison.Prepare(call);
  if (pair == nullptr) return state.SkipWithError("a kernel does not run");
  using Clock = std::chrono::steady_clock;
  double reference = std::numeric_limits<double>::infinity(), highway = reference;
  for (auto unused : state) {
    const auto start = Clock::now();
    pair->RunReference();
    const auto middle = Clock::now();
    pair->RunHighway();
    const std::chrono::duration<double> first = middle - start, second = Clock::now() - middle;
    reference = std::min(reference, first.count());
    highway = std::min(highway, second.count());
    state.SetIterationTime(second.count());
  }
  state.counters["ratio"] = reference / highway;
}

}  // namespace
}  // namespace belay

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const belay::Measured& m : belay::Calls()) {
    benchmark::RegisterBenchmark(m.name.c_str(),
                                 [call = m.call](benchmark::State& s) { belay::Run(s, call); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
