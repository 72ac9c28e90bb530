// Kernels are chosen when a program is loaded and run with values computed later: scalars that were
// unknown then, and smaller sizes. The results must equal those of the reference kernels.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/call_corpus_testing.h"
#include "runtime/kernels/call_testing.h"

namespace belay {
namespace {

// Variants of a tensor with another size, which it may have at run time.
std::vector<std::string> OtherSizes(const std::string& text) {
  // Dtype, rank and layout.
  const auto kind = [](const std::string& tensor) {
    const size_t open = tensor.find('['), close = tensor.find(']');
    const auto commas =
        std::count(tensor.begin(), tensor.begin() + static_cast<int64_t>(close), ',');
    const bool laid = tensor[close + 1] == ':';
    return absl::StrCat(tensor.substr(0, open), close == open + 1 ? -1 : commas,
                        laid ? tensor.substr(close + 1, 2) : "");
  };
  std::vector<std::string> changed;
  for (const std::string& other : ChangedTensors(text)) {
    if (kind(other) == kind(text)) changed.push_back(other);
  }
  return changed;
}

// Placeholder of the executor for a scalar computed at run time when a kernel is chosen
// (SlotTable); empty if the argument has none.
std::string Placeholder(const std::string& text) {
  if (text == "true" || text == "false") return "false";
  if (IsNumber(text) && text.back() != 'j') {
    return text.find('.') == std::string::npos ? "0" : "0.0";
  }
  if (text.front() != '[' || text.find_first_not_of("[]-,0123456789") != std::string::npos)
    return "";
  std::vector<std::string> elements = SplitOutsideOfBrackets(text.substr(1, text.size() - 2), ',');
  for (std::string& element : elements) element = "0";
  return ListOf(elements);
}

// Whether a value may replace another at run time: the same kind, and lists of equal length.
bool IsOfTheSameKind(const std::string& text, const std::string& other) {
  const auto kind = [](const std::string& value) {
    return value.front() == '['                               ? '['
           : value == "true" || value == "false"              ? 'b'
           : value.back() == 'j' || value == "none"           ? '-'
           : value.find_first_of(".ein") == std::string::npos ? 'i'
                                                              : 'f';
  };
  return kind(text) == kind(other) &&
         std::count(text.begin(), text.end(), ',') == std::count(other.begin(), other.end(), ',') &&
         (text == "[]") == (other == "[]");
}

class ChosenKernelTest : public CallCorpus {
 protected:
  // Returns the kernel that accepts the call, unless it is the reference kernel.
  static const Kernel* Chosen(const TextCall& call) {
    const std::string name = RunCall(*standard_, call).kernel;
    for (const Kernel* kernel : standard_->Candidates(call.op)) {
      if (name == absl::StrCat("highway ", std::string(kernel->name))) return kernel;
    }
    return nullptr;
  }
  static void Expect(const Kernel& kernel, const TextCall& call) {
    SCOPED_TRACE(absl::StrCat(std::string(kernel.name), ": ", call.ToString()));
    const CallOutcome wanted = RunCall(*reference_, call);
    CallOutcome outcome = RunCall(kernel, call);
    // The scratch limit of the test was exceeded, so no memory was allocated.
    if (outcome.status.code() == absl::StatusCode::kUnavailable) {
      outcome = RunCall(kernel, call, {.no_scratch = true});
    }
    EXPECT_EQ(outcome.status.code(), wanted.status.code()) << outcome.status << "\n"
                                                           << wanted.status;
    if (!wanted.status.ok() || !outcome.status.ok()) return;
    const std::string a = wanted.ToString(), b = outcome.ToString();
    EXPECT_TRUE(AreAlike(a, b)) << a << "\n" << b;
  }
};

TEST_F(ChosenKernelTest, OtherScalars) {
  int chosen = 0;
  for (const CorpusCall& row : *calls_) {
    for (size_t i = 0; i < row.call.names.size(); ++i) {
      const std::string& argument = row.call.arguments[i];
      const std::string placeholder = Placeholder(argument);
      if (placeholder.empty()) continue;
      const Kernel* kernel = Chosen(row.call.With(i, placeholder));
      if (kernel == nullptr) continue;
      ++chosen;
      for (const std::string& other : ChangedArgument(argument)) {
        if (IsOfTheSameKind(argument, other)) Expect(*kernel, row.call.With(i, other));
      }
    }
  }
  EXPECT_GT(chosen, 100);
}

// A scalar for which the kernel would not have been chosen: it may return an error, but no other
// result.
TEST_F(ChosenKernelTest, UnsupportedScalars) {
  int refused = 0;
  for (const CorpusCall& row : *calls_) {
    const Kernel* kernel = Chosen(row.call);
    if (kernel == nullptr) continue;
    for (size_t i = 0; i < row.call.names.size(); ++i) {
      for (const std::string& other : ChangedArgument(row.call.arguments[i])) {
        if (!IsOfTheSameKind(row.call.arguments[i], other) || IsTensor(other)) continue;
        const TextCall call = row.call.With(i, other);
        const std::string result = RunCall(*kernel, call).ToString();
        if (result == "INTERNAL: the call changed after the kernel was chosen" ||
            result == "INVALID_ARGUMENT: left to the reference kernel") {
          ++refused;
          continue;
        }
        Expect(*kernel, call);
      }
    }
  }
  EXPECT_GT(refused, 20);
}

TEST_F(ChosenKernelTest, OtherSizes) {
  for (const CorpusCall& row : *calls_) {
    const Kernel* kernel = Chosen(row.call);
    if (kernel == nullptr) continue;
    for (size_t i = 0; i < row.call.names.size(); ++i) {
      if (!IsTensor(row.call.arguments[i])) continue;
      const std::vector<std::string> first = OtherSizes(row.call.arguments[i]);
      for (const std::string& other : first) Expect(*kernel, row.call.With(i, other));
      for (size_t k = i + 1; k < row.call.names.size(); ++k) {
        if (!IsTensor(row.call.arguments[k])) continue;
        const std::vector<std::string> second = OtherSizes(row.call.arguments[k]);
        for (size_t n = 0; n < std::min(first.size(), second.size()); ++n) {
          Expect(*kernel, row.call.With(i, first[n]).With(k, second[n]));
        }
      }
    }
  }
}

// Programs do not change planned layouts, but a kernel that supports only one layout still checks
// it.
TEST_F(ChosenKernelTest, UnsupportedLayouts) {
  const TextCall call = TextCall::Parse(
      "aten.max_pool2d_with_indices.default f32[1,2,4,4]:l [2,2] [2,2] [0,0] [1,1] false -> f32:l "
      "i64:l");
  const Kernel* kernel = Chosen(call);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->name, "MaxPool2dChannelsLastSimd");
  EXPECT_OK(RunCall(*kernel, call).status);
  for (const TextCall& other :
       {call.With(0, "f32[1,2,4,4]"), call.WithOutput(0, "f32"), call.WithOutput(1, "i64")}) {
    EXPECT_THAT(
        RunCall(*kernel, other).status,
        StatusIs(absl::StatusCode::kInternal, "the layout changed after the kernel was chosen"));
  }
}

// When a program is loaded, tensors may have no memory yet.
TEST_F(ChosenKernelTest, TensorsWithoutMemory) {
  for (const CorpusCall& row : *calls_) {
    TextCall call = row.call;
    for (std::string& argument : call.arguments) {
      if (IsTensor(argument) && argument.find(':') == std::string::npos) {
        argument = argument.substr(0, argument.find(']') + 1) + ":n";
      }
    }
    SCOPED_TRACE(call.ToString());
    const CallOutcome with = RunCall(*standard_, row.call, {.plan_only = true}),
                      without = RunCall(*standard_, call, {.plan_only = true});
    EXPECT_EQ(with.kernel, without.kernel);
    EXPECT_EQ(with.scratch_bytes, without.scratch_bytes);
  }
}

}  // namespace
}  // namespace belay
