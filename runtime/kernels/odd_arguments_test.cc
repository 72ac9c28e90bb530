// Calls that a program file may contain but no exporter writes: arguments at the limits of their
// types, huge sizes next to a size of 0, operands that broadcast to more than all memory. The
// kernels of all engines must return the right result or an error, without delay.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

constexpr auto kOk = absl::StatusCode::kOk, kExhausted = absl::StatusCode::kResourceExhausted,
               kInvalid = absl::StatusCode::kInvalidArgument;

class OddArgumentsTest : public ::testing::Test, public OutputAllocator {
 protected:
  void SetUp() override {
    ASSERT_OK(AddReferenceKernels(reference_));
    ASSERT_OK(AddStandardKernels(standard_));
  }

  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    const std::optional<int64_t> elements = NumElements(sizes);
    if (!elements.has_value() || *elements > 1 << 20) {
      return absl::OutOfRangeError("no program has such an output");
    }
    memory_.emplace_back(static_cast<size_t>(*elements) * DTypeSize(tensor.dtype));
    tensor = TensorView::Contiguous(tensor.dtype, Sizes(sizes), memory_.back().data());
    return absl::OkStatus();
  }

  EValue Tensor(DType dtype, const Sizes& sizes) {
    memory_.emplace_back(static_cast<size_t>(*NumElements(sizes)) * DTypeSize(dtype));
    return EValue(TensorView::Contiguous(dtype, sizes, memory_.back().data()));
  }
  EValue List(std::vector<EValue> values) {
    std::vector<EValue*>& elements = lists_.emplace_back();
    for (EValue& value : values) elements.push_back(&list_values_.emplace_back(value));
    return EValue(ListView{elements});
  }
  EValue Ints(const std::vector<int64_t>& ints) {
    return List(std::vector<EValue>(ints.begin(), ints.end()));
  }

  // Expects this outcome from the kernels of both registries that accept the call.
  void Expect(absl::StatusCode code, std::string_view op, std::vector<EValue> arguments,
              const std::vector<DType>& dtypes) {
    SCOPED_TRACE(std::string(op));
    for (const KernelRegistry* registry : {&reference_, &standard_}) {
      std::vector<EValue> outputs;
      for (const DType dtype : dtypes) {
        outputs.emplace_back(TensorView::Contiguous(dtype, {0}, nullptr));
      }
      std::vector<EValue*> in, out;
      for (EValue& value : arguments) in.push_back(&value);
      for (EValue& value : outputs) out.push_back(&value);
      const KernelContext probe(in, out, this, {});
      const Kernel* kernel = registry->Find(op, probe);
      ASSERT_NE(kernel, nullptr);
      const uint64_t bytes = kernel->ScratchBytes(probe);
      std::vector<std::max_align_t> scratch;
      if (bytes < 1 << 20) scratch.resize(bytes / sizeof(std::max_align_t) + 1);
      KernelContext context(in, out, this,
                            absl::MakeSpan(reinterpret_cast<std::byte*>(scratch.data()),
                                           scratch.size() * sizeof(std::max_align_t)));
      EXPECT_EQ(kernel->Run(context).code(), code) << kernel->name;
    }
  }

  KernelRegistry reference_, standard_;
  std::deque<std::vector<std::byte>> memory_;
  std::deque<std::vector<EValue*>> lists_;
  std::deque<EValue> list_values_;
};

constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64, kI32 = DType::kInt32,
                kU8 = DType::kUint8;
constexpr int64_t kVast = int64_t{1} << 59;

TEST_F(OddArgumentsTest, MatricesWithoutElements) {
  const EValue none, yes = true, no = false;
  Expect(kOk, "aten._linalg_svd.default", {Tensor(kF32, {int64_t{1} << 32, 0}), no, yes, none},
         {kF32, kF32, kF32});
  Expect(kOk, "aten._linalg_svd.default", {Tensor(kF32, {kVast, 0, 3}), no, yes, none},
         {kF32, kF32, kF32});
  Expect(kOk, "aten.linalg_qr.default",
         {Tensor(kF32, {264933692082, 0}), EValue(std::string_view("reduced"))}, {kF32, kF32});
  Expect(kOk, "aten._linalg_eigh.default",
         {Tensor(kF32, {kVast, 0, 0}), EValue(std::string_view("L")), yes}, {kF32, kF32});
  Expect(kOk, "aten.linalg_solve_triangular.default",
         {Tensor(kF32, {0, 0}), Tensor(kF32, {0, kVast}), yes, yes, no}, {kF32});
  Expect(kOk, "aten.linalg_matrix_exp.default", {Tensor(kF32, {kVast, 0, 0})}, {kF32});
  Expect(kOk, "aten.linalg_lu_factor_ex.default", {Tensor(kF32, {kVast, 0}), yes, no},
         {kF32, kI32, kI32});
  Expect(kOk, "aten.tril.default", {Tensor(kF32, {kVast, 0}), EValue(int64_t{0})}, {kF32});
}

TEST_F(OddArgumentsTest, ImagesWithoutElements) {
  const EValue none, no = false;
  const EValue image = Tensor(kF64, {1, 0, int64_t{1} << 29, int64_t{1} << 29});
  Expect(kOk, "aten.convolution.default",
         {image, image, none, Ints({1, 1}), Ints({0, 0}), Ints({1, 1}), no, Ints({0, 0}),
          EValue(int64_t{1})},
         {kF64});
  Expect(kOk, "aten._adaptive_avg_pool2d_backward.default",
         {Tensor(kF32, {1, 1, 1, 1}), Tensor(kF32, {1, 1, kVast, 0})}, {kF32});
}

TEST_F(OddArgumentsTest, ShiftsOfHugeDimensions) {
  Expect(kOk, "aten.roll.default",
         {Tensor(kU8, {INT64_MAX, 0}), Ints({INT64_MAX - 1, INT64_MAX - 1}), Ints({0, 0})}, {kU8});
}

// All weights of the filter are 0.
TEST_F(OddArgumentsTest, TinyScales) {
  for (const std::string_view op :
       {"aten._upsample_bilinear2d_aa.default", "aten._upsample_bicubic2d_aa.default"}) {
    Expect(kOk, op,
           {Tensor(kU8, {1, 1, 2, 2}), Ints({1, 1}), EValue(false), EValue(1e-310), EValue(1e-310)},
           {kU8});
  }
}

TEST_F(OddArgumentsTest, OperandsThatBroadcastBeyondMemory) {
  std::vector<EValue> indices;
  for (int d = 0; d < kMaxRank; ++d) {
    Sizes sizes(kMaxRank, 1);
    sizes[d] = 8;
    indices.push_back(Tensor(DType::kInt64, sizes));
  }
  Expect(kExhausted, "aten.index_put.default",
         {Tensor(kF32, Sizes(kMaxRank, 1)), List(indices), Tensor(kF32, {}), EValue(false)},
         {kF32});
  constexpr int64_t kMany = 1 << 17;
  Expect(kExhausted, "aten.masked_select.default",
         {Tensor(kU8, {kMany, 1}), Tensor(DType::kBool, {1, kMany})}, {kU8});
  Expect(kExhausted, "aten._trilinear.default",
         {Tensor(kF32, {kMany, 1}), Tensor(kF32, {1, kMany}), Tensor(kF32, {1, 1}), Ints({}),
          Ints({}), Ints({}), Ints({0, 1}), EValue(int64_t{1})},
         {kF32});
}

TEST_F(OddArgumentsTest, TopKOfAScalarTensorWithZeroK) {
  Expect(kOk, "aten.topk.default",
         {Tensor(kF32, {}), EValue(int64_t{0}), EValue(int64_t{0}), EValue(true), EValue(true)},
         {kF32, DType::kInt64});
}

// A window of 2^56 positions; 256 of them are inside the image.
TEST_F(OddArgumentsTest, WindowsLargerThanTheirImage) {
  constexpr int64_t kKernel = int64_t{1} << 28;
  Expect(kOk, "aten.avg_pool2d.default",
         {Tensor(kF32, {1, 1, 16, 16}), Ints({kKernel, kKernel}), Ints({1, 1}),
          Ints({kKernel / 2, kKernel / 2}), EValue(false), EValue(true), EValue()},
         {kF32});
}

// The target of an operator need not be an output, whose memory the file's validation checks.
TEST_F(OddArgumentsTest, RejectsTargetsThatAliasArguments) {
  const EValue self = Tensor(kF32, {2, 300}), index = List({Tensor(DType::kInt64, {1})});
  EValue values = self;
  TensorView& row = *values.get_if<TensorView>();
  row.sizes[0] = 1;
  row.data = row.as<float>() + 16;
  Expect(kInvalid, "aten.index_put_.default", {self, index, values, EValue(false)}, {kF32});
}

}  // namespace
}  // namespace belay
