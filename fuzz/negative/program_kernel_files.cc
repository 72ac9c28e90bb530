// Classes K, N8 and operator errors of P2: valid program files with calls that kernels must reject.
#include <string>
#include <utility>
#include <vector>

#include "fuzz/negative/negative_files.h"
#include "fuzz/negative/program_edits.h"

namespace belay::fuzz {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kRange = absl::StatusCode::kOutOfRange;
constexpr DType kF32 = DType::kFloat32;
constexpr int64_t kHuge = int64_t{1} << 62;

// A method with one call on constants of zeros.
class Call {
 public:
  Call() : method_(program_.AddMethod("forward")) {}

  Call& Zeros(DType dtype, const Sizes& sizes) {
    const size_t bytes = static_cast<size_t>(*NumElements(sizes)) * DTypeSize(dtype);
    arguments_.push_back(
        method_.Constant(program_.AddConstantBytes(std::string(bytes, '\0')), dtype, sizes));
    return *this;
  }
  Call& Zeros(const Sizes& sizes) { return Zeros(kF32, sizes); }
  Call& Longs(const std::vector<int64_t>& values) {
    arguments_.push_back(method_.Constant(program_.AddConstant(values), DType::kInt64,
                                          {static_cast<int64_t>(values.size())}));
    return *this;
  }
  Call& Int(int64_t value) { return Value(method_.Int(value)); }
  Call& Double(double value) { return Value(method_.Double(value)); }
  Call& Bool(bool value) { return Value(method_.Bool(value)); }
  Call& None() { return Value(method_.None()); }
  Call& String(std::string value) { return Value(method_.String(std::move(value))); }
  Call& Ints(const std::vector<int64_t>& values) {
    std::vector<uint32_t> elements;
    for (const int64_t value : values) elements.push_back(method_.Int(value));
    return Value(method_.List(elements));
  }
  // Replaces the arguments so far by one list of them.
  Call& List() {
    const uint32_t list = method_.List(arguments_);
    arguments_ = {list};
    return *this;
  }
  Call& Result(DType dtype, const Sizes& sizes, uint32_t dynamic_dims = 0) {
    results_.push_back(method_.Arena(dtype, sizes, dynamic_dims));
    return *this;
  }
  Call& Result(const Sizes& sizes, uint32_t dynamic_dims = 0) {
    return Result(kF32, sizes, dynamic_dims);
  }
  std::string Of(const std::string& op) {
    method_.Call(op, arguments_, results_);
    return program_.Serialize();
  }

 private:
  Call& Value(uint32_t value) {
    arguments_.push_back(value);
    return *this;
  }
  TestProgram program_;
  TestMethod method_;
  std::vector<uint32_t> arguments_, results_;
};

struct Convolution {
  Sizes input = Sizes({1, 2, 4, 4});
  Sizes weight = Sizes({2, 2, 3, 3});
  std::vector<int64_t> stride = {1, 1};
  std::vector<int64_t> padding = {0, 0};
  std::vector<int64_t> dilation = {1, 1};
  int64_t groups = 1;
};
std::string Convolve(const Convolution& c) {
  return Call()
      .Zeros(c.input)
      .Zeros(c.weight)
      .None()
      .Ints(c.stride)
      .Ints(c.padding)
      .Ints(c.dilation)
      .Bool(false)
      .Ints({0, 0})
      .Int(c.groups)
      .Result({1, 2, 2, 2})
      .Of("aten.convolution.default");
}
std::string Pad(const std::vector<int64_t>& padding) {
  return Call().Zeros({2, 3}).Ints(padding).Double(0).Result({2, 3}).Of(
      "aten.constant_pad_nd.default");
}
std::string PixelShuffle(int64_t factor) {
  return Call()
      .Zeros({1, 4, 2, 2})
      .Int(factor)
      .Result({1, 1, 4, 4})
      .Of("aten.pixel_shuffle.default");
}
std::string Amax(const Sizes& sizes, const std::vector<int64_t>& dims) {
  return Call().Zeros(sizes).Ints(dims).Bool(false).Result({2}).Of("aten.amax.default");
}
std::string View(const std::vector<int64_t>& sizes) {
  return Call().Zeros({2, 3}).Ints(sizes).Result({6}).Of("aten.view_copy.default");
}

constexpr char kPadOp[] = "aten.constant_pad_nd.default";
constexpr char kConvOp[] = "aten.convolution.default";
constexpr char kShuffleOp[] = "aten.pixel_shuffle.default";

const NegativeBytes kCalls[] = {
    {"K1_pad_below_zero", "padding that takes away more than there is", kInvalid, kPadOp,
     [] { return Pad({-4, 0}); }},
    {"K1_pad_wraps", "padding of 2^62 on both sides", kInvalid, kPadOp,
     [] { return Pad({kHuge, kHuge}); }},
    {"K1_pad_end_before_begin", "padding of 2^63 - 1 and -2^63", kInvalid, kPadOp,
     [] { return Pad({INT64_MAX, INT64_MIN}); }},
    {"K1_pad_odd", "padding of three numbers", kInvalid, kPadOp, [] { return Pad({1, 1, 1}); }},
    {"K1_pad_rank", "padding of three dimensions of two", kInvalid, kPadOp,
     [] { return Pad({0, 0, 0, 0, 1, 1}); }},
    {"K1_pad_result", "padding to other sizes than planned", kInvalid, kPadOp,
     [] { return Pad({1, 1}); }},
    {"K2_copy_other_size", "a copy of 4 elements into 3", kInvalid, "aten.copy.default",
     [] { return Call().Zeros({3}).Zeros({4}).Bool(false).Result({3}).Of("aten.copy.default"); }},
    {"K2_copy_larger_rank", "a copy of a matrix into a vector", kInvalid, "aten.copy.default",
     [] {
       return Call().Zeros({3}).Zeros({2, 3}).Bool(false).Result({3}).Of("aten.copy.default");
     }},
    {"K2_result_dtype", "a result of ints where the operator gives floats", kInvalid,
     "aten.relu.default",
     [] { return Call().Zeros({3}).Result(DType::kInt64, {3}).Of("aten.relu.default"); }},
    {"K3_view_as_real_rank_16", "17 dimensions as the result", kInvalid,
     "aten.view_as_real_copy.default",
     [] {
       const Sizes sizes({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
       return Call()
           .Zeros(DType::kComplex64, sizes)
           .Result({2})
           .Of("aten.view_as_real_copy.default");
     }},
    {"K3_view_as_real_of_real", "the parts of a real tensor", kInvalid,
     "aten.view_as_real_copy.default",
     [] { return Call().Zeros({3}).Result({3, 2}).Of("aten.view_as_real_copy.default"); }},
    {"K3_view_as_complex_of_three", "pairs of three elements", kInvalid,
     "aten.view_as_complex_copy.default",
     [] {
       return Call()
           .Zeros({3})
           .Result(DType::kComplex64, {1})
           .Of("aten.view_as_complex_copy.default");
     }},
    {"K4_pixel_shuffle_zero", "a factor of 0", kInvalid, kShuffleOp,
     [] { return PixelShuffle(0); }},
    {"K4_pixel_shuffle_2_32", "a factor whose square is 0 in 64 bits", kInvalid, kShuffleOp,
     [] { return PixelShuffle(int64_t{1} << 32); }},
    {"K4_pixel_shuffle_negative", "a factor of -2", kInvalid, kShuffleOp,
     [] { return PixelShuffle(-2); }},
    {"K4_pixel_unshuffle_zero", "a divisor of 0", kInvalid, "aten.pixel_unshuffle.default",
     [] {
       return Call()
           .Zeros({1, 1, 4, 4})
           .Int(0)
           .Result({1, 4, 2, 2})
           .Of("aten.pixel_unshuffle.default");
     }},
    {"K4_amax_of_nothing", "the largest of no elements", kInvalid, "aten.amax.default",
     [] { return Amax(Sizes({2, 0}), {1}); }},
    {"K4_avg_pool_stride_zero", "a stride of 0", kInvalid, "aten.avg_pool2d.default",
     [] {
       return Call()
           .Zeros({1, 1, 4, 4})
           .Ints({2, 2})
           .Ints({0, 0})
           .Ints({0, 0})
           .Bool(false)
           .Bool(true)
           .None()
           .Result({1, 1, 2, 2})
           .Of("aten.avg_pool2d.default");
     }},
    {"K4_avg_pool_divisor_zero", "a divisor of 0", kInvalid, "aten.avg_pool2d.default",
     [] {
       return Call()
           .Zeros({1, 1, 4, 4})
           .Ints({2, 2})
           .Ints({2, 2})
           .Ints({0, 0})
           .Bool(false)
           .Bool(true)
           .Int(0)
           .Result({1, 1, 2, 2})
           .Of("aten.avg_pool2d.default");
     }},
    {"K5_reduce_dim_twice", "a dimension reduced twice", kInvalid, "aten.amax.default",
     [] { return Amax(Sizes({2, 3}), {1, -1}); }},
    {"K5_reduce_dim_range", "a dimension that does not exist", kRange,
     "dim 2 is out of range [-2, 1]", [] { return Amax(Sizes({2, 3}), {2}); }},
    {"K5_reduce_into_other_order", "a reduction of channels-last to a result of another size",
     kInvalid, "aten.sum.dim_IntList",
     [] {
       TestProgram program;
       TestMethod method = program.AddMethod("forward");
       const uint32_t source = method.ArenaInOrder(kF32, {1, 2, 3, 4}, DimOrder({0, 2, 3, 1}));
       const uint32_t dims = method.List({method.Int(1)});
       const uint32_t keep = method.Bool(false), none = method.None();
       method.Call("aten.sum.dim_IntList", {source, dims, keep, none},
                   {method.ArenaInOrder(kF32, {1, 4, 3}, DimOrder({0, 2, 1}))});
       return program.Serialize();
     }},
    {"K6_convolution_padding_negative", "padding of -3", kInvalid, kConvOp,
     [] { return Convolve({.padding = {-3, -3}}); }},
    {"K6_convolution_padding_huge", "padding of 2^62", kInvalid, kConvOp,
     [] { return Convolve({.padding = {kHuge, kHuge}}); }},
    {"K6_convolution_kernel_larger", "a kernel larger than the image", kInvalid, kConvOp,
     [] { return Convolve({.weight = Sizes({2, 2, 5, 5})}); }},
    {"K6_convolution_dilation_huge", "a dilation of 2^62", kInvalid, kConvOp,
     [] { return Convolve({.dilation = {kHuge, kHuge}}); }},
    {"K6_convolution_stride_zero", "a stride of 0", kInvalid, kConvOp,
     [] { return Convolve({.stride = {0, 0}}); }},
    {"K6_convolution_channels", "weights of other channels", kInvalid, kConvOp,
     [] { return Convolve({.weight = Sizes({2, 3, 3, 3})}); }},
    {"N8_result_above_bound", "5 elements into memory for 4", kRange, "aten.cat.default",
     [] {
       return Call()
           .Zeros({2})
           .Zeros({3})
           .List()
           .Int(0)
           .Result({4}, /*dynamic_dims=*/1)
           .Of("aten.cat.default");
     }},
    {"N8_result_above_static", "6 elements into a tensor of static size 4", kInvalid,
     "aten.cat.default",
     [] { return Call().Zeros({3}).Zeros({3}).List().Int(0).Result({4}).Of("aten.cat.default"); }},
    {"N8_repeat_2_62", "a tensor repeated 2^62 times", kInvalid, "aten.repeat.default",
     [] { return Call().Zeros({2, 3}).Ints({kHuge, 4}).Result({2, 3}).Of("aten.repeat.default"); }},
    {"N2_result_rank_17", "a tensor of rank 1 repeated in 17 dimensions", kInvalid,
     "aten.repeat.default",
     [] {
       return Call()
           .Zeros({1})
           .Ints(std::vector<int64_t>(17, 1))
           .Result({1})
           .Of("aten.repeat.default");
     }},
    {"N1_full_2_62", "a result of 2^62 x 4 elements", kInvalid, "aten.full.default",
     [] {
       return Call()
           .Ints({kHuge, 4})
           .Double(1)
           .None()
           .None()
           .None()
           .None()
           .Result({4})
           .Of("aten.full.default");
     }},
    {"N3_view_negative", "a view with two sizes to guess", kInvalid, "aten.view_copy.default",
     [] { return View({-1, -1}); }},
    {"N3_view_minus_two", "a view with a size of -2", kInvalid, "aten.view_copy.default",
     [] { return View({-2, 3}); }},
    {"P2_groups_zero", "a convolution of 0 groups", kInvalid, kConvOp,
     [] { return Convolve({.groups = 0}); }},
    {"P2_groups_negative", "a convolution of -1 groups", kInvalid, kConvOp,
     [] { return Convolve({.groups = -1}); }},
    {"P2_reshape_rank_17", "a view that grows to 17 dimensions", kInvalid, "aten.view_copy.default",
     [] { return View(std::vector<int64_t>(17, 1)); }},
    {"P2_broadcast_rank", "an expansion to 17 dimensions", kInvalid, "aten.expand_copy.default",
     [] {
       return Call()
           .Zeros({1})
           .Ints(std::vector<int64_t>(17, 1))
           .Bool(false)
           .Result({1})
           .Of("aten.expand_copy.default");
     }},
    {"P2_broadcast_sizes", "sizes 2 and 3 broadcast", kInvalid, "aten.add.Tensor",
     [] { return Call().Zeros({2}).Zeros({3}).Int(1).Result({3}).Of("aten.add.Tensor"); }},
    {"P2_index_negative", "a row -7 of 4", kRange, "aten.index_select.default",
     [] {
       return Call().Zeros({4, 2}).Int(0).Longs({-7}).Result({1, 2}).Of(
           "aten.index_select.default");
     }},
    {"P2_embedding_index", "a row 2^40 of 4", kRange, "aten.embedding.default",
     [] {
       return Call()
           .Zeros({4, 2})
           .Longs({int64_t{1} << 40})
           .Int(-1)
           .Bool(false)
           .Bool(false)
           .Result({1, 2})
           .Of("aten.embedding.default");
     }},
    {"P2_gather_index", "an index -1", kRange, "aten.gather.default",
     [] {
       return Call().Zeros({4}).Int(0).Longs({-1}).Bool(false).Result({1}).Of(
           "aten.gather.default");
     }},
    {"P2_slice_step_zero", "a slice of step 0", kInvalid, "aten.slice_copy.Tensor",
     [] {
       return Call().Zeros({4}).Int(0).Int(0).Int(4).Int(0).Result({4}).Of(
           "aten.slice_copy.Tensor");
     }},
    {"P2_arange_step_zero", "a range of step 0", kInvalid, "aten.arange.start_step",
     [] {
       return Call()
           .Int(0)
           .Int(4)
           .Int(0)
           .None()
           .None()
           .None()
           .None()
           .Result(DType::kInt64, {4})
           .Of("aten.arange.start_step");
     }},
    {"P2_wrong_kind_of_argument", "a string instead of a tensor", kInvalid, "aten.relu.default",
     [] { return Call().String("x").Result({1}).Of("aten.relu.default"); }},
};

}  // namespace

std::vector<NegativeFile> ProgramKernelFiles() {
  return FilesOf(kCalls, NegativeReader::kProgram, ".belay");
}

}  // namespace belay::fuzz
