// Elementwise kernels give the same result if the output aliases an argument.
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/core/evalue.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/instruction_set.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/schema/operator_facts.h"

namespace belay {
namespace {

// Argument kinds: T tensor of the output's sizes, B broadcast tensor, M mask, 0 tensor of rank 0, S
// scalar, I int, N none, F string.
constexpr std::string_view kForms[] = {"T",   "TT",  "TB",  "BT",  "TS",  "ST",  "TTI",  "TBI",
                                       "BTI", "TSI", "TTF", "TSF", "TN",  "TSS", "TSSS", "TNS",
                                       "TG",  "MTT", "MTB", "MBT", "TMS", "TM0", "TTT",  "TNN",
                                       "MT",  "TI",  "TII", "TFF", "TTN", "TNT"};
constexpr DType kDTypes[] = {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                             DType::kBFloat16, DType::kInt32,   DType::kInt64,
                             DType::kUint8,    DType::kBool,    DType::kComplex64};

struct Memory {
  std::vector<std::byte> bytes;
  TensorView view;
};

std::vector<std::string_view> ElementwiseOperators() {
  std::vector<std::string_view> ops;
  for (const OperatorRow& row : OperatorRows()) {
    if (row.facts.output_over == OutputOverArgument::kElementwise) ops.push_back(row.op);
  }
  return ops;
}

class InPlaceTest : public testing::Test {
 protected:
  InPlaceTest() : random_(TestSeed()) {
    EXPECT_TRUE(AddReferenceKernels(reference_).ok());
    EXPECT_TRUE(AddHighwayKernels(highway_).ok());
  }

  Memory Tensor(DType dtype, const Sizes& sizes) {
    Memory memory;
    memory.bytes.resize(*NumElements(sizes) * DTypeSize(dtype) + 64);
    memory.view = TensorView::Contiguous(dtype, sizes, memory.bytes.data());
    for (int64_t i = 0; i < memory.view.numel(); ++i) {
      std::byte* at = memory.bytes.data() + i * DTypeSize(dtype);
      const uint32_t number = 1 + random_() % 4;
      switch (dtype) {
        case DType::kFloat32:
        case DType::kComplex64: {
          const float v = static_cast<float>(number) / 4;
          for (size_t k = 0; k < DTypeSize(dtype); k += 4) std::memcpy(at + k, &v, 4);
          break;
        }
        case DType::kFloat64: {
          const double v = number / 4.0;
          std::memcpy(at, &v, 8);
          break;
        }
        case DType::kFloat16:
        case DType::kBFloat16: {
          const uint16_t v = static_cast<uint16_t>(0x3800 + number * 0x40);
          std::memcpy(at, &v, 2);
          break;
        }
        default: {
          const uint64_t v = dtype == DType::kBool ? number % 2 : number;
          std::memcpy(at, &v, DTypeSize(dtype));
        }
      }
    }
    return memory;
  }

  // Runs one argument form of an operator on separate memory and over each argument that allows it.
  // Returns whether a kernel accepts the call.
  bool RunForm(const KernelRegistry& kernels, std::string_view op, std::string_view form,
               DType dtype, DType out_dtype, const Sizes& sizes, std::string_view text) {
    std::vector<Memory> tensors(form.size());
    std::vector<EValue> values(form.size());
    for (size_t i = 0; i < form.size(); ++i) {
      switch (form[i]) {
        case 'T':
          tensors[i] = Tensor(dtype, sizes);
          break;
        case 'B':
          tensors[i] = Tensor(dtype, {sizes[sizes.size() - 1]});
          break;
        case 'M':
          tensors[i] = Tensor(DType::kBool, sizes);
          break;
        case '0':
          tensors[i] = Tensor(dtype, {});
          break;
        case 'S':
          values[i] = IsFloatingPoint(dtype) ? EValue(0.5) : EValue(int64_t{1});
          break;
        case 'I':
          values[i] = EValue(int64_t{1});
          break;
        case 'F':
          values[i] = EValue(text);
          break;
        case 'G':
          values[i] = EValue(std::string_view("tanh"));
          break;
        default:
          break;
      }
      if (!tensors[i].bytes.empty()) values[i] = EValue(tensors[i].view);
    }
    Memory out = Tensor(out_dtype, sizes);
    const std::optional<std::vector<std::byte>> want = Run(kernels, op, values, out.view);
    if (!want.has_value()) return false;
    for (size_t i = 0; i < form.size(); ++i) {
      const TensorView* over = values[i].get_if<TensorView>();
      if (over == nullptr || over->dtype != out_dtype || !(over->sizes == sizes)) continue;
      Memory copy = tensors[i];
      copy.view.data = copy.bytes.data();
      std::vector<EValue> arguments = values;
      arguments[i] = EValue(copy.view);
      const auto got = Run(kernels, op, arguments, copy.view);
      EXPECT_TRUE(got.has_value()) << op << " " << form;
      EXPECT_TRUE(got == want) << op << " " << form << " " << DTypeName(dtype) << " "
                               << FormatSizes(sizes) << " over argument " << i;
      ++in_place_runs_;
    }
    return true;
  }

  std::optional<std::vector<std::byte>> Run(const KernelRegistry& kernels, std::string_view op,
                                            std::vector<EValue> values, const TensorView& output) {
    EValue result(output);
    EValue* const results[] = {&result};
    FixedOutputs allocator;
    if (!RunOperator(kernels, op, std::move(values), results, allocator).ok()) return std::nullopt;
    const std::byte* data = static_cast<const std::byte*>(output.data);
    return std::vector<std::byte>(data, data + output.nbytes());
  }

  // Returns the number of the operator's argument forms that ran.
  int RunForms(const KernelRegistry& kernels, std::string_view op, DType dtype,
               const Sizes& sizes) {
    int forms = 0;
    for (std::string_view form : kForms) {
      for (std::string_view text : {"none", "trunc"}) {
        for (DType out : {dtype, DType::kBool}) {
          forms += RunForm(kernels, op, form, dtype, out, sizes, text);
          if (dtype == DType::kBool) break;
        }
        if (form.find('F') == std::string_view::npos) break;
      }
    }
    return forms;
  }

  std::mt19937 random_;
  KernelRegistry reference_, highway_;
  int in_place_runs_ = 0;
};

TEST_F(InPlaceTest, ReferenceKernelsSupportAliasingForListedOperators) {
  for (const std::string_view op : ElementwiseOperators()) {
    const int before = in_place_runs_;
    for (DType dtype : kDTypes) {
      for (const Sizes& sizes : {Sizes{1}, Sizes{37}, Sizes{3, 5, 7}, Sizes{2, 300}}) {
        RunForms(reference_, op, dtype, sizes);
      }
    }
    EXPECT_GT(in_place_runs_, before) << "no form of " << op << " ran";
  }
}

TEST_F(InPlaceTest, HighwayKernelsSupportAliasingAtEveryLength) {
  for (const std::string& set : InstructionSets()) {
    SCOPED_TRACE(set);
    ASSERT_TRUE(UseInstructionSet(set).ok());
    for (const std::string_view op : ElementwiseOperators()) {
      for (DType dtype : kDTypes) {
        if (RunForms(highway_, op, dtype, {3}) == 0) continue;
        for (int64_t n = 1; n <= 67; ++n) RunForms(highway_, op, dtype, {n});
        for (const Sizes& sizes : {Sizes{3, 5, 7}, Sizes{2, 300}}) {
          RunForms(highway_, op, dtype, sizes);
        }
      }
    }
  }
  ASSERT_TRUE(UseInstructionSet(InstructionSets().front()).ok());
  EXPECT_GT(in_place_runs_, 0);
}

}  // namespace
}  // namespace belay
