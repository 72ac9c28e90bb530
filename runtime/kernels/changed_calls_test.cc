// Runs valid calls (calls.txt) and mutations of them that a program file may contain:
// - an argument or an output of another kind, dtype, shape or size;
// - missing arguments or outputs;
// - failing allocation of outputs, or no scratch memory.
// A kernel must return a specific error or compute the requested result. The kernels of both
// engines must agree.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/core/budget.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernels/call_corpus_testing.h"
#include "runtime/kernels/call_testing.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST_F(CallCorpus, UnchangedCallsSucceed) {
  std::set<std::string> operators;
  for (const CorpusCall& row : *calls_) {
    operators.insert(row.call.op);
    std::string results[2];
    for (const auto& [engine, kernels] :
         {std::pair{"reference", reference_}, {"standard", standard_}}) {
      SCOPED_TRACE(absl::StrCat(engine, ": ", row.call.ToString()));
      const CallOutcome outcome = RunCall(*kernels, row.call);
      EXPECT_OK(outcome.status);
      if (row.has_result) EXPECT_EQ(outcome.ToString(), row.result);
    }
  }
  for (const std::string_view op : standard_->Operators()) {
    EXPECT_EQ(operators.count(std::string(op)), 1u) << op << " has no call in calls.txt";
  }
}

TEST_F(CallCorpus, RejectsMissingArgumentsOrOutputs) {
  for (const CorpusCall& row : *calls_) {
    for (const auto& [engine, kernels] :
         {std::pair{"reference", reference_}, {"standard", standard_}}) {
      for (const Kernel* kernel : kernels->Candidates(row.call.op)) {
        SCOPED_TRACE(absl::StrCat(std::string(kernel->name), ": ", row.call.ToString()));
        TextCall fewer = row.call;
        fewer.arguments.pop_back();
        EXPECT_THAT(
            RunCall(*kernel, fewer).status,
            StatusIs(absl::StatusCode::kInvalidArgument,
                     HasSubstr(absl::StrCat("expected ", row.call.names.size(), " arguments"))));
        TextCall none = row.call;
        none.outputs.push_back("f32");
        EXPECT_THAT(
            RunCall(*kernel, none).status,
            StatusIs(absl::StatusCode::kInvalidArgument,
                     HasSubstr(absl::StrCat("and ", row.call.outputs.size(), " outputs, got"))));
      }
    }
  }
}

// An error of the output allocator is the error of the call, for every output.
TEST_F(CallCorpus, ReportsOutputAllocationFailures) {
  for (const CorpusCall& row : *calls_) {
    for (const auto& [engine, kernels] :
         {std::pair{"reference", reference_}, {"standard", standard_}}) {
      SCOPED_TRACE(absl::StrCat(engine, ": ", row.call.ToString()));
      const int resizes = RunCall(*kernels, row.call).resizes;
      for (int i = 0; i < resizes; ++i) {
        const CallOutcome outcome = RunCall(*kernels, row.call, {.failing_resize = i});
        EXPECT_THAT(outcome.status,
                    StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("allocation failed")))
            << "resize " << i;
      }
    }
  }
}

TEST_F(CallCorpus, RejectsMissingScratchMemory) {
  for (const CorpusCall& row : *calls_) {
    for (const auto& [engine, kernels] :
         {std::pair{"reference", reference_}, {"standard", standard_}}) {
      SCOPED_TRACE(absl::StrCat(engine, ": ", row.call.ToString()));
      const CallOutcome outcome = RunCall(*kernels, row.call, {.no_scratch = true});
      // The kernel may not need the scratch memory that it requested.
      if (outcome.scratch_bytes == 0 || outcome.status.ok()) {
        EXPECT_OK(outcome.status);
        if (IsRandom(row.call)) continue;
        EXPECT_EQ(outcome.ToString(), RunCall(*kernels, row.call).ToString());
      } else {
        EXPECT_THAT(outcome.status, StatusIs(absl::StatusCode::kInternal, HasSubstr("memory")));
      }
    }
  }
}

// The target of a mutating call may be a constant, or overlap an argument that the call reads.
TEST_F(CallCorpus, RejectsWritesToConstantsAndAliases) {
  for (const CorpusCall& row : *calls_) {
    for (const auto& [engine, kernels] :
         {std::pair{"reference", reference_}, {"standard", standard_}}) {
      const CallOutcome outcome = RunCall(*kernels, row.call, {.constant_arguments = true});
      if (outcome.status.ok()) continue;
      EXPECT_THAT(outcome.status,
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is constant")))
          << engine << ": " << row.call.ToString();
    }
  }
}

TEST_F(CallCorpus, RejectsOutputsOfOtherKinds) {
  for (const CorpusCall& row : *calls_) {
    for (const auto& [engine, kernels] :
         {std::pair{"reference", reference_}, {"standard", standard_}}) {
      for (size_t i = 0; i < row.call.outputs.size(); ++i) {
        const std::string& output = row.call.outputs[i];
        if (output == "none" || output == "self") continue;  // a symbol, or the slot of argument 0
        SCOPED_TRACE(absl::StrCat(engine, ": ", row.call.ToString(), " output ", i));
        EXPECT_THAT(RunCall(*kernels, row.call.WithOutput(i, "3")).status,
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr(absl::StrCat("output ", i, ": expected"))));
        // A fixed output of another size.
        if (output.front() == '[') {
          EXPECT_THAT(RunCall(*kernels, row.call.WithOutput(i, "[f32]")).status,
                      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("elements")));
          EXPECT_THAT(RunCall(*kernels, row.call.WithOutput(i, "[null,null]")).status,
                      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no element 0")));
        } else {
          EXPECT_THAT(RunCall(*kernels, row.call.WithOutput(i, output.substr(0, output.find(':')) +
                                                                   "[7,1,7,1,7,1,7]"))
                          .status,
                      StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr(absl::StrCat("output ", i, ": has the sizes"))));
        }
      }
    }
  }
}

// A kernel writes in the output's dtype, or its error names the expected dtype.
TEST_F(CallCorpus, EnginesAgreeOnOutputDtypes) {
  for (const CorpusCall& row : *calls_) {
    for (size_t i = 0; i < row.call.outputs.size(); ++i) {
      const std::string& output = row.call.outputs[i];
      if (!DTypeFromShortName(output).has_value()) continue;
      for (const char* dtype :
           {"f32", "f64", "bf16", "i64", "i32", "u8", "b8", "c64", "c32", "u16", "f8e5m2"}) {
        if (dtype == output) continue;
        const TextCall call = row.call.WithOutput(i, dtype);
        const CallOutcome reference = RunCall(*reference_, call);
        const CallOutcome standard = RunCall(*standard_, call);
        SCOPED_TRACE(call.ToString());
        EXPECT_EQ(reference.status.code(), standard.status.code()) << reference.status << "\n"
                                                                   << standard.status;
        if (!reference.status.ok()) {
          EXPECT_THAT(reference.status, StatusIs(absl::StatusCode::kInvalidArgument));
        }
      }
    }
  }
}

// ---- Arguments

// Arguments that kernels ignore: only one value is supported, or the compiler has checked them and
// the output's dtype and layout contain their information. `op` is a part of the operator's name.
bool IsIgnored(std::string_view op, std::string_view name) {
  struct Ignored {
    std::string_view op, name;
  };
  static constexpr Ignored kIgnored[] = {
      {"", "layout"},
      {"", "device"},
      {"", "pin_memory"},
      {"", "non_blocking"},
      {"", "memory_format"},
      {"", "generator"},
      {"", "driver"},
      {"", "sparse"},
      {"", "sparse_grad"},
      {"", "implicit"},
      {"", "stable"},
      {"", "compute_mode"},
      {"", "dim_order"},
      {"_copy", "dtype"},
      {"dim_order_ops.", "dtype"},
      {"repeat_interleave.self_int", "output_size"},
      {"dequantize_", "quant_min"},
      {"dequantize_", "quant_max"},
      {"dequantize_", "dtype"},
      {"set_row_", "self"},
      {"embedding", "padding_idx"},
      {"embedding", "scale_grad_by_freq"},
      {"topk", "sorted"},
      {"convolution_backward", "bias_sizes"},
      {"_linalg_check_errors", "is_matrix"},
      {"_assert_tensor_metadata", "stride"},
  };
  return std::any_of(std::begin(kIgnored), std::end(kIgnored), [&](const Ignored& ignored) {
    return absl::StrContains(absl::string_view(op.data(), op.size()),
                             absl::string_view(ignored.op.data(), ignored.op.size())) &&
           ignored.name == name;
  });
}

TEST_F(CallCorpus, RejectsArgumentsOfOtherKinds) {
  for (const CorpusCall& row : *calls_) {
    for (const auto& [engine, kernels] :
         {std::pair{"reference", reference_}, {"standard", standard_}}) {
      for (size_t i = 0; i < row.call.names.size(); ++i) {
        if (IsIgnored(row.call.op, row.call.names[i])) continue;
        // Only dtype arguments accept a dtype, and they accept no other strings.
        const bool dtype = DTypeFromName(row.call.arguments[i]).has_value() ||
                           absl::StrContains(row.call.names[i], "dtype");
        const TextCall call = row.call.With(i, dtype ? "'x'" : "float32");
        // _grouped_mm rejects every bias; symbolic scalars have no argument names.
        const absl::StatusCode code =
            absl::StrContains(call.op, "_grouped_mm") && row.call.names[i] == "bias"
                ? absl::StatusCode::kUnimplemented
                : absl::StatusCode::kInvalidArgument;
        const std::string named =
            absl::StrContains(call.op, "sym_ite") ? "expected a real number" : row.call.names[i];
        EXPECT_THAT(RunCall(*kernels, call).status, StatusIs(code, HasSubstr(named)))
            << engine << ": " << call.ToString();
      }
    }
  }
}

TEST_F(CallCorpus, RejectsListsWithOtherElements) {
  for (const CorpusCall& row : *calls_) {
    for (const auto& [engine, kernels] :
         {std::pair{"reference", reference_}, {"standard", standard_}}) {
      for (size_t i = 0; i < row.call.names.size(); ++i) {
        const std::string& argument = row.call.arguments[i];
        if (argument.front() != '[' || argument == "[]") continue;
        if (IsIgnored(row.call.op, row.call.names[i])) continue;
        std::vector<std::string> elements =
            SplitOutsideOfBrackets(argument.substr(1, argument.size() - 2), ',');
        for (const char* other : {"float32", "null"}) {
          elements.back() = other;
          const TextCall call = row.call.With(i, ListOf(elements));
          EXPECT_THAT(RunCall(*kernels, call).status,
                      StatusIs(absl::StatusCode::kInvalidArgument,
                               ::testing::AnyOf(HasSubstr("of the list"), HasSubstr("list of"))))
              << engine << ": " << call.ToString();
        }
      }
    }
  }
}

// ---- Agreement of both engines

// Expects that the calls of both engines terminate with the same outcome.
void ExpectAgreement(const KernelRegistry& reference_kernels,
                     const KernelRegistry& standard_kernels, const TextCall& call) {
  const CallOutcome reference = RunCall(reference_kernels, call);
  const CallOutcome standard = RunCall(standard_kernels, call);
  SCOPED_TRACE(absl::StrCat(call.ToString(), " by ", standard.kernel));
  EXPECT_EQ(reference.status.code(), standard.status.code()) << reference.status << "\n"
                                                             << standard.status;
  static const std::set<absl::StatusCode> kRefusals = {absl::StatusCode::kOk,
                                                       absl::StatusCode::kInvalidArgument,
                                                       absl::StatusCode::kOutOfRange,
                                                       absl::StatusCode::kResourceExhausted,
                                                       absl::StatusCode::kUnimplemented,
                                                       absl::StatusCode::kUnavailable,
                                                       absl::StatusCode::kFailedPrecondition};
  EXPECT_TRUE(kRefusals.contains(reference.status.code())) << reference.status;
  if (!reference.status.ok() || !standard.status.ok() || IsRandom(call)) return;
  const std::string a = reference.ToString(), b = standard.ToString();
  EXPECT_TRUE(AreAlike(a, b)) << a << "\n" << b;
}

TEST_F(CallCorpus, EnginesAgreeOnOneChangedArgument) {
  for (const CorpusCall& row : *calls_) {
    for (size_t i = 0; i < row.call.names.size(); ++i) {
      for (const std::string& value : ChangedArgument(row.call.arguments[i])) {
        ExpectAgreement(*reference_, *standard_, row.call.With(i, value));
      }
    }
  }
}

TEST_F(CallCorpus, EnginesAgreeOnOtherTensorDtypes) {
  for (const CorpusCall& row : *calls_) {
    for (const char* dtype :
         {"f64", "f16", "bf16", "i64", "i32", "i8", "u8", "b8", "c64", "c128"}) {
      TextCall call = row.call;
      for (std::string& argument : call.arguments) {
        if (IsTensor(argument) && argument.starts_with("f32")) {
          argument = dtype + argument.substr(3);
        }
      }
      for (std::string& output : call.outputs) {
        if (output == "f32") output = dtype;
      }
      ExpectAgreement(*reference_, *standard_, call);
    }
  }
}

// Changes two tensor arguments to other shapes.
TEST_F(CallCorpus, EnginesAgreeOnTwoChangedTensors) {
  for (const CorpusCall& row : *calls_) {
    for (size_t i = 0; i < row.call.names.size(); ++i) {
      for (size_t k = i + 1; k < row.call.names.size(); ++k) {
        if (!IsTensor(row.call.arguments[i]) || !IsTensor(row.call.arguments[k])) continue;
        const std::vector<std::string> first = ChangedTensors(row.call.arguments[i]),
                                       second = ChangedTensors(row.call.arguments[k]);
        for (size_t n = 0; n < std::min(first.size(), second.size()); ++n) {
          ExpectAgreement(*reference_, *standard_, row.call.With(i, first[n]).With(k, second[n]));
        }
      }
    }
  }
}

// Loops over huge windows can be cancelled. The number of window positions times image positions
// does not fit 64 bits.
TEST_F(CallCorpus, HugeWindowsCanBeCancelled) {
  const std::atomic<bool> cancel = true;
  for (const char* text :
       {"aten.max_pool2d_with_indices.default f32[1,1,64,255] [268435456,268435456] [1,1] "
        "[134217728,134217728] [1,1] false -> f32 i64",
        "aten.max_pool2d_with_indices.default f32[1,2,64,255]:l [268435456,268435456] [1,1] "
        "[134217728,134217728] [1,1] false -> f32:l i64:l",
        "aten.avg_pool2d.default f32[1,1,64,255] [268435456,268435456] [1,1] "
        "[134217728,134217728] false true none -> f32"}) {
    Budget budget;
    budget.cancel = &cancel;
    const Budget::Scope scope(&budget);
    const CallOutcome outcome = RunCall(*standard_, TextCall::Parse(text));
    EXPECT_OK(outcome.status);
    EXPECT_THAT(outcome.kernel, HasSubstr("highway")) << text;
    EXPECT_TRUE(budget.cut_short()) << text;
  }
}

}  // namespace
}  // namespace belay
