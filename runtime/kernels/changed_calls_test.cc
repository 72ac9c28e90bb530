// Calls that kernels take (calls.txt), and the same with something changed, as a program file may say
// it: an argument or an output of another kind, dtype, shape or size, too few of either, outputs that
// get no memory, no working memory. A kernel refuses it with an error that says what is wrong, or does
// what it is asked for; and the kernels of both engines do the same.
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
#include "runtime/kernel/kernel_registry.h"
#include "runtime/kernels/call_testing.h"
#include "runtime/kernels/reference/reference_kernels.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

struct Row {
  TextCall call;
  std::string result;  // "" when the call does not show it
  bool has_result = false;
  std::vector<std::string> names;  // of the arguments
};

// "a{b,c}d" as "abd" and "acd".
std::vector<std::string> Alternatives(const std::string& text) {
  const size_t open = text.find('{'), close = text.find('}');
  if (open == std::string::npos) return {text};
  std::vector<std::string> all;
  const std::vector<std::string> middles =
      absl::StrSplit(text.substr(open + 1, close - open - 1), ',');
  for (const std::string& middle : middles) {
    all.push_back(text.substr(0, open) + middle + text.substr(close + 1));
  }
  return all;
}

class ChangedCalls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_OK(AddReferenceKernels(*reference_));
    ASSERT_OK(AddStandardKernels(*standard_));
    for (const std::string& line : LinesOf("runtime/kernels/calls.txt")) {
      const size_t end = line.find(" =>");
      for (const std::string& text : Alternatives(line.substr(0, end))) {
        Row& row = rows_->emplace_back();
        row.call = TextCall::Parse(text);
        row.has_result = end != std::string::npos;
        if (row.has_result && end + 4 <= line.size()) row.result = line.substr(end + 4);
        row.names = ArgumentNames(*reference_, row.call.op);
        ASSERT_EQ(row.names.size(), row.call.arguments.size()) << text;
      }
    }
  }

  static std::vector<std::pair<std::string, const KernelRegistry*>> Engines() {
    return {{"reference", reference_}, {"standard", standard_}};
  }

  static KernelRegistry* const reference_;
  static KernelRegistry* const standard_;
  static std::vector<Row>* const rows_;
};

KernelRegistry* const ChangedCalls::reference_ = new KernelRegistry;
KernelRegistry* const ChangedCalls::standard_ = new KernelRegistry;
std::vector<Row>* const ChangedCalls::rows_ = new std::vector<Row>;

bool IsTensor(std::string_view text) {
  const size_t open = text.find('[');
  return open != 0 && open != std::string_view::npos && text.front() != '\'';
}
bool IsNumber(std::string_view text) {
  return !text.empty() && (std::isdigit(text.front()) != 0 || text.front() == '-');
}

// The words of a list, of which those that are tensors say where their elements end.
std::string ListOf(const std::vector<std::string>& elements) {
  std::string list;
  for (const std::string& element : elements) {
    absl::StrAppend(&list, list.empty() ? "" : ",", element,
                    absl::StrContains(element, "=") ? ";" : "");
  }
  return absl::StrCat("[", list, "]");
}

// What draws numbers that nobody can foretell.
bool IsRandom(const TextCall& call) {
  return call.op.starts_with("aten.rand") || call.op == "aten.native_dropout.default" ||
         call.op == "aten.poisson.default";
}

TEST_F(ChangedCalls, AreFineUnchanged) {
  std::set<std::string> operators;
  for (const Row& row : *rows_) {
    operators.insert(row.call.op);
    std::string results[2];
    for (const auto& [engine, kernels] : Engines()) {
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

TEST_F(ChangedCalls, TooFewArgumentsOrOutputs) {
  for (const Row& row : *rows_) {
    for (const auto& [engine, kernels] : Engines()) {
      for (const Kernel* kernel : kernels->Candidates(row.call.op)) {
        SCOPED_TRACE(absl::StrCat(std::string(kernel->name), ": ", row.call.ToString()));
        TextCall fewer = row.call;
        fewer.arguments.pop_back();
        EXPECT_THAT(RunCall(*kernel, fewer).status,
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr(absl::StrCat("expected ", row.names.size(), " arguments"))));
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

// The error of the memory's owner is the error of the call, whichever output it is about.
TEST_F(ChangedCalls, OutputsWithoutMemory) {
  for (const Row& row : *rows_) {
    for (const auto& [engine, kernels] : Engines()) {
      SCOPED_TRACE(absl::StrCat(engine, ": ", row.call.ToString()));
      const int resizes = RunCall(*kernels, row.call).resizes;
      for (int i = 0; i < resizes; ++i) {
        const CallOutcome outcome = RunCall(*kernels, row.call, {.failing_resize = i});
        EXPECT_THAT(outcome.status,
                    StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("spent")))
            << "resize " << i;
      }
    }
  }
}

TEST_F(ChangedCalls, NoWorkingMemory) {
  for (const Row& row : *rows_) {
    for (const auto& [engine, kernels] : Engines()) {
      SCOPED_TRACE(absl::StrCat(engine, ": ", row.call.ToString()));
      const CallOutcome outcome = RunCall(*kernels, row.call, {.no_scratch = true});
      // It may not need what it asked for.
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

// What a call writes to may be a constant, or overlap an argument that it reads.
TEST_F(ChangedCalls, ArgumentsThatMustNotBeWritten) {
  for (const Row& row : *rows_) {
    for (const auto& [engine, kernels] : Engines()) {
      const CallOutcome outcome = RunCall(*kernels, row.call, {.constant_arguments = true});
      if (outcome.status.ok()) continue;
      EXPECT_THAT(outcome.status,
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is constant")))
          << engine << ": " << row.call.ToString();
    }
  }
}

TEST_F(ChangedCalls, OutputsOfAnotherKind) {
  for (const Row& row : *rows_) {
    for (const auto& [engine, kernels] : Engines()) {
      for (size_t i = 0; i < row.call.outputs.size(); ++i) {
        const std::string& output = row.call.outputs[i];
        if (output == "none" || output == "self") continue;  // a symbol; the slot of argument 0
        SCOPED_TRACE(absl::StrCat(engine, ": ", row.call.ToString(), " output ", i));
        EXPECT_THAT(RunCall(*kernels, row.call.WithOutput(i, "3")).status,
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr(absl::StrCat("output ", i, ": expected"))));
        // Another size than that which the output must keep.
        if (output.front() == '[') {
          EXPECT_THAT(RunCall(*kernels, row.call.WithOutput(i, "[f32]")).status,
                      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pieces")));
          EXPECT_THAT(RunCall(*kernels, row.call.WithOutput(i, "[null,null]")).status,
                      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no element 0")));
        } else {
          EXPECT_THAT(RunCall(*kernels, row.call.WithOutput(i, output + "[7,1,7,1,7,1,7]")).status,
                      StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr(absl::StrCat("output ", i, ": has the sizes"))));
        }
      }
    }
  }
}

// A kernel writes in the output's dtype or says which it expects.
TEST_F(ChangedCalls, OutputsOfAnotherDtype) {
  for (const Row& row : *rows_) {
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

// Arguments that no kernel reads: kernels know one of what they choose, or the compiler has looked at
// them and the output's dtype and layout say the rest. `op` is a part of the operator's name.
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

TEST_F(ChangedCalls, ArgumentsOfAnotherKind) {
  for (const Row& row : *rows_) {
    for (const auto& [engine, kernels] : Engines()) {
      for (size_t i = 0; i < row.names.size(); ++i) {
        if (IsIgnored(row.call.op, row.names[i])) continue;
        // No argument that is not a dtype may be one, and none that is may be text.
        const bool dtype = DTypeFromName(row.call.arguments[i]).has_value() ||
                           absl::StrContains(row.names[i], "dtype");
        const TextCall call = row.call.With(i, dtype ? "'x'" : "float32");
        // A bias of _grouped_mm is refused whatever it is, and numbers of symbols have no names.
        const absl::StatusCode code =
            absl::StrContains(call.op, "_grouped_mm") && row.names[i] == "bias"
                ? absl::StatusCode::kUnimplemented
                : absl::StatusCode::kInvalidArgument;
        const std::string named =
            absl::StrContains(call.op, "sym_ite") ? "expected a real number" : row.names[i];
        EXPECT_THAT(RunCall(*kernels, call).status, StatusIs(code, HasSubstr(named)))
            << engine << ": " << call.ToString();
      }
    }
  }
}

TEST_F(ChangedCalls, ListsOfOtherElements) {
  for (const Row& row : *rows_) {
    for (const auto& [engine, kernels] : Engines()) {
      for (size_t i = 0; i < row.names.size(); ++i) {
        const std::string& argument = row.call.arguments[i];
        if (argument.front() != '[' || argument == "[]") continue;
        if (IsIgnored(row.call.op, row.names[i])) continue;
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

// ---- What both engines do

// Whether texts of results say the same but for rounding: numbers within a part of 100.
bool AreAlike(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const std::string one(a), other(b);
  const char *p = one.c_str(), *q = other.c_str();
  while (*p != '\0' && *q != '\0') {
    char *p_end = nullptr, *q_end = nullptr;
    const double x = std::strtod(p, &p_end), y = std::strtod(q, &q_end);
    if (p_end != p && q_end != q) {
      if (x != y && !(std::isnan(x) && std::isnan(y)) &&
          !(std::abs(x - y) <= 0.01 * std::max(std::abs(x), std::abs(y)) + 1e-5)) {
        return false;
      }
      p = p_end;
      q = q_end;
    } else if (*p++ != *q++) {
      return false;
    }
  }
  return *p == *q;
}

// Calls of both engines end, and in the same way.
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

// The tensor with another dtype, layout and shape, each alone.
std::vector<std::string> ChangedTensors(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  const std::string dtype = text.substr(0, open), rest = text.substr(close + 1);
  const std::string inside = text.substr(open + 1, close - open - 1);
  std::vector<std::string> sizes = absl::StrSplit(inside, ',', absl::SkipEmpty());
  std::vector<std::string> changed;
  for (const char* other : {"f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "b8",
                            "c64", "c128", "c32", "u16", "u32", "u64", "f8e4m3fn"}) {
    if (other != dtype) changed.push_back(absl::StrCat(other, text.substr(open)));
  }
  const size_t elements = rest.find('=');
  const std::string values = elements == std::string::npos ? "" : rest.substr(elements);
  for (const char* layout : {":t", ":g", ":r"}) {
    changed.push_back(absl::StrCat(text.substr(0, close + 1), layout, values));
  }
  if (sizes.size() == 4) changed.push_back(absl::StrCat(text.substr(0, close + 1), ":l", values));
  const auto add = [&](const std::vector<std::string>& list) {
    changed.push_back(absl::StrCat(dtype, "[", absl::StrJoin(list, ","), "]", rest));
  };
  for (size_t d = 0; d < sizes.size(); ++d) {
    for (const char* size : {"0", "1", "3", "70"}) {
      std::vector<std::string> other = sizes;
      other[d] = size;
      add(other);
    }
    std::vector<std::string> fewer = sizes;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(d));
    add(fewer);
  }
  sizes.insert(sizes.begin(), "2");
  add(sizes);
  sizes[0] = "1";
  add(sizes);
  sizes.insert(sizes.begin(), 7, "1");
  if (sizes.size() > kMaxRank) sizes.resize(kMaxRank);
  add(sizes);
  return changed;
}

std::vector<std::string> ChangedArgument(const std::string& text) {
  if (IsTensor(text)) {
    std::vector<std::string> changed = ChangedTensors(text);
    changed.push_back("none");
    return changed;
  }
  if (text == "true") return {"false", "1"};
  if (text == "false") return {"true", "0"};
  if (IsNumber(text)) {
    return {"0",
            "1",
            "-1",
            "2",
            "5",
            "-7",
            "300",
            "1.5",
            "-0.5",
            "0.0",
            "nan",
            "inf",
            "-inf",
            "1e300",
            "true",
            "none",
            "1+2j",
            "9223372036854775807",
            "-9223372036854775808",
            "4294967296"};
  }
  if (text == "none") return {"0", "1", "-1", "2", "3", "0.5", "nan", "true", "[0]", "f32[1]"};
  if (text.front() == '\'') return {"''", "'mean'", "'sum'", "'amax'", "'tanh'", "'complete'"};
  std::vector<std::string> changed;
  if (text.front() == '[') {
    const std::vector<std::string> elements =
        SplitOutsideOfBrackets(text.substr(1, text.size() - 2), ',');
    const auto list = [&](const std::vector<std::string>& parts) {
      changed.push_back(ListOf(parts));
    };
    changed.push_back("[]");
    changed.push_back("none");
    for (size_t k = 0; k < elements.size(); ++k) {
      std::vector<std::string> fewer = elements;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      list(fewer);
      std::vector<std::string> other = elements;
      for (const std::string& element :
           IsTensor(elements[k])
               ? ChangedTensors(elements[k])
               : std::vector<std::string>{"0", "1", "2", "3", "-1", "-2", "7",
                                          "9223372036854775807", "-9223372036854775808"}) {
        other[k] = element;
        list(other);
      }
    }
    std::vector<std::string> more = elements;
    for (int k = 0; k < 17 && !elements.empty(); ++k) {
      more.push_back(elements[0]);
      if (k == 0 || k == 16) list(more);
    }
  }
  for (const char* dtype : {"float32", "float64", "float16", "int64", "int8", "uint8", "bool",
                            "complex64", "complex32"}) {
    if (DTypeFromName(text).has_value()) changed.push_back(dtype);
  }
  return changed;
}

TEST_F(ChangedCalls, OneOtherArgument) {
  for (const Row& row : *rows_) {
    for (size_t i = 0; i < row.names.size(); ++i) {
      for (const std::string& value : ChangedArgument(row.call.arguments[i])) {
        ExpectAgreement(*reference_, *standard_, row.call.With(i, value));
      }
    }
  }
}

TEST_F(ChangedCalls, TensorsOfAnotherDtype) {
  for (const Row& row : *rows_) {
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

// Two arguments that are tensors of other shapes.
TEST_F(ChangedCalls, TwoOtherTensors) {
  for (const Row& row : *rows_) {
    for (size_t i = 0; i < row.names.size(); ++i) {
      for (size_t k = i + 1; k < row.names.size(); ++k) {
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

// Loops over windows of so many places that their number, times those of the image, has no 64 bits
// end like others when they are asked to.
TEST_F(ChangedCalls, VastWindowsEndWhenAsked) {
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
