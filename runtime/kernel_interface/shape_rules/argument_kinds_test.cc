// Each argument of each call has a kind, and errors name the argument.
#include <cstdint>
#include <vector>

#include "runtime/kernel_interface/shape_rules/convolution.h"
#include "runtime/kernel_interface/shape_rules/creation.h"
#include "runtime/kernel_interface/shape_rules/detection.h"
#include "runtime/kernel_interface/shape_rules/factorization.h"
#include "runtime/kernel_interface/shape_rules/fft.h"
#include "runtime/kernel_interface/shape_rules/gather.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"
#include "runtime/kernel_interface/shape_rules/movement.h"
#include "runtime/kernel_interface/shape_rules/norm.h"
#include "runtime/kernel_interface/shape_rules/pad.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"
#include "runtime/kernel_interface/shape_rules/pool.h"
#include "runtime/kernel_interface/shape_rules/quantization.h"
#include "runtime/kernel_interface/shape_rules/quantized_weights.h"
#include "runtime/kernel_interface/shape_rules/random.h"
#include "runtime/kernel_interface/shape_rules/resample.h"
#include "runtime/kernel_interface/shape_rules/scatter.h"
#include "runtime/kernel_interface/shape_rules/slice.h"
#include "runtime/kernel_interface/shape_rules/softmax.h"
#include "runtime/kernel_interface/shape_rules/sort.h"
#include "runtime/kernel_interface/shape_rules/symbolic.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"
#include "runtime/kernel_interface/shape_rules/view.h"

namespace belay {
namespace {

const EValue kMatrix = Tensor({3, 3}), kVector = Tensor({3}), kNumber = Tensor({});
const EValue kInts = Tensor({3}, DType::kInt64), kBytes = Tensor({3, 4}, DType::kInt8);
const TestArgument kTensors = std::vector<EValue>{kVector, kVector},
                   kMask = std::vector<EValue>{true, false, true};

TEST(ArgumentKindsTest, Convolutions) {
  const EValue image = Tensor({1, 3, 8, 8});
  const TestArgument two = Ints({1, 1}), none = Ints({0, 0});
  ExpectArgumentsOfTheirKinds<ConvolutionCall<K>>(
      "input weight bias stride padding dilation transposed output_padding groups",
      {image, Tensor({4, 3, 1, 1}), Tensor({4}), two, none, two, false, none, 1});
  ExpectArgumentsOfTheirKinds<ConvolutionBackwardCall<K>>(
      "grad_output input weight stride padding dilation transposed output_padding groups "
      "output_mask",
      {image, image, Tensor({3, 3, 1, 1}), two, none, two, false, none, 1, kMask});
  ExpectArgumentsOfTheirKinds<AvgPoolCall<K, 2>>(
      "self kernel_size stride padding ceil_mode count_include_pad divisor_override",
      {image, two, two, none, false, true, 3});
  ExpectArgumentsOfTheirKinds<MaxPoolCall<K, 2>>(
      "self kernel_size stride padding dilation ceil_mode", {image, two, two, none, two, false});
  ExpectArgumentsOfTheirKinds<AdaptivePoolCall<K, 2>>("self output_size", {image, two});
  ExpectArgumentsOfTheirKinds<AvgPoolBackwardCall<K>>(
      "grad_output self kernel_size stride padding ceil_mode count_include_pad divisor_override",
      {image, image, two, two, none, false, true, 3});
  ExpectArgumentsOfTheirKinds<MaxPoolBackwardCall<K>>(
      "grad_output self kernel_size stride padding dilation ceil_mode indices",
      {image, image, two, two, none, two, false, Tensor({1, 3, 8, 8}, DType::kInt64)});
  ExpectArgumentsOfTheirKinds<AdaptivePoolBackwardCall<K>>("grad_output self", {image, image});
}

TEST(ArgumentKindsTest, Images) {
  const EValue image = Tensor({1, 3, 8, 8});
  const TestArgument two = Ints({2, 2});
  ExpectArgumentsOfTheirKinds<UpsampleCall<K>>("self output_size align_corners scales_h scales_w",
                                               {image, two, true, 2.0, 2.0});
  ExpectArgumentsOfTheirKinds<UpsampleCall<K>>(
      "input output_size align_corners scale_factors",
      {image, None(), true, std::vector<EValue>{2.0, 2.0}});
  ExpectArgumentsOfTheirKinds<UpsampleCall<K>>("input output_size align_corners scale_factors",
                                               {image, two, true, None()});
  ExpectArgumentsOfTheirKinds<GridSampleCall<K, 2>>(
      "input grid interpolation_mode padding_mode align_corners",
      {image, Tensor({1, 2, 2, 2}), 0, 0, false});
  ExpectArgumentsOfTheirKinds<Col2ImCall<K>>("self output_size kernel_size dilation padding stride",
                                             {Tensor({12, 4}), two, two, two, two, two});
  ExpectArgumentsOfTheirKinds<PixelShuffleCall<K>>("self upscale_factor", {image, 2});
  ExpectArgumentsOfTheirKinds<NmsCall<K>>("dets scores iou_threshold",
                                          {Tensor({5, 4}), Tensor({5}), 0.5});
  ExpectArgumentsOfTheirKinds<RoiAlignCall<K>>(
      "input rois spatial_scale pooled_height pooled_width sampling_ratio aligned",
      {image, Tensor({2, 5}), 1.0, 7, 7, 2, true});
  ExpectArgumentsOfTheirKinds<ConstantPadCall<K>>("self pad value", {image, two, 0.5});
  ExpectArgumentsOfTheirKinds<MirroredPadCall<K, PadMode::kReflect, 1>>("self padding",
                                                                        {kMatrix, Ints({1, 1})});
}

TEST(ArgumentKindsTest, Matrices) {
  ExpectArgumentsOfTheirKinds<FactorCall<K>>("A upper check_errors", {kMatrix, true, true});
  ExpectArgumentsOfTheirKinds<LuFactorCall<K>>("A pivot check_errors", {kMatrix, true, true});
  ExpectArgumentsOfTheirKinds<LuSolveCall<K>>(
      "LU pivots B left adjoint", {kMatrix, Tensor({3}, DType::kInt32), kMatrix, true, true});
  ExpectArgumentsOfTheirKinds<TriangularCall<K>>("self B upper left unitriangular",
                                                 {kMatrix, kMatrix, true, true, true});
  ExpectArgumentsOfTheirKinds<QrCall<K>>("A mode", {kMatrix, "r"});
  ExpectArgumentsOfTheirKinds<EighCall<K>>("A UPLO compute_v", {kMatrix, "L", true});
  ExpectArgumentsOfTheirKinds<SvdCall<K>>("A full_matrices compute_uv", {kMatrix, true, true});
  ExpectArgumentsOfTheirKinds<MatrixExpCall<K>>("self", {kMatrix});
  ExpectArgumentsOfTheirKinds<ProductCall<K, ProductForm::kMm>>("self mat2", {kMatrix, kMatrix});
  ExpectArgumentsOfTheirKinds<ScaledSumCall<K, ProductForm::kMm>>(
      "self mat1 mat2 beta alpha", {kMatrix, kMatrix, kMatrix, 1, 2});
  ExpectArgumentsOfTheirKinds<GroupedProductCall<K>>(
      "self mat2 offs out_dtype", {kMatrix, Tensor({2, 3, 4}), kInts, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<TrilinearCall<K>>(
      "i1 i2 i3 expand1 expand2 expand3 sumdim unroll_dim",
      {kMatrix, kMatrix, kMatrix, Ints({}), Ints({}), Ints({}), Ints({1}), 0});
  ExpectArgumentsOfTheirKinds<CdistCall<K>>("x1 x2 p compute_mode", {kMatrix, kMatrix, 2.0, 1});
  ExpectArgumentsOfTheirKinds<PdistCall<K>>("self p", {kMatrix, 2.0});
}

TEST(ArgumentKindsTest, FourierTransforms) {
  const EValue complex = Tensor({3, 3}, DType::kComplex64);
  ExpectArgumentsOfTheirKinds<RealFftCall<K>>("self dim normalization onesided",
                                              {kMatrix, Ints({1}), 0, true});
  ExpectArgumentsOfTheirKinds<InverseRealFftCall<K>>("self dim normalization last_dim_size",
                                                     {complex, Ints({1}), 0, 4});
  ExpectArgumentsOfTheirKinds<ComplexFftCall<K>>("self dim normalization forward",
                                                 {complex, Ints({1}), 0, true});
}

TEST(ArgumentKindsTest, Indices) {
  ExpectArgumentsOfTheirKinds<GatherCall<K>>("self dim index", {kVector, 0, kInts});
  ExpectArgumentsOfTheirKinds<IndexSelectCall<K>>("self dim index", {kVector, 0, kInts});
  ExpectArgumentsOfTheirKinds<IndexCall<K>>("self indices", {kVector, kTensors});
  ExpectArgumentsOfTheirKinds<IndexPutCall<K>>("self indices values accumulate",
                                               {kVector, kTensors, kVector, true});
  ExpectArgumentsOfTheirKinds<MaskedSelectCall<K>>("self mask",
                                                   {kVector, Tensor({3}, DType::kBool)});
  ExpectArgumentsOfTheirKinds<NonzeroCall<K>>("self", {kVector});
  ExpectArgumentsOfTheirKinds<SearchCall<K>>("sorted_sequence self out_int32 right side sorter",
                                             {kVector, kVector, true, false, "left", kInts});
  ExpectArgumentsOfTheirKinds<SearchCall<K>>("self boundaries out_int32 right",
                                             {kVector, kVector, true, false});
  ExpectArgumentsOfTheirKinds<EmbeddingCall<K>>("weight indices", {kMatrix, kInts});
  ExpectArgumentsOfTheirKinds<EmbeddingBackwardCall<K>>(
      "grad_output indices num_weights padding_idx scale_grad_by_freq",
      {kMatrix, kInts, 10, -1, true});
  ExpectArgumentsOfTheirKinds<EmbeddingBagCall<K>>(
      "weight indices offsets mode per_sample_weights include_last_offset padding_idx",
      {kMatrix, kInts, kInts, 0, kVector, true, -1});
  ExpectArgumentsOfTheirKinds<ScatterCall<K>>("self dim index src", {kVector, 0, kInts, kVector});
  ExpectArgumentsOfTheirKinds<ScatterCall<K>>("self dim index value reduce",
                                              {kVector, 0, kInts, 1.5, "add"});
  ExpectArgumentsOfTheirKinds<ScatterCall<K>>("self dim index src reduce include_self",
                                              {kVector, 0, kInts, kVector, "amax", true});
  ExpectArgumentsOfTheirKinds<IndexUpdateCall<K>>("self dim index source alpha",
                                                  {kVector, 0, kInts, kVector, 2});
  ExpectArgumentsOfTheirKinds<IndexFillCall<K, false>>("self dim index value",
                                                       {kVector, 0, kInts, 2.5});
  ExpectArgumentsOfTheirKinds<IndexFillCall<K, true>>("self dim index value",
                                                      {kVector, 0, kInts, kNumber});
  ExpectArgumentsOfTheirKinds<MaskedScatterCall<K>>("self mask source",
                                                    {kVector, Tensor({3}, DType::kBool), kVector});
}

TEST(ArgumentKindsTest, Movement) {
  ExpectArgumentsOfTheirKinds<CopyCall<K>>("self", {kVector});
  ExpectArgumentsOfTheirKinds<CopyFromCall<K>>("self src", {kVector, kVector});
  ExpectArgumentsOfTheirKinds<JoinCall<K>>("tensors dim", {kTensors, 0});
  ExpectArgumentsOfTheirKinds<FlipCall<K>>("self dims", {kVector, Ints({0})});
  ExpectArgumentsOfTheirKinds<RollCall<K>>("self shifts dims", {kVector, Ints({1}), Ints({0})});
  ExpectArgumentsOfTheirKinds<RepeatCall<K>>("self repeats", {kVector, Ints({2})});
  ExpectArgumentsOfTheirKinds<RepeatedIndicesCall<K>>("repeats output_size", {kInts, 6});
  ExpectArgumentsOfTheirKinds<RepeatedElementsCall<K>>("self repeats dim", {kVector, 2, 0});
  ExpectArgumentsOfTheirKinds<TriangleCall<K>>("self diagonal", {kMatrix, 1});
  ExpectArgumentsOfTheirKinds<ResizeCall<K>>("self size", {kVector, Ints({2})});
}

TEST(ArgumentKindsTest, Normalizations) {
  const EValue batch = Tensor({2, 3, 4});
  ExpectArgumentsOfTheirKinds<LayerNormCall<K>>("input normalized_shape weight bias eps",
                                                {kMatrix, Ints({3}), kVector, kVector, 1e-5});
  ExpectArgumentsOfTheirKinds<GroupNormCall<K>>("input weight bias N C HxW group eps",
                                                {batch, kVector, kVector, 2, 3, 4, 1, 1e-5});
  ExpectArgumentsOfTheirKinds<BatchNormCall<K>>("input weight bias training momentum eps",
                                                {batch, kVector, kVector, true, 0.1, 1e-5});
  ExpectArgumentsOfTheirKinds<BatchNormCall<K>>(
      "input weight bias running_mean running_var training momentum eps",
      {batch, kVector, kVector, kVector, kVector, true, 0.1, 1e-5});
  ExpectArgumentsOfTheirKinds<LayerNormBackwardCall<K>>(
      "grad_out input normalized_shape mean rstd weight bias output_mask",
      {kMatrix, kMatrix, Ints({3}), kMatrix, kMatrix, kVector, kVector, kMask});
  ExpectArgumentsOfTheirKinds<GroupNormBackwardCall<K>>(
      "grad_out input mean rstd weight N C HxW group output_mask",
      {batch, batch, kMatrix, kMatrix, kVector, 2, 3, 4, 1, kMask});
  ExpectArgumentsOfTheirKinds<SoftmaxCall<K>>("self dim half_to_float", {kVector, 0, false});
}

TEST(ArgumentKindsTest, Pointwise) {
  const EValue mask = Tensor({3}, DType::kBool);
  ExpectArgumentsOfTheirKinds<PlainCall<K, 2, kAnyRule>>("self other", {kVector, 2});
  ExpectArgumentsOfTheirKinds<ScaledCall<K, kAnyRule>>("self other alpha", {kVector, 2, 3});
  ExpectArgumentsOfTheirKinds<DivModeCall<K>>("self other rounding_mode", {kVector, 2, "trunc"});
  ExpectArgumentsOfTheirKinds<PowerCall<K>>("self exponent", {kVector, 2});
  ExpectArgumentsOfTheirKinds<Atan2OutCall<K>>("self other out", {kVector, kVector, kVector});
  ExpectArgumentsOfTheirKinds<WhereCall<K>>("condition self other", {mask, kVector, 1});
  ExpectArgumentsOfTheirKinds<MaskedFillCall<K>>("self mask value", {kVector, mask, 1});
  ExpectArgumentsOfTheirKinds<ClampCall<K>>("self min max", {kVector, 1, 2});
  ExpectArgumentsOfTheirKinds<ClampCall<K>>("self min max", {kInts, 1, 2});
  ExpectArgumentsOfTheirKinds<ClampTensorCall<K>>("self min max", {kVector, kVector, kVector});
  ExpectArgumentsOfTheirKinds<WithNumbersCall<K, kFloatOnlyRule>>("self alpha scale input_scale",
                                                                  {kVector, 1.0, 1.0, 1.0});
  ExpectArgumentsOfTheirKinds<LogitCall<K>>("self eps", {kVector, 1e-6});
  ExpectArgumentsOfTheirKinds<GeluCall<K>>("self approximate", {kVector, "tanh"});
  ExpectArgumentsOfTheirKinds<GluCall<K>>("self dim", {Tensor({4}), 0});
  ExpectArgumentsOfTheirKinds<PolygammaCall<K>>("n self", {1, kVector});
  ExpectArgumentsOfTheirKinds<FrexpCall<K>>("self", {kVector});
}

TEST(ArgumentKindsTest, Quantization) {
  const EValue codes = Tensor({3, 4}, DType::kInt8), rows = Tensor({3, 4});
  const EValue row_scales = Tensor({3, 1}), row_zeros = Tensor({3, 1}, DType::kInt64);
  ExpectArgumentsOfTheirKinds<QuantizePerTensorCall<K, Given::kNumbers>>(
      "input scale zero_point quant_min quant_max dtype", {rows, 0.5, 0, -128, 127, DType::kInt8});
  ExpectArgumentsOfTheirKinds<QuantizePerTensorCall<K, Given::kTensorsAndRange>>(
      "input scale zero_point quant_min quant_max dtype",
      {rows, kNumber, kNumber, kNumber, kNumber, DType::kInt8});
  ExpectArgumentsOfTheirKinds<DequantizePerTensorCall<K, Given::kTensors>>(
      "input scale zero_point dtype out_dtype",
      {codes, kNumber, kNumber, DType::kInt8, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<QuantizePerChannelCall<K>>(
      "input scales zero_points axis quant_min quant_max dtype",
      {rows, kVector, kInts, 0, -128, 127, DType::kInt8});
  ExpectArgumentsOfTheirKinds<DequantizePerChannelCall<K>>(
      "input scales zero_points axis quant_min quant_max dtype out_dtype",
      {codes, kVector, kInts, 0, -128, 127, DType::kInt8, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<FakeQuantPerChannelCall<K>>(
      "input scales zero_points axis quant_min quant_max", {rows, kVector, kInts, 0, -128, 127});
  ExpectArgumentsOfTheirKinds<QuantizePerTokenCall<K>>(
      "input scales zero_points quant_min quant_max dtype",
      {rows, row_scales, row_zeros, -128, 127, DType::kInt8});
  ExpectArgumentsOfTheirKinds<DequantizePerTokenCall<K>>(
      "input scales zero_points output_dtype", {codes, row_scales, row_zeros, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<QuantizePerGroupCall<K>>(
      "input scales zero_points quant_min quant_max dtype group_size",
      {rows, row_scales, row_zeros, -8, 7, DType::kInt8, 4});
  ExpectArgumentsOfTheirKinds<DequantizePerGroupCall<K>>(
      "input scales zero_points group_size output_dtype",
      {codes, row_scales, row_zeros, 4, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<ChooseParametersCall<K>>("input quant_min quant_max eps dtype",
                                                       {rows, -128, 127, 1e-6, DType::kInt8});
  ExpectArgumentsOfTheirKinds<ChoosePerTokenCall<K, true>>("input dtype", {rows, DType::kInt8});
  ExpectArgumentsOfTheirKinds<ConvertElementTypeCall<K>>("input dtype", {rows, DType::kInt8});
  ExpectArgumentsOfTheirKinds<QuantizedAddCall<K>>(
      "a a_scale a_zero_point a_quant_min a_quant_max b b_scale b_zero_point b_quant_min "
      "b_quant_max out_scale out_zero_point out_quant_min out_quant_max out",
      {codes, 1.0, 0, -128, 127, codes, 1.0, 0, -128, 127, 1.0, 0, -128, 127, codes});
}

TEST(ArgumentKindsTest, QuantizedWeights) {
  ExpectArgumentsOfTheirKinds<QuantizedEmbeddingCall<K, 8>>(
      "weight weight_scales weight_zero_points weight_quant_min weight_quant_max indices dtype",
      {kBytes, kVector, kVector, -128, 127, kInts, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<MixedProductCall<K, true>>(
      "input weight weight_scales weight_zero_points dtype out",
      {Tensor({2, 4}), kBytes, kVector, kVector, DType::kFloat32, Tensor({2, 3})});
}

TEST(ArgumentKindsTest, Creation) {
  const TestArgument size = Ints({2, 3});
  ExpectArgumentsOfTheirKinds<SizedCall<K>>("self size fill_value dtype",
                                            {kVector, size, 1.5, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<LikeCall<K>>("self fill_value dtype",
                                           {kVector, 1.5, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<RandomCall<SizedCall<K>>>("size dtype", {size, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<EmptyStridedCall<K>>("size stride dtype",
                                                   {size, Ints({3, 1}), DType::kFloat32});
  ExpectArgumentsOfTheirKinds<FillCall<K>>("self value", {kVector, 1});
  ExpectArgumentsOfTheirKinds<ScalarTensorCall<K>>("s dtype", {1.5, DType::kFloat32});
  ExpectArgumentsOfTheirKinds<ArangeCall<K>>("start end step dtype", {0, 5, 1, DType::kInt64});
  ExpectArgumentsOfTheirKinds<RandpermCall<K>>("n dtype", {5, DType::kInt64});
}

TEST(ArgumentKindsTest, Random) {
  const EValue state = Tensor({2}, DType::kInt64);
  const TestArgument size = Ints({2, 3});
  ExpectArgumentsOfTheirKinds<SeededCall<RandintCall<K>, K>>(
      "random_state offset low high size dtype", {state, 7, 0, 10, size, DType::kInt64});
  ExpectArgumentsOfTheirKinds<AdvanceCall<K>>("random_state count", {state, 6});
  ExpectArgumentsOfTheirKinds<PoissonCall<K>>("self", {kVector});
  ExpectArgumentsOfTheirKinds<DropoutCall<K>>("input p train", {kVector, 0.5, true});
}

TEST(ArgumentKindsTest, Reductions) {
  ExpectArgumentsOfTheirKinds<SumCall<K, DimsAre::kList>>(
      "self dim keepdim dtype", {kMatrix, Ints({0}), true, DType::kFloat64});
  ExpectArgumentsOfTheirKinds<MeanCall<K, DimsAre::kAll>>("self dtype", {kMatrix, DType::kFloat64});
  ExpectArgumentsOfTheirKinds<ExtremeCall<K, DimsAre::kOptionalOne, true>>("self dim keepdim",
                                                                           {kMatrix, 0, true});
  ExpectArgumentsOfTheirKinds<TruthCall<K, DimsAre::kOne>>("self dim keepdim", {kMatrix, 0, true});
  ExpectArgumentsOfTheirKinds<VarCall<K>>("self dim correction keepdim",
                                          {kMatrix, Ints({0}), 1.0, true});
  ExpectArgumentsOfTheirKinds<VarCall<K>>("self dim unbiased keepdim",
                                          {kMatrix, Ints({0}), true, true});
  ExpectArgumentsOfTheirKinds<VectorNormCall<K>>("self ord dim keepdim dtype",
                                                 {kMatrix, 2.0, Ints({0}), true, DType::kFloat64});
  ExpectArgumentsOfTheirKinds<SortCall<K>>("self dim descending", {kVector, 0, true});
  ExpectArgumentsOfTheirKinds<TopKCall<K>>("self k dim largest", {kVector, 2, 0, true});
  ExpectArgumentsOfTheirKinds<MedianCall<K>>("self dim keepdim", {kVector, 0, true});
  ExpectArgumentsOfTheirKinds<KthValueCall<K>>("self k dim keepdim", {kVector, 2, 0, true});
}

TEST(ArgumentKindsTest, Scalars) {
  ExpectArgumentsOfTheirKinds<OfTensorCall<K>>("self", {kVector});
  ExpectArgumentsOfTheirKinds<OfDimensionCall<K>>("self dim", {kVector, 0});
  ExpectArgumentsOfTheirKinds<AssertScalarCall<K>>("self assert_msg", {1, "no"});
  ExpectArgumentsOfTheirKinds<AssertTensorCall<K>>("self assert_msg", {kNumber, "no"});
  ExpectArgumentsOfTheirKinds<AssertMetadataCall<K>>("a size dtype",
                                                     {kVector, Ints({3}), DType::kFloat32});
  ExpectArgumentsOfTheirKinds<ConstrainRangeCall<K>>("size min max", {3, 0, 9});
  ExpectArgumentsOfTheirKinds<CheckErrorsCall<K>>("info api_name",
                                                  {Tensor({}, DType::kInt32), "inv"});
}

TEST(ArgumentKindsTest, Views) {
  ExpectArgumentsOfTheirKinds<ViewCall<K, SelectRule>>("self dim index", {kVector, 0, 1});
  ExpectArgumentsOfTheirKinds<ViewCall<K, SliceRule>>("self src dim start end step",
                                                      {kVector, kVector, 0, 0, 2, 1});
  ExpectArgumentsOfTheirKinds<ViewCall<K, NarrowRule>>("self dim start length", {kVector, 0, 0, 2});
  ExpectArgumentsOfTheirKinds<ViewCall<K, DiagonalRule>>("self offset dim1 dim2",
                                                         {kMatrix, 0, 0, 1});
  ExpectArgumentsOfTheirKinds<ViewCall<K, UnfoldRule>>("self dimension size step",
                                                       {kVector, 0, 2, 1});
  ExpectArgumentsOfTheirKinds<ViewCall<K, AsStridedRule>>("self size stride storage_offset",
                                                          {kVector, Ints({2}), Ints({1}), 0});
  ExpectArgumentsOfTheirKinds<ViewCall<K, UnbindRule>>("self dim", {kVector, 0});
  ExpectArgumentsOfTheirKinds<ViewCall<K, SplitRule>>("self split_size dim", {kVector, 2, 0});
  ExpectArgumentsOfTheirKinds<ViewCall<K, SplitWithSizesRule>>("self split_sizes dim",
                                                               {kVector, Ints({1, 2}), 0});
  ExpectArgumentsOfTheirKinds<ViewCall<K, IdentityRule>>("self", {kVector});
  ExpectArgumentsOfTheirKinds<ViewCall<K, PermuteRule>>("self dims", {kMatrix, Ints({1, 0})});
  ExpectArgumentsOfTheirKinds<ViewCall<K, TransposeRule>>("self dim0 dim1", {kMatrix, 0, 1});
  ExpectArgumentsOfTheirKinds<ViewCall<K, ExpandRule>>("self size", {kVector, Ints({2, 3})});
  ExpectArgumentsOfTheirKinds<ViewCall<K, SqueezeDimRule>>("self dim", {kMatrix, 0});
  ExpectArgumentsOfTheirKinds<ViewCall<K, SqueezeDimsRule>>("self dim", {kMatrix, Ints({0})});
  ExpectArgumentsOfTheirKinds<ViewCall<K, UnsqueezeRule>>("self dim", {kMatrix, 0});
  ExpectArgumentsOfTheirKinds<ReshapeCall<K>>("self shape", {kMatrix, Ints({9})});
  ExpectArgumentsOfTheirKinds<ViewDtypeCall<K>>("self dtype", {kMatrix, DType::kInt32});
  ExpectArgumentsOfTheirKinds<ViewAsRealCall<K>>("self", {Tensor({2}, DType::kComplex64)});
  ExpectArgumentsOfTheirKinds<ViewAsComplexCall<K>>("self", {Tensor({2})});
}

}  // namespace
}  // namespace belay
