#include "tools/profile/declined.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "tools/profile/testing/logged_method.h"
#include "tools/profile/testing/unary_call.h"

namespace belay::tools {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Status Nothing(KernelContext&, const UnaryCall&) { return absl::OkStatus(); }

bool TakesFloats(const KernelContext& context, const UnaryCall& call) {
  const auto out = context.PlannedOutput(0);
  return out.ok() && call.self->dtype == (*out)->dtype &&
         (call.self->dtype == DType::kFloat32 || call.self->dtype == DType::kFloat16);
}
bool TakesContiguous(const KernelContext&, const UnaryCall& call) {
  return call.self->is_contiguous();
}
bool TakesContiguousResults(const KernelContext& context, const UnaryCall& call) {
  const auto out = context.PlannedOutput(0);
  return out.ok() && (*out)->is_contiguous() && call.self->is_contiguous();
}
bool TakesContiguousFloats(const KernelContext& context, const UnaryCall& call) {
  return TakesContiguousResults(context, call) && TakesFloats(context, call);
}
bool TakesImages(const KernelContext&, const UnaryCall& call) {
  return call.self->rank() == 4 && call.self->strides[1] == 1;
}
bool TakesNothing(const KernelContext&, const UnaryCall&) { return false; }

template <auto kAccepts>
constexpr Kernel Picky(std::string_view name) {
  return KernelRow<&Nothing, kAccepts>("aten.neg.default", "self", name, KernelEngine::kHighway);
}

struct SortCall {
  int64_t dim = 0;
  bool descending = false;
  static absl::StatusOr<SortCall> Read(const KernelArguments& arguments) {
    SortCall call;
    ABSL_ASSIGN_OR_RETURN(call.dim, arguments.StaticInt("dim"));
    ABSL_ASSIGN_OR_RETURN(call.descending, arguments.Bool("descending"));
    if (call.dim > 1) return arguments.ArgumentError("dim", "expected at most 1");
    return call;
  }
};
absl::Status Sort(KernelContext&, const SortCall&) { return absl::OkStatus(); }
bool TakesOuter(const KernelContext&, const SortCall& call) { return call.dim < 1; }
bool TakesUp(const KernelContext&, const SortCall& call) { return !call.descending; }
template <auto kAccepts>
constexpr Kernel PickySort(std::string_view name) {
  return KernelRow<&Sort, kAccepts>("aten.sort.default", "self dim descending -> 2", name,
                                    KernelEngine::kHighway);
}

struct JoinCall {
  ListView tensors;
  static absl::StatusOr<JoinCall> Read(const KernelArguments& arguments) {
    JoinCall call;
    ABSL_ASSIGN_OR_RETURN(call.tensors, arguments.TensorList("tensors"));
    return call;
  }
};
absl::Status Join(KernelContext&, const JoinCall&) { return absl::OkStatus(); }
bool TakesListsOfFloats(const KernelContext&, const JoinCall& call) {
  for (const EValue* element : call.tensors.elements) {
    if (element->get_if<TensorView>()->dtype != DType::kFloat32) return false;
  }
  return true;
}

struct SlopeCall {
  double slope = 0;
  static absl::StatusOr<SlopeCall> Read(const KernelArguments& arguments) {
    SlopeCall call;
    ABSL_ASSIGN_OR_RETURN(call.slope, arguments.Double("negative_slope"));
    return call;
  }
};
absl::Status Slope(KernelContext&, const SlopeCall&) { return absl::OkStatus(); }
bool TakesWholeSlopes(const KernelContext&, const SlopeCall& call) {
  return call.slope == 0 || call.slope == 2;
}

// Returns the reasons of the first instruction by kernel, most preferred first.
std::vector<std::string> Reasons(std::string_view text, absl::Span<const Kernel> kernels) {
  const absl::StatusOr<std::unique_ptr<LoggedMethod>> logged =
      LoggedMethod::Create(text, {}, /*debug_info=*/true, kernels);
  EXPECT_OK(logged);
  const Method& method = (*logged)->method();
  const InstructionInfo info = method.instructions()[0];
  std::vector<std::string> reasons;
  for (const Kernel* kernel : info.declined) {
    reasons.push_back(
        absl::StrCat(kernel->name, ": ",
                     WhyDeclined(*kernel, method.plan(),
                                 std::get<KernelCallPlan>(method.plan().instructions[0]), info)));
  }
  return reasons;
}

constexpr char kNegDouble[] = R"(program edge {
  graph(%x: f64[2,3] user_input) {
    %a: f64[2,3] = edge.aten.neg.default(%x)
    return (%a user_output)
  }
})";

TEST(DeclinedTest, DTypes) {
  const Kernel kernels[] = {Picky<&TakesFloats>("Floats")};
  EXPECT_THAT(Reasons(kNegDouble, kernels), Contains("Floats: takes f32 or f16, not f64"));
}

TEST(DeclinedTest, NoSinglePropertyDecides) {
  const Kernel kernels[] = {Picky<&TakesNothing>("Nothing")};
  EXPECT_THAT(Reasons(kNegDouble, kernels), Contains("Nothing: does not take these arguments"));
}

TEST(DeclinedTest, Layouts) {
  constexpr char kProgram[] = R"(program edge {
  graph(%x: f64[2,3,4,5]{strides=[60,1,15,3]} user_input) {
    %a: f64[2,3,4,5]{strides=[60,1,15,3]} = edge.aten.neg.default(%x)
    return (%a user_output)
  }
})";
  const Kernel kernels[] = {Picky<&TakesContiguous>("One"), Picky<&TakesContiguousResults>("All"),
                            Picky<&TakesContiguousFloats>("Both")};
  EXPECT_THAT(
      Reasons(kProgram, kernels),
      ::testing::AllOf(Contains("One: takes 'self' only contiguous"),
                       Contains("All: takes only contiguous tensors"),
                       Contains("Both: takes only contiguous tensors, and f32 or f16, not f64")));
  constexpr char kContiguous[] = R"(program edge {
  graph(%x: f32[2,3,4,5] user_input) {
    %a: f32[2,3,4,5] = edge.aten.neg.default(%x)
    return (%a user_output)
  }
})";
  const Kernel images[] = {Picky<&TakesImages>("Images")};
  EXPECT_THAT(Reasons(kContiguous, images), Contains("Images: takes only channels-last tensors"));
}

std::string SortBy(int dim, bool descending) {
  return absl::StrCat(R"(program edge {
  graph(%x: f32[2,3,4] user_input) {
    %v: f32[2,3,4], %i: i64[2,3,4] = edge.aten.sort.default(%x, )",
                      dim, ", ", descending ? "true" : "false", R"()
    return (%v user_output)
  }
})");
}

TEST(DeclinedTest, NumbersAndFlags) {
  const Kernel kernels[] = {PickySort<&TakesOuter>("Outer"), PickySort<&TakesUp>("Up")};
  EXPECT_THAT(Reasons(SortBy(1, false), kernels), IsEmpty());  // Up is preferred and accepts it
  EXPECT_THAT(Reasons(SortBy(1, true), kernels),
              ElementsAre("Up: takes 'descending' = false, not true",
                          "Outer: takes 'dim' = -1 or 0, not 1"));
}

TEST(DeclinedTest, TensorsInLists) {
  const Kernel kernels[] = {KernelRow<&Join, &TakesListsOfFloats>("aten.cat.default", "tensors dim",
                                                                  "Lists", KernelEngine::kHighway)};
  constexpr char kCat[] = R"(program edge {
  graph(%x: f64[2,3] user_input, %y: f64[2,3] user_input) {
    %a: f64[4,3] = edge.aten.cat.default([%x, %y])
    return (%a user_output)
  }
})";
  EXPECT_THAT(Reasons(kCat, kernels), Contains("Lists: takes f32, not f64"));
}

TEST(DeclinedTest, RealNumbers) {
  const Kernel kernels[] = {KernelRow<&Slope, &TakesWholeSlopes>(
      "aten.leaky_relu.default", "self negative_slope", "Whole", KernelEngine::kHighway)};
  constexpr char kLeaky[] = R"(program edge {
  graph(%x: f32[2,3] user_input) {
    %a: f32[2,3] = edge.aten.leaky_relu.default(%x, 0.25)
    return (%a user_output)
  }
})";
  EXPECT_THAT(Reasons(kLeaky, kernels),
              Contains("Whole: takes 'negative_slope' = 0 or 2, not 0.25"));
}

TEST(DeclinedTest, UnreadableCallReturnsItsError) {
  const Kernel kernels[] = {PickySort<&TakesUp>("Up")};
  const std::vector<std::string> reasons = Reasons(SortBy(2, false), kernels);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_THAT(reasons[0], ::testing::AllOf(::testing::HasSubstr("Up: "),
                                           ::testing::HasSubstr("expected at most 1")));
}

// Belay's own.
TEST(DeclinedTest, QueriesRuntimeKernels) {
  EXPECT_THAT(Reasons(R"(program edge {
  graph(%x: f64[1,1,2,2] user_input) {
    %a: f64[1,1,1,1] = edge.aten.avg_pool2d.default(%x, [2,2])
    return (%a user_output)
  }
})",
                      {}),
              ElementsAre("AvgPool2dSimd: takes f32, f16 or bf16, not f64"));
}

}  // namespace
}  // namespace belay::tools
