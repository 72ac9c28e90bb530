// Test helpers for the readers and formulas of this folder: calls with tensors without memory and
// lists of scalars, layouts, and short names.
//
//   TestCall call("self dim keepdim", {Tensor({2, 3}), 1, false});
//   EXPECT_OK(call.Read<SortCall<KernelArguments>>());
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_TEST_CALL_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_TEST_CALL_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/core/evalue.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

using D = CheckedInt;
using K = KernelArguments;

inline constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr absl::StatusCode kRange = absl::StatusCode::kOutOfRange;

// A row-major tensor of these sizes.
inline StridedDims<D> Dense(const Sizes& sizes) {
  const Dims<D> dims = ToDims(sizes);
  return {dims, ContiguousStridesOf<D>(dims), D(0)};
}
// Formats "sizes strides offset", or the error's message.
inline std::string Text(const absl::StatusOr<StridedDims<D>>& dims) {
  if (!dims.ok()) return std::string(dims.status().message());
  return absl::StrCat(FormatDims<D>(dims->sizes), " ", FormatDims<D>(dims->strides), " ",
                      DimToString(dims->offset));
}

// An argument: a value, or a list of values.
struct TestArgument {
  TestArgument(EValue v) : value(std::move(v)) {}                                       // NOLINT
  TestArgument(int number) : value(int64_t{number}) {}                                  // NOLINT
  TestArgument(int64_t number) : value(number) {}                                       // NOLINT
  TestArgument(double number) : value(number) {}                                        // NOLINT
  TestArgument(bool truth) : value(truth) {}                                            // NOLINT
  TestArgument(DType dtype) : value(dtype) {}                                           // NOLINT
  TestArgument(const char* text) : value(std::string_view(text)) {}                     // NOLINT
  TestArgument(None) {}                                                                 // NOLINT
  TestArgument(std::vector<EValue> list) : elements(std::move(list)), is_list(true) {}  // NOLINT
  EValue value;
  std::vector<EValue> elements;
  bool is_list = false;
};

inline EValue Tensor(const Sizes& sizes, DType dtype = DType::kFloat32) {
  return EValue(TensorView::Contiguous(dtype, sizes, nullptr));
}
inline TestArgument Ints(const std::vector<int64_t>& numbers) {
  return TestArgument(std::vector<EValue>(numbers.begin(), numbers.end()));
}

// A size that overflowed int64: formulas treat it as unknown.
inline CheckedInt Overflowed() { return CheckedInt(INT64_MAX) + CheckedInt(1); }

// Arguments by name, in the order of the signature. Calls parsed from it point into it.
class TestCall {
 public:
  TestCall(std::string_view signature, std::vector<TestArgument> arguments)
      : signature_(signature), arguments_(std::move(arguments)) {
    for (TestArgument& argument : arguments_) {
      if (argument.is_list) {
        std::vector<EValue*>& slots = lists_.emplace_back();
        for (EValue& element : argument.elements) slots.push_back(&element);
        argument.value = EValue(ListView{slots});
      }
      slots_.push_back(&argument.value);
    }
    EXPECT_EQ(names().size(), slots_.size()) << signature;
  }
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  std::vector<std::string> names() const {
    return absl::StrSplit(absl::string_view(signature_), ' ');
  }
  EValue& value(size_t i) { return arguments_[i].value; }

  template <class Call>
  absl::StatusOr<Call> Read() const {
    const KernelContext context(slots_, {}, nullptr, {});
    return Call::Read(KernelArguments(context, signature_));
  }

 private:
  std::string signature_;
  std::vector<TestArgument> arguments_;
  std::deque<std::vector<EValue*>> lists_;
  std::vector<EValue*> slots_;
};

// Returns the status of parsing a call with these arguments.
template <class Call>
absl::Status ReadStatus(std::string_view signature, std::vector<TestArgument> arguments) {
  return TestCall(signature, std::move(arguments)).Read<Call>().status();
}

// Parses a call with these arguments and returns its shape, or the error.
template <class Call>
auto ShapeOf(std::string_view signature, std::vector<TestArgument> arguments)
    -> decltype(std::declval<Call>().Shape()) {
  const TestCall call(signature, std::move(arguments));
  ABSL_ASSIGN_OR_RETURN(const Call read, call.Read<Call>());
  return read.Shape();
}
template <class Call>
absl::Status CheckShapesOf(std::string_view signature, std::vector<TestArgument> arguments) {
  const TestCall call(signature, std::move(arguments));
  ABSL_ASSIGN_OR_RETURN(const Call read, call.Read<Call>());
  const auto checked = read.CheckShapes();
  return StatusOf(checked);
}

// Expects that the call parses. Then replaces each argument that is not None, in turn, by a kind
// that no operator accepts there, and expects an error that names the argument.
template <class Call>
void ExpectArgumentsOfTheirKinds(std::string_view signature, std::vector<TestArgument> arguments) {
  SCOPED_TRACE(signature);
  TestCall call(signature, std::move(arguments));
  EXPECT_OK(call.Read<Call>());
  const std::vector<std::string> names = call.names();
  for (size_t i = 0; i < names.size(); ++i) {
    const EValue right = call.value(i);
    if (right.is_none()) continue;
    call.value(i) = MemoryFormat::kContiguous;
    EXPECT_THAT(call.Read<Call>(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::HasSubstr(absl::StrCat("'", names[i], "'"))));
    call.value(i) = right;
  }
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_TEST_CALL_H_
