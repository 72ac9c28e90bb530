// Random calls: the meta kernel and the reference kernel of an operator accept the same arguments
// and agree on result sizes. Neither crashes, hangs or accesses invalid memory for any arguments
// (checked by the sanitizers).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "exir/op_definition/op_registry.h"
#include "exir/ops/families.h"
#include "exir/ops/standard_ops.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

constexpr int kCallsPerOperator = 1500;
constexpr int64_t kMostElements = int64_t{1} << 14;

// One argument for the meta kernel and for the kernel.
struct Pair {
  MetaValue meta;
  EValue value;
  std::string text;
};

// Outputs as planned by the meta kernel, or of any size in contiguous memory.
class TestOutputs : public OutputAllocator {
 public:
  explicit TestOutputs(bool planned) : planned_(planned) {}
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    const std::optional<int64_t> count = NumElements(sizes);
    if (!count.has_value() || *count > kMostElements) {
      return absl::ResourceExhaustedError("too large for the test");
    }
    if (planned_ && tensor.sizes.span() != sizes) {
      return absl::InternalError("sizes " + FormatSizes(sizes) + " differ from the planned " +
                                 FormatSizes(tensor.sizes));
    }
    if (!planned_) tensor.strides = belay::ContiguousStrides(sizes);
    memory_.push_back(TestTensor::Zeros(tensor.dtype, Sizes(sizes), tensor.strides));
    tensor = memory_.back().view();
    return absl::OkStatus();
  }

 private:
  bool planned_;
  std::deque<TestTensor> memory_;
};

// Generates arguments of one call: mostly of one dtype and of related shapes, so that many calls
// are legal.
class CallGenerator {
 public:
  explicit CallGenerator(uint64_t seed) : random_(seed) {
    static constexpr DType kUsual[] = {DType::kFloat32, DType::kFloat32, DType::kFloat32,
                                       DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                                       DType::kInt64,   DType::kInt32,   DType::kInt8,
                                       DType::kUint8,   DType::kBool,    DType::kComplex64};
    dtype_ = kUsual[Below(std::size(kUsual))];
    const int rank = static_cast<int>(Below(6));
    for (int d = 0; d < rank; ++d) shape_.push_back(Extent());
  }

  Pair Argument(const SchemaArgument& argument) {
    if (argument.type.optional && Chance(40)) return {None{}, None{}, "none"};
    if (argument.default_value.has_value() && Chance(30)) {
      if (std::optional<Pair> pair = Default(*argument.default_value)) return *std::move(pair);
    }
    if (!argument.type.list) return Single(argument.type);
    const int64_t lone = argument.type.list_size.value_or(-1);
    const int64_t count = lone > 0 && Chance(80) ? lone : Chance(50) ? rank() - 2 : Below(5);
    std::vector<Pair> elements;
    for (int64_t i = 0; i < count; ++i) elements.push_back(Single(argument.type));
    return List(std::move(elements));
  }

  // Parses an argument: "f32[2,3]", "[1,1]", "[true,false]", "0.5", "3", "int8", "none".
  Pair Parse(const std::string& text) {
    const size_t bracket = text.find('[');
    if (bracket != std::string::npos) {
      std::vector<Pair> elements;
      Sizes sizes;
      for (size_t at = bracket + 1; at < text.size() && text[at] != ']';) {
        const size_t end = text.find_first_of(",]", at);
        const std::string element = text.substr(at, end - at);
        if (bracket == 0) {
          elements.push_back(Parse(element));
        } else {
          sizes.push_back(std::stoll(element));
        }
        at = text[end] == ',' ? end + 1 : end;
      }
      if (bracket == 0) return List(std::move(elements));
      const DType dtype = *DTypeFromShortName(text.substr(0, bracket));
      return TensorOf(dtype, sizes, dtype == DType::kInt64);
    }
    if (text == "none") return {None{}, None{}, text};
    if (text == "true" || text == "false") return {text == "true", text == "true", text};
    if (const std::optional<DType> dtype = DTypeFromName(text)) return {*dtype, *dtype, text};
    if (text.find('.') == std::string::npos) return Int(std::stoll(text));
    return {std::stod(text), std::stod(text), text};
  }

  DType AnyDtype() {
    static constexpr DType kAll[] = {DType::kUint8,      DType::kInt8,    DType::kInt16,
                                     DType::kInt32,      DType::kInt64,   DType::kFloat16,
                                     DType::kFloat32,    DType::kFloat64, DType::kComplex64,
                                     DType::kComplex128, DType::kBool,    DType::kBFloat16};
    return Chance(60) ? dtype_ : kAll[Below(std::size(kAll))];
  }
  bool Chance(int percent) { return Below(100) < static_cast<uint64_t>(percent); }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t Extent() { return Chance(5) ? 0 : 1 + static_cast<int64_t>(Below(4)); }

  int64_t Number() {
    if (Chance(94)) return static_cast<int64_t>(Below(7)) - (Chance(25) ? 3 : 0);
    static constexpr int64_t kHostile[] = {std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::min(),
                                           int64_t{1} << 62,
                                           -(int64_t{1} << 62),
                                           int64_t{1} << 32,
                                           (int64_t{1} << 31) - 1,
                                           255,
                                           -128};
    return kHostile[Below(std::size(kHostile))];
  }
  double Real() {
    static constexpr double kReals[] = {0, 1, 2, 0.5, 1e-5, -1, 3.7, 1e300, INFINITY, NAN};
    return kReals[Below(std::size(kReals))];
  }

  std::optional<Pair> Default(const SchemaDefault& value) {
    if (std::holds_alternative<None>(value)) return Pair{None{}, None{}, "none"};
    if (const int64_t* i = std::get_if<int64_t>(&value)) return Int(*i);
    if (const double* d = std::get_if<double>(&value)) return Pair{*d, *d, std::to_string(*d)};
    if (const bool* b = std::get_if<bool>(&value)) return Pair{*b, *b, *b ? "true" : "false"};
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      std::vector<Pair> elements;
      for (int64_t i : *list) elements.push_back(Int(i));
      return List(std::move(elements));
    }
    return std::nullopt;
  }

  static Pair Int(int64_t i) { return {SymExpr(i), i, std::to_string(i)}; }

  Pair List(std::vector<Pair> elements) {
    MetaList list;
    std::vector<EValue*> pointers;
    std::string text = "[";
    for (Pair& element : elements) {
      text += (list.empty() ? "" : ",") + element.text;
      list.push_back(std::move(element.meta));
      values_.push_back(element.value);
      pointers.push_back(&values_.back());
    }
    lists_.push_back(std::move(pointers));
    return {std::move(list), ListView{lists_.back()}, text + "]"};
  }

  Pair Single(const SchemaType& type) {
    switch (type.base) {
      case BaseType::kTensor:
        return Tensor();
      case BaseType::kInt:
        return Int(Number());
      case BaseType::kFloat: {
        const double value = Real();
        return {value, value, std::to_string(value)};
      }
      case BaseType::kBool: {
        const bool value = Chance(50);
        return {value, value, value ? "true" : "false"};
      }
      case BaseType::kScalar:
        if (Chance(50)) return Int(Number());
        return Single({.base = BaseType::kFloat});
      case BaseType::kScalarType: {
        const DType dtype = AnyDtype();
        return {dtype, dtype, std::string(DTypeName(dtype))};
      }
      default:
        return {None{}, None{}, "none"};
    }
  }

  Pair Tensor() {
    Sizes sizes;
    if (Chance(55)) {
      sizes = Sizes(shape_);
    } else {
      // Vectors and matrices with common extents with the base shape.
      const int64_t rank = Chance(60) ? 1 + Below(2) : Below(6);
      for (int64_t d = 0; d < rank; ++d) {
        sizes.push_back(!shape_.empty() && Chance(75) ? shape_[Below(shape_.size())] : Extent());
      }
    }
    if (sizes.empty() && Chance(30)) sizes.push_back(1);
    return TensorOf(Chance(80) ? dtype_ : AnyDtype(), sizes, false);
  }

  Pair TensorOf(DType dtype, const Sizes& sizes, bool small) {
    DimOrder order = ContiguousOrder(sizes.size());
    if (Chance(30)) std::shuffle(order.begin(), order.end(), random_);
    if (Chance(10)) order = ChannelsLastOrder(sizes.size());
    Strides strides = DenseStrides(sizes, order);
    if (Chance(10)) {
      for (int64_t& stride : strides) stride *= 2;
    }
    tensors_.push_back(TestTensor::Zeros(dtype, sizes, strides));
    const TensorView& view = tensors_.back().view();
    DispatchDType<kRealTypes | kComplexTypes>(dtype, [&](auto tag) {
      using T = CppType<tag.value>;
      for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
        const double value =
            IsFloatingPoint(dtype) && Chance(3)
                ? Real()
                : static_cast<double>(Below(small ? 2 : 9)) - (!small && Chance(40) ? 4 : 0);
        view.as<T>()[it.offset(0)] = ConvertElement<T>(value);
      }
    });
    TensorMeta meta;
    meta.dtype = dtype;
    for (int d = 0; d < sizes.size(); ++d) {
      meta.sizes.push_back(sizes[d]);
      meta.strides.push_back(strides[d]);
    }
    return {std::move(meta), view, view.ToString()};
  }

  std::mt19937_64 random_;
  DType dtype_;
  std::vector<int64_t> shape_;
  std::deque<EValue> values_;
  std::deque<std::vector<EValue*>> lists_;
  std::deque<TestTensor> tensors_;
};

// Legal calls of operators that random generation does not find. Some of their arguments are then
// randomized.
struct Example {
  std::string_view op;
  std::string_view arguments;
};

constexpr Example kExamples[] = {
    {"aten.convolution.default",
     "f32[2,4,5,6] f32[6,2,3,2] f32[6] [2,1] [1,0] [1,2] false [0,0] 2"},
    {"aten.convolution.default", "f32[1,4,3,5] f32[4,3,2,3] none [2,1] [0,1] [1,2] true [1,1] 2"},
    {"aten.convolution_backward.default",
     "f32[2,6,3,4] f32[2,4,5,6] f32[6,2,3,2] [6] [2,1] [1,0] [1,2] false [0,0] 2 "
     "[true,true,true]"},
    {"aten.native_group_norm.default", "f32[2,4,3] f32[4] f32[4] 2 4 3 2 0.01"},
    {"aten.native_group_norm_backward.default",
     "f32[2,4,3] f32[2,4,3] f32[2,2] f32[2,2] f32[4] 2 4 3 2 [true,true,true]"},
    {"aten.native_layer_norm_backward.default",
     "f32[2,3,4] f32[2,3,4] [3,4] f32[2,1,1] f32[2,1,1] f32[3,4] f32[3,4] [true,true,true]"},
    {"aten.native_layer_norm.default", "f32[2,3,4] [3,4] f32[3,4] f32[3,4] 0.01"},
    {"aten._native_batch_norm_legit.default", "f32[3,2,4] f32[2] none f32[2] f32[2] true 0.1 0.01"},
    {"aten.max_pool2d_with_indices_backward.default",
     "f32[1,2,2,2] f32[1,2,4,4] [2,2] [2,2] [0,0] [1,1] false i64[1,2,2,2]"},
    {"aten.max_pool3d_with_indices.default",
     "f32[1,2,3,4,4] [2,2,3] [1,2,1] [0,1,1] [1,1,1] false"},
    {"aten.avg_pool3d.default", "f32[1,2,3,4,4] [2,2,3] [1,2,1] [0,1,1] false true none"},
    {"aten.addmv.default", "i64[2] i64[2,3] i64[3] 1.5 2"},
    {"aten.avg_pool2d_backward.default",
     "f32[1,2,3,3] f32[1,2,4,4] [2,2] [2,2] [1,1] false true 3"},
    {"aten.grid_sampler_2d.default", "f32[2,3,4,5] f32[2,3,2,2] 0 1 true"},
    {"aten.grid_sampler_3d.default", "f32[2,3,2,4,5] f32[2,3,2,2,3] 0 1 true"},
    {"aten.upsample_bilinear2d.vec", "f32[1,2,3,4] [5,6] true none"},
    {"aten.upsample_nearest2d.vec", "f32[1,2,3,4] none [2.0,0.5]"},
    {"aten.col2im.default", "f32[2,12,9] [4,4] [2,2] [1,1] [0,0] [1,1]"},
    {"aten._fft_c2r.default", "c64[3,4] [0,1] 0 6"},
    {"aten._grouped_mm.default", "f32[4,3] f32[2,3,5] i32[2]"},
    {"aten._trilinear.default", "f32[3,4] f32[2,4,4] f32[3,4] [1,3] [0] [1,2] [2,3] 1"},
    {"aten.poisson.default", "f32[1] none"},
    {"seeded.advance.default", "i64[2] 1"},
    {"seeded.native_dropout.default", "i64[2] 3 f32[2,3] 0.5 true"},
    {"seeded.poisson.default", "i64[2] 3 f32[1] none"},
    {"seeded.rand.default", "i64[2] 3 [2,3] float32 none none none"},
    {"seeded.randint.low", "i64[2] 3 2 7 [2,3] int64 none none none"},
    {"torchvision.deform_conv2d.default",
     "f32[2,4,5,6] f32[6,2,3,3] f32[2,18,5,6] f32[2,9,5,6] f32[6] 1 1 1 1 1 1 2 1 true"},
    {"torchvision.ps_roi_align.default", "f32[4,12,5,6] f32[1,5] 0.5 2 3 2"},
    {"torchvision.ps_roi_pool.default", "f32[4,12,5,6] f32[1,5] 0.5 2 3"},
    {"torchvision.roi_align.default", "f32[4,2,5,6] f32[1,5] 0.5 2 3 0 true"},
    {"torchvision.roi_pool.default", "f32[4,2,5,6] f32[1,5] 0.5 2 3"},
    {"quantized_decomposed.quantize_per_tensor.tensor", "f32[3,4] f32[1] i64[1] -128 127 int8"},
    {"quantized_decomposed.quantize_per_tensor.tensor2",
     "f32[3,4] f32[1] i64[] i32[1] i32[1] int8"},
    {"quantized_decomposed.quantize_per_channel.default", "f32[3,4] f32[4] i64[4] 1 -128 127 int8"},
    {"quantized_decomposed.dequantize_per_channel.default",
     "i8[3,4] f32[3] i64[3] 0 -128 127 int8 float16"},
    {"quantized_decomposed.quantize_per_token.default",
     "f16[2,3,4] f64[2,3,1] i64[2,3,1] 0 255 uint8"},
    {"quantized_decomposed.quantize_per_channel_group.default",
     "bf16[3,4] f32[3,2] i32[3,2] -8 7 int8 2"},
    {"quantized_decomposed.dequantize_per_channel_group.default",
     "i8[3,4] f16[3,2] none -8 7 int8 2 float32"},
    {"quantized_decomposed.embedding_byte.default", "i8[5,8] f32[5,2] f32[5,2] -128 127 i64[3]"},
    {"quantized_decomposed.embedding_byte.dtype", "u8[5,8] f16[5] none 0 255 i64[2,2] bfloat16"},
    {"quantized_decomposed.embedding_4bit.default", "u8[5,4] f32[5,2] f32[5,2] -8 7 i64[3]"},
    {"quantized_decomposed.embedding_4bit.dtype", "u8[5,4] f32[5] none -8 7 i64[] float16"},
    {"quantized_decomposed.embedding_2bit.default", "u8[5,2] f32[5,2] f32[5,2] -2 1 i64[3]"},
    {"quantized_decomposed.embedding_2bit.dtype", "u8[5,2] bf16[5,1] none -2 1 i64[0] none"},
    {"quantized_decomposed.mixed_mm.default", "f32[2,3] i8[3,4] f32[3] none"},
    {"quantized_decomposed.mixed_mm.out", "f16[2,3] i8[3,4] f16[3] f16[3] f16[2,4]"},
    {"quantized_decomposed.mixed_linear.default", "f32[2,4] i8[3,4] f32[3,2] f32[3,2] none"},
    {"quantized_decomposed.mixed_linear.out", "f16[2,4] i8[3,4] f16[3] none float32 f32[2,3]"},
    {"llama.update_cache.default", "f32[2,2,3,4] f32[2,5,3,4] 1"},
    {"llama.update_cache_functional.default", "f32[2,5,3,4] f32[2,2,3,4] 1 none"},
    {"llama.update_cache_with_indices.default", "f32[2,2,3,4] f32[2,5,3,4] 1 i64[2,2]"},
    {"llama.custom_sdpa.default", "f32[2,2,4,3] f32[2,5,2,3] f32[2,5,2,3] 1 none 0 true none"},
    {"llama.sdpa_with_kv_cache.default",
     "f32[1,2,4,3] f32[1,2,2,3] f32[1,2,2,3] f32[1,5,2,3] f32[1,5,2,3] 1 2 f32[2,5] 0 false 0.5"},
    {"llama.custom_quantized_sdpa.default",
     "i8[1,2,4,3] i8[1,5,2,3] i8[1,5,2,3] 1 none 0 true none i8[1,2,4,1] f32[1,2,4,1] i8[1,5,2,1] "
     "f32[1,5,2,1] i8[1,5,2,1] f32[1,5,2,1] false"},
    {"llama.fast_hadamard_transform.default", "f32[2,8]"},
    {"quantized_decomposed.add.out",
     "u8[2,3] 0.5 3 0 255 u8[2,3] 0.25 4 0 255 0.125 5 0 255 u8[2,3]"},
};

std::vector<std::string> Words(std::string_view text) {
  return absl::StrSplit(std::string(text), ' ');
}

std::vector<std::string> ExampleOf(std::string_view op, int which) {
  std::vector<std::string_view> found;
  for (const Example& example : kExamples) {
    if (example.op == op) found.push_back(example.arguments);
  }
  return found.empty() ? std::vector<std::string>() : Words(found[which % found.size()]);
}

// Returns a slot with this plan; nullopt if some size is unknown or the tensor is too large.
std::optional<EValue> PlannedSlot(const MetaValue& output) {
  const TensorMeta* meta = output.get_if<TensorMeta>();
  if (meta == nullptr) return EValue(None{});
  TensorView view;
  view.dtype = meta->dtype;
  for (int d = 0; d < meta->rank(); ++d) {
    if (!meta->sizes[d].AsInt().has_value() || !meta->strides[d].AsInt().has_value()) {
      return std::nullopt;
    }
    view.sizes.push_back(*meta->sizes[d].AsInt());
    view.strides.push_back(*meta->strides[d].AsInt());
  }
  const std::optional<int64_t> count = NumElements(view.sizes);
  if (!count.has_value() || *count > kMostElements) return std::nullopt;
  return EValue(view);
}

absl::Status RunKernel(const KernelRegistry& kernels, std::string_view op,
                       std::vector<Pair>& arguments, std::deque<EValue>& outputs, bool planned) {
  std::vector<EValue*> in, out;
  for (Pair& pair : arguments) in.push_back(&pair.value);
  for (EValue& output : outputs) out.push_back(&output);
  TestOutputs allocator(planned);
  return RunOperator(kernels, op, in, out, allocator);
}

// Errors that depend on elements, which the meta kernel does not see: of `argument` if it is a
// tensor, or of any.
struct OfElements {
  std::string_view message, argument;
};
constexpr OfElements kOfElements[] = {{"NaN", ""},
                                      {"cannot be factorized", ""},
                                      {"scale: expected a number other than 0", "scale"},
                                      {"quant_min, quant_max", "quant_min"}};

bool DependsOnElements(const absl::Status& status, const FunctionSchema& schema) {
  if (status.code() == absl::StatusCode::kOutOfRange ||
      status.code() == absl::StatusCode::kResourceExhausted) {
    return true;
  }
  return std::any_of(std::begin(kOfElements), std::end(kOfElements), [&](const OfElements& row) {
    if (std::string(status.message()).find(row.message) == std::string::npos) return false;
    return row.argument.empty() || std::any_of(schema.arguments.begin(), schema.arguments.end(),
                                               [&](const SchemaArgument& argument) {
                                                 return argument.name == row.argument &&
                                                        argument.type.base == BaseType::kTensor;
                                               });
  });
}

class KernelAgreementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    ASSERT_OK(AddReferenceKernels(kernels_));
  }

  // Returns the number of legal calls.
  int CheckOperator(const OpOverload& op) {
    const FunctionSchema& schema = *op.schema();
    int legal = 0;
    for (int call = 0; call < kCallsPerOperator; ++call) {
      const uint64_t seed =
          TestSeed() + std::hash<std::string>()(op.name()) + static_cast<uint64_t>(call);
      CallGenerator generator(seed);
      std::vector<Pair> arguments;
      std::vector<MetaValue> metas;
      std::string text = op.name() + "(";
      // Half of the calls start from a legal example, if available.
      const std::vector<std::string> example =
          call % 2 == 0 ? ExampleOf(op.name(), call / 2) : std::vector<std::string>();
      for (const SchemaArgument& argument : schema.arguments) {
        const size_t i = arguments.size();
        arguments.push_back(i < example.size() && !generator.Chance(10)
                                ? generator.Parse(example[i])
                                : generator.Argument(argument));
        metas.push_back(arguments.back().meta);
        text += (metas.size() == 1 ? "" : ", ") + argument.name + "=" + arguments.back().text;
      }
      MetaContext context(schema, std::move(metas), nullptr);
      const absl::Status inferred = op.def()->meta(context);
      std::deque<EValue> outputs;
      bool fits = inferred.ok();
      for (const MetaValue& output : context.outputs()) {
        const std::optional<EValue> slot = inferred.ok() ? PlannedSlot(output) : std::nullopt;
        fits = fits && slot.has_value();
        TensorView any;
        any.dtype = generator.AnyDtype();
        outputs.push_back(slot.value_or(EValue(any)));
      }
      if (inferred.ok() && !fits) continue;
      const absl::Status run = RunKernel(kernels_, op.name(), arguments, outputs, fits);
      legal += run.ok() ? 1 : 0;
      if (inferred.ok() == run.ok() || DependsOnElements(run, schema)) continue;
      ADD_FAILURE() << text << ") seed " << seed << "\n  meta kernel: " << inferred
                    << "\n  kernel: " << run;
      break;
    }
    return legal;
  }

  void CheckFamily(absl::Span<const OpDef> rows) {
    for (const OpDef& row : rows) {
      ASSERT_OK_AND_ASSIGN(const FunctionSchema schema, FunctionSchema::Parse(row.schema));
      const OpOverload* op = ops_->Find(schema.ns + "." + schema.op + "." + schema.overload);
      ASSERT_NE(op, nullptr) << schema.ToString();
      EXPECT_GT(CheckOperator(*op), 0) << op->name() << ": no call was legal";
    }
  }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
};

TEST_F(KernelAgreementTest, MetaAndKernelRejectWithTheSameMessage) {
  const struct {
    std::string_view op, arguments, message;
  } kRefused[] = {
      {"aten.convolution.default",
       "f32[2,4,5,6] f32[6,2,3,2] f32[6] [4294967296,1] [1,0] [1,2] false [0,0] 2",
       "stride: expected numbers of at most 2147483647, got [4294967296,1]"},
      {"aten.convolution.default",
       "f32[2,4,5,6] f32[6,2,3,2] f32[6] [1,1] [1,2147483648] [1,2] false [0,0] 2",
       "padding: expected numbers of at most 2147483647, got [1,2147483648]"},
      {"aten.max_pool2d_with_indices.default",
       "f32[1,2,4,4] [2,2] [2,2] [0,0] [4294967296,1] false",
       "dilation: expected numbers of at most 2147483647, got [4294967296,1]"},
      {"aten.col2im.default", "f32[2,12,9] [4,4] [2,2] [1,1] [4611686018427387904,0] [1,1]",
       "padding: expected numbers of at most 2147483647"},
      {"aten.col2im.default", "f32[2,12,9] [4,4] [2,2] [1,1] [2147483647,2147483647] [1,1]",
       "patches [2,12,9] do not belong to an image of [4,4]"},
      {"quantized_decomposed.dequantize_per_tensor.tensor2",
       "i8[3,4] f32[1] i64[1] i32[2] i32[1] int8 none",
       "quant_min: expected one element, got shape [2]"},
      {"quantized_decomposed.dequantize_per_tensor.tensor2",
       "i8[3,4] f32[1] i64[1] i32[1] c64[1] int8 none", "quant_max: expected one of uint8"},
      {"quantized_decomposed.quantize_per_tensor.default", "f32[3,4] 0.0 0 -128 127 int8",
       "scale: expected a number other than 0"},
  };
  for (const auto& [name, text, message] : kRefused) {
    SCOPED_TRACE(std::string(name) + " " + std::string(text));
    CallGenerator generator(TestSeed());
    std::vector<Pair> arguments;
    std::vector<MetaValue> metas;
    for (const std::string& word : Words(text)) {
      arguments.push_back(generator.Parse(word));
      metas.push_back(arguments.back().meta);
    }
    const OpOverload* op = ops_->Find(name);
    ASSERT_NE(op, nullptr);
    MetaContext context(*op->schema(), std::move(metas), nullptr);
    std::deque<EValue> outputs(op->schema()->returns.size(), EValue(TensorView()));
    const auto refused =
        StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(std::string(message)));
    EXPECT_THAT(op->def()->meta(context), refused);
    EXPECT_THAT(RunKernel(kernels_, name, arguments, outputs, false), refused);
  }
}

TEST_F(KernelAgreementTest, Linalg) { CheckFamily(LinalgOps()); }
TEST_F(KernelAgreementTest, Convolution) { CheckFamily(ConvolutionOps()); }
TEST_F(KernelAgreementTest, Distance) { CheckFamily(DistanceOps()); }
TEST_F(KernelAgreementTest, Factorization) { CheckFamily(FactorizationOps()); }
TEST_F(KernelAgreementTest, Fft) { CheckFamily(FftOps()); }
TEST_F(KernelAgreementTest, Norm) { CheckFamily(NormOps()); }
TEST_F(KernelAgreementTest, Pool) { CheckFamily(PoolOps()); }
TEST_F(KernelAgreementTest, Quantized) { CheckFamily(QuantizedOps()); }
TEST_F(KernelAgreementTest, QuantizedWeights) { CheckFamily(QuantizedWeightsOps()); }
TEST_F(KernelAgreementTest, Random) { CheckFamily(RandomOps()); }
TEST_F(KernelAgreementTest, Reduction) { CheckFamily(ReductionOps()); }
TEST_F(KernelAgreementTest, Detection) {
  for (const std::string_view op :
       {"torchvision.deform_conv2d.default", "torchvision.ps_roi_align.default",
        "torchvision.ps_roi_pool.default", "torchvision.roi_align.default",
        "torchvision.roi_pool.default"}) {
    EXPECT_GT(CheckOperator(*ops_->Find(op)), 0) << op;
  }
}
TEST_F(KernelAgreementTest, Resample) { CheckFamily(ResampleOps()); }
TEST_F(KernelAgreementTest, Scan) { CheckFamily(ScanOps()); }
TEST_F(KernelAgreementTest, Softmax) { CheckFamily(SoftmaxOps()); }
TEST_F(KernelAgreementTest, Sort) { CheckFamily(SortOps()); }

}  // namespace
}  // namespace belay::exir
