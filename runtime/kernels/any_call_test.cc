// A program may call an operator with any number of arguments and outputs of any kind. Choosing a
// kernel, computing its scratch size and running it must either succeed or return an error.
#include <array>
#include <string>
#include <vector>

#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

// Fails every allocation, so that nothing is written.
class NoOutputs final : public OutputAllocator {
 public:
  absl::Status Resize(TensorView& tensor, absl::Span<const int64_t> sizes) override {
    return absl::InternalError("no output");
  }
  absl::Status CheckMutable(const EValue& argument) override {
    return absl::InternalError("no writing");
  }
};

class AnyCallTest : public ::testing::Test {
 protected:
  AnyCallTest() {
    for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kBool}) {
      for (const Sizes& sizes : {Sizes(), Sizes({3}), Sizes({2, 3}), Sizes({1, 2, 3, 3}),
                                 Sizes({0, 3}), Sizes({1, 1, 1, 1, 1})}) {
        tensors_.push_back(TestTensor::Zeros(dtype, sizes));
      }
    }
    elements_ = {&one_, &minus_, &none_};
    for (const TestTensor& tensor : tensors_) values_.push_back(EValue(tensor.view()));
    values_.insert(values_.end(),
                   {EValue(), EValue(int64_t{0}), EValue(int64_t{1}), EValue(int64_t{-1}),
                    EValue(INT64_MAX), EValue(INT64_MIN), EValue(0.5), EValue(true), EValue(false),
                    EValue(std::string_view("mean")), EValue(DType::kFloat32), EValue(ListView{}),
                    EValue(ListView{absl::MakeConstSpan(elements_).first(1)}),
                    EValue(ListView{absl::MakeConstSpan(elements_).first(2)}),
                    EValue(ListView{absl::MakeConstSpan(elements_)})});
  }

  std::vector<TestTensor> tensors_;
  EValue one_ = int64_t{1}, minus_ = int64_t{-1}, none_;
  std::vector<EValue*> elements_;
  std::vector<EValue> values_;
  NoOutputs no_outputs_;
  Random random_{TestSeed()};
};

TEST_F(AnyCallTest, SucceedsOrReturnsError) {
  KernelRegistry kernels;
  ASSERT_OK(AddStandardKernels(kernels));
  std::array<std::byte, 64> scratch;
  constexpr size_t kMaxArguments = 11, kMaxOutputs = 4, kRounds = 6;
  int taken = 0;
  for (const std::string_view op : kernels.Operators()) {
    for (const Kernel* kernel : kernels.Candidates(op)) {
      for (size_t call = 0; call < (kMaxArguments + 1) * (kMaxOutputs + 1) * kRounds; ++call) {
        std::vector<EValue> arguments(call % (kMaxArguments + 1));
        std::vector<EValue> outputs(call / (kMaxArguments + 1) % (kMaxOutputs + 1));
        std::vector<EValue*> argument_slots, output_slots;
        // Arguments that are all tensors pass the most checks.
        const size_t kinds = random_.Below(2) == 0 ? tensors_.size() : values_.size();
        for (EValue& value : arguments) {
          value = values_[random_.Below(kinds)];
          argument_slots.push_back(&value);
        }
        for (EValue& value : outputs) {
          value = values_[random_.Below(kinds)];
          output_slots.push_back(&value);
        }
        KernelContext context(argument_slots, output_slots, &no_outputs_, absl::MakeSpan(scratch));
        SCOPED_TRACE(kernel->name);
        const bool accepted = kernel->Accepts(context);
        if (!accepted) continue;
        ++taken;
        kernel->ScratchBytes(context);
        kernel->Run(context).IgnoreError();
      }
    }
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace belay
