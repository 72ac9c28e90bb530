// Passes preserve results, judged by the interpreter, which executes writes and views directly. For
// mapped functions, the reference is written out row by row.
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exir/functionalize/batch_regions.h"
#include "exir/functionalize/functionalize.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/program_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry* const ops = CreateStandardOps()->release();
  return *ops;
}
const KernelRegistry& Kernels() {
  static const KernelRegistry* const kernels = [] {
    auto* registry = new KernelRegistry;
    EXPECT_OK(AddReferenceKernels(*registry));
    return registry;
  }();
  return *kernels;
}

// Sizes and elements of a tensor.
struct Numbers {
  Sizes sizes;
  std::vector<double> elements;
  bool operator==(const Numbers&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Numbers& numbers) {
  out << FormatSizes(numbers.sizes) << " {";
  for (const double x : numbers.elements) out << " " << x;
  return out << " }";
}

Numbers Read(const TensorView& view) {
  Numbers numbers{view.sizes, {}};
  for (StridedIterator<1> it(view.sizes, {view.strides}); !it.done(); it.Next()) {
    const int64_t at = it.offset(0);
    numbers.elements.push_back(
        view.dtype == DType::kFloat32 ? view.as<float>()[at]
        : view.dtype == DType::kInt64 ? static_cast<double>(view.as<int64_t>()[at])
        : view.dtype == DType::kInt32 ? static_cast<double>(view.as<int32_t>()[at])
                                      : static_cast<double>(view.as<bool>()[at]));
  }
  return numbers;
}

// Returns the program's results, followed by its inputs after the call. Nearby elements of f32
// inputs are distinct; elements of i64 are 0 and 1, those of b8 false and true.
std::vector<Numbers> Execute(const ExportedProgram& program) {
  std::vector<TestTensor> inputs;
  for (size_t i = 0; i < program.top().inputs().size(); ++i) {
    const TensorMeta* meta = program.top().value(program.top().inputs()[i]).tensor();
    std::vector<int64_t> sizes;
    for (const SymInt& size : meta->sizes) sizes.push_back(*size.AsInt());
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    const auto fill = [&]<class T>(T, auto number) {
      std::vector<T> numbers;
      for (int64_t k = 0; k < count; ++k) numbers.push_back(number(k));
      TestTensor tensor = TestTensor::Of<T>(Sizes(sizes), numbers);
      inputs.push_back(std::move(tensor));
    };
    const int64_t salt = static_cast<int64_t>(i) * 5;
    if (meta->dtype == DType::kFloat32) {
      fill(float{},
           [&](int64_t k) { return 0.25f * static_cast<float>((k * 17 + salt) % 101 - 40); });
    } else if (meta->dtype == DType::kInt64) {
      fill(int64_t{}, [&](int64_t k) { return (k + salt) % 2; });
    } else {
      fill(bool{}, [&](int64_t k) { return (k + salt) % 3 == 0; });
    }
  }
  std::vector<EValue> values;
  for (TestTensor& input : inputs) values.emplace_back(input.view());
  absl::StatusOr<Interpreter> interpreter = Interpreter::Create(program, Kernels());
  EXPECT_OK(interpreter.status());
  if (!interpreter.ok()) return {};
  const absl::StatusOr<std::vector<OwnedValue>> outputs = interpreter->Run(values);
  EXPECT_OK(outputs.status());
  if (!outputs.ok()) return {};
  std::vector<Numbers> all;
  for (const OwnedValue& output : *outputs) {
    all.push_back(Read(*output.value().get_if<TensorView>()));
  }
  for (TestTensor& input : inputs) all.push_back(Read(input.view()));
  return all;
}

absl::StatusOr<ExportedProgram> Passed(const std::string& text, const Pass& pass) {
  ABSL_ASSIGN_OR_RETURN(ExportedProgram program, ParseProgram(text, Ops()));
  ABSL_ASSIGN_OR_RETURN(const bool changed, pass.run(program));
  EXPECT_TRUE(changed);
  EXPECT_OK(Verify(program));
  return program;
}

// --- Writes and views ---

std::string Training(std::string_view inputs, std::string_view nodes, std::string_view outputs) {
  return absl::StrCat("program training { graph(", inputs, ") {\n", nodes, "\n return (", outputs,
                      ") } }");
}

// `reference` is equivalent to `text`; its only writing operator is copy_, which the interpreter
// supports.
void ExpectSameWhenFunctional(const std::string& text, const std::string& reference) {
  SCOPED_TRACE(text);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram before, ParseProgram(reference, Ops()));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram after, Passed(text, Functionalize()));
  for (const NodeId id : after.top().nodes()) {
    const FunctionSchema* schema = after.top().node(id).target->schema();
    EXPECT_FALSE(schema != nullptr && schema->IsMutable());
  }
  EXPECT_EQ(Execute(after), Execute(before));
}

// Writes x through one view, and reads it through another before and after.
TEST(FunctionalizedValuesTest, WritesThroughEveryView) {
  struct View {
    std::string_view call;  // of %x
    std::string_view type;
    std::string_view x = "f32[4,6]";
  };
  const View views[] = {
      {"aten.alias.default(%x)", "f32[4,6]"},
      {"aten.detach.default(%x)", "f32[4,6]"},
      {"aten.lift_fresh.default(%x)", "f32[4,6]"},
      {"aten._unsafe_view.default(%x, [3,8])", "f32[3,8]"},
      {"aten.view.default(%x, [-1])", "f32[24]"},
      {"aten.squeeze.default(%x)", "f32[6]", "f32[1,6]"},
      {"aten.squeeze.dim(%x, 0)", "f32[6]", "f32[1,6]"},
      {"aten.squeeze.dims(%x, [0,2])", "f32[6]", "f32[1,6,1]"},
      {"aten.unsqueeze.default(%x, -2)", "f32[4,1,6]"},
      {"aten.permute.default(%x, [2,0,-2])", "f32[4,2,3]{strides=[1,12,4]}", "f32[2,3,4]"},
      {"aten.transpose.int(%x, 0, -1)", "f32[6,4]{strides=[1,6]}"},
      {"aten.t.default(%x)", "f32[6,4]{strides=[1,6]}"},
      {"aten.t.default(%x)", "f32[6]", "f32[6]"},
      {"aten.select.int(%x, 1, -2)", "f32[4]{strides=[6],offset=4}"},
      {"aten.slice.Tensor(%x, 1, 1, -1, 2)", "f32[4,2]{strides=[6,2],offset=1}"},
      {"aten.slice.Tensor(%x, 0, 1)", "f32[3,6]{offset=6}"},
      {"aten.narrow.default(%x, 1, -3, 2)", "f32[4,2]{strides=[6,1],offset=3}"},
      {"aten.narrow.default(%x, 1, -2, 2)", "f32[4,2]{strides=[6,1],offset=4}"},
      {"aten.narrow.default(%x, 0, 1, 2)", "f32[2,6]{offset=6}"},
      {"aten.expand.default(%x, [-1,6])", "f32[4,6]"},
      {"aten.expand.default(%x, [1,4,6])", "f32[1,4,6]"},
      {"aten.diagonal.default(%x, 1)", "f32[4]{strides=[7],offset=1}"},
      {"aten.as_strided.default(%x, [2,3], [7,2], 3)", "f32[2,3]{strides=[7,2],offset=3}"},
      {"aten.unfold.default(%x, 1, 2, 2)", "f32[4,3,2]{strides=[6,2,1]}"},
      {"aten.view.dtype(%x, dtype:f32)", "f32[4,6]"},
  };
  for (const View& view : views) {
    const std::string text = Training(
        absl::StrCat("%x: ", view.x, " user_input"),
        absl::StrCat("%before: ", view.x, " = aten.neg.default(%x)\n%v: ", view.type, " = ",
                     view.call, "\n%m: ", view.type, " = aten.mul.Scalar(%v, 3)\n%w: ", view.type,
                     " = aten.copy_.default(%v, %m)\n%after: ", view.x,
                     " = aten.neg.default(%x)\n%n: ", view.x,
                     " = aten.add.Scalar(%x, 1)\n%y: ", view.x, " = aten.copy_.default(%x, %n)\n"),
        "%before user_output, %after user_output, %w user_output, %v user_output");
    ExpectSameWhenFunctional(text, text);
  }
}

// A chain long enough to use element indices.
TEST(FunctionalizedValuesTest, ReadsLongChainAfterWrite) {
  std::string chain = "%v0: f32[3,2]{strides=[1,3]} = aten.transpose.int(%x, 0, 1)\n";
  for (int i = 1; i < 21; ++i) {
    absl::StrAppend(&chain, "%v", i, i % 2 == 1 ? ": f32[2,3]" : ": f32[3,2]{strides=[1,3]}",
                    " = aten.transpose.int(%v", i - 1, ", 0, 1)\n");
  }
  const std::string text =
      Training("%x: f32[2,3] user_input",
               absl::StrCat(chain,
                            "%before: f32[3,2]{strides=[1,3]} = aten.neg.default(%v20)\n"
                            "%n: f32[2,3] = aten.add.Scalar(%x, 1)\n"
                            "%y: f32[2,3] = aten.copy_.default(%x, %n)\n"
                            "%after: f32[3,2]{strides=[1,3]} = aten.neg.default(%v20)\n"),
               "%before user_output, %after user_output");
  ExpectSameWhenFunctional(text, text);
}

TEST(FunctionalizedValuesTest, WritesThroughSplits) {
  const std::tuple<std::string_view, std::string_view, std::string_view> splits[] = {
      {"[%a: f32[3,4], %b: f32[2,4]{offset=12}]", "aten.split.Tensor(%x, 3)",
       "f32[2,4]{offset=12}"},
      {"[%a: f32[1,4], %c: f32[2,4]{offset=4}, %b: f32[2,4]{offset=12}]",
       "aten.split_with_sizes.default(%x, [1,2,2], -2)", "f32[2,4]{offset=12}"},
      {"[%a: f32[5]{strides=[4]}, %c: f32[5]{strides=[4],offset=1}, "
       "%b: f32[5]{strides=[4],offset=2}, %d: f32[5]{strides=[4],offset=3}]",
       "aten.unbind.int(%x, 1)", "f32[5]{strides=[4],offset=2}"},
  };
  for (const auto& [pieces, call, type] : splits) {
    const std::string text = Training(
        "%x: f32[5,4] user_input",
        absl::StrCat(pieces, " = ", call, "\n%m: ", type, " = aten.mul.Scalar(%b, 3)\n%w: ", type,
                     " = aten.copy_.default(%b, %m)\n%y: f32[5,4] = aten.neg.default(%x)\n"),
        "%y user_output, %a user_output, %b user_output");
    ExpectSameWhenFunctional(text, text);
  }
}

TEST(FunctionalizedValuesTest, EveryKindOfWrite) {
  struct Write {
    std::string_view inputs, nodes, reference;
  };
  constexpr std::string_view kX = "%x: f32[3,4] user_input", kInts = "%x: i64[4] user_input",
                             kTwo = "%x: i64[4] user_input, %y: i64[4] user_input",
                             kMixed = "%x: f32[4] user_input, %y: i64[4] user_input";
  const Write writes[] = {
      {"%x: f32[3,4] user_input, %y: f32[4] user_input",
       "%w: f32[3,4] = aten.copy_.default(%x, %y)", "%w: f32[3,4] = aten.copy_.default(%x, %y)"},
      {kX, "%w: f32[3,4] = aten.zero_.default(%x)",
       "%z: f32[3,4] = aten.full_like.default(%x, 0)\n%w: f32[3,4] = aten.copy_.default(%x, %z)"},
      {kX, "%w: f32[3,4] = aten.fill_diagonal_.default(%x, 7)",
       "%d: f32[3]{strides=[5]} = aten.diagonal.default(%x)\n"
       "%s: f32[3] = aten.full.default([3], 7.0)\n"
       "%c: f32[3]{strides=[5]} = aten.copy_.default(%d, %s)\n"
       "%w: f32[3,4] = aten.alias.default(%x)"},
      {kTwo, "%w: i64[4] = aten.__ilshift__.Tensor(%x, %y)",
       "%z: i64[4] = aten.bitwise_left_shift.Tensor(%x, %y)\n"
       "%w: i64[4] = aten.copy_.default(%x, %z)"},
      {kInts, "%w: i64[4] = aten.__ilshift__.Scalar(%x, 2)",
       "%z: i64[4] = aten.mul.Scalar(%x, 4)\n%w: i64[4] = aten.copy_.default(%x, %z)"},
      {kTwo, "%w: i64[4] = aten.__irshift__.Tensor(%x, %y)",
       "%z: i64[4] = aten.bitwise_right_shift.Tensor(%x, %y)\n"
       "%w: i64[4] = aten.copy_.default(%x, %z)"},
      {kInts, "%w: i64[4] = aten.__irshift__.Scalar(%x, 1)",
       "%z: i64[4] = aten.full_like.default(%x, 0)\n%w: i64[4] = aten.copy_.default(%x, %z)"},
      // The result is cast to the destination's dtype.
      {"%x: i64[4] user_input, %y: b8[4] user_input", "%w: i64[4] = aten.copy_.default(%x, %y)",
       "%w: i64[4] = aten.copy_.default(%x, %y)"},
      {kMixed, "%w: f32[4] = aten.mul_.Tensor(%x, %y)",
       "%z: f32[4] = aten.mul.Tensor(%x, %y)\n%w: f32[4] = aten.copy_.default(%x, %z)"},
      // The written tensor has other dimensions afterwards.
      {kX,
       "%v: f32[4,3]{strides=[1,4]} = aten.t_.default(%x)\n"
       "%w: f32[4,3]{strides=[1,4]} = aten.mul_.Scalar(%v, 2)\n"
       "%x2: f32[4,3]{strides=[1,4]} = aten.alias.default(%x)",
       "%v: f32[4,3]{strides=[1,4]} = aten.t.default(%x)\n"
       "%m: f32[4,3]{strides=[1,4]} = aten.mul.Scalar(%v, 2)\n"
       "%w: f32[4,3]{strides=[1,4]} = aten.copy_.default(%v, %m)"},
      {kX,
       "%v: f32[4,3]{strides=[1,4]} = aten.swapaxes_.default(%x, 0, 1)\n"
       "%w: f32[4,3]{strides=[1,4]} = aten.mul_.Scalar(%v, 2)",
       "%v: f32[4,3]{strides=[1,4]} = aten.transpose.int(%x, 0, 1)\n"
       "%m: f32[4,3]{strides=[1,4]} = aten.mul.Scalar(%v, 2)\n"
       "%w: f32[4,3]{strides=[1,4]} = aten.copy_.default(%v, %m)"},
      {kX, "%v: f32[3,4] = aten.detach_.default(%x)\n%w: f32[3,4] = aten.mul_.Scalar(%v, 2)",
       "%z: f32[3,4] = aten.mul.Scalar(%x, 2)\n%w: f32[3,4] = aten.copy_.default(%x, %z)"},
      // Writes to a provided tensor.
      {"%x: f32[4] user_input, %y: f32[4] user_input", "%w: f32[4] = aten.add.out(%y, %y, out=%x)",
       "%z: f32[4] = aten.add.Tensor(%y, %y)\n%w: f32[4] = aten.copy_.default(%x, %z)"},
      {kMixed, "%w: f32[4] = aten.add.out(%y, %y, out=%x)",
       "%z: i64[4] = aten.add.Tensor(%y, %y)\n%w: f32[4] = aten.copy_.default(%x, %z)"},
      // Caches of ExecuTorch's language models.
      {"%x: f32[1,5,2,3] user_input, %y: f32[1,2,2,3] user_input",
       "%w: f32[1] = llama.update_cache.default(%y, %x, 1)",
       "%s: f32[1,2,2,3]{strides=[30,6,3,1],offset=6} = aten.slice.Tensor(%x, 1, 1, 3)\n"
       "%c: f32[1,2,2,3]{strides=[30,6,3,1],offset=6} = aten.copy_.default(%s, %y)\n"
       "%w: f32[1] = aten.full.default([1], 0.0)"},
      {"%x: f32[1,5,2,3] user_input, %y: f32[1,2,2,3] user_input, %i: i64[1,2] user_input",
       "%w: f32[1] = llama.update_cache_with_indices.default(%y, %x, 4, %i)",
       "%s: f32[1,2,2,3]{strides=[30,6,3,1]} = aten.slice.Tensor(%x, 1, 0, 2)\n"
       "%c: f32[1,2,2,3]{strides=[30,6,3,1]} = aten.copy_.default(%s, %y)\n"
       "%w: f32[1] = aten.full.default([1], 0.0)"},
      {"%x: f32[1,5,1,3] user_input, %y: f32[1,5,1,3] user_input, %q: f32[1,1,2,3] user_input, "
       "%k: f32[1,1,1,3] user_input, %v: f32[1,1,1,3] user_input",
       "%w: f32[1,1,2,3] = llama.sdpa_with_kv_cache.default(%q, %k, %v, %x, %y, 2, 1, none, 0.0, "
       "true, 0.125)",
       "%s: f32[1,1,1,3]{strides=[15,3,3,1],offset=6} = aten.slice.Tensor(%x, 1, 2, 3)\n"
       "%c: f32[1,1,1,3]{strides=[15,3,3,1],offset=6} = aten.copy_.default(%s, %k)\n"
       "%t: f32[1,1,1,3]{strides=[15,3,3,1],offset=6} = aten.slice.Tensor(%y, 1, 2, 3)\n"
       "%d: f32[1,1,1,3]{strides=[15,3,3,1],offset=6} = aten.copy_.default(%t, %v)\n"
       "%w: f32[1,1,2,3] = llama.custom_sdpa.default(%q, %x, %y, 2, none, 0.0, true, 0.125)"},
  };
  for (const Write& write : writes) {
    ExpectSameWhenFunctional(Training(write.inputs, write.nodes, "%w user_output"),
                             Training(write.inputs, write.reference, "%w user_output"));
  }
}

// Values forwarded by a branch, or by a loop without iterations, are new tensors.
TEST(FunctionalizedValuesTest, WritesToControlFlowResultsStayLocal) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"higher_order.cond(%p, graph#1, graph#2, [%x])",
       "graph no(%b: f32[3]) { %c: f32[3] = aten.neg.default(%b)\nreturn (%c) }"},
      {"higher_order.while_loop(graph#2, graph#1, [%x], [])",
       "graph never(%b: f32[3]) { return (false) }"},
  };
  for (const auto& [flow, other_body] : cases) {
    const auto program = [&](std::string_view writes) {
      std::string text =
          Training("%p: b8[] user_input, %x: f32[3] user_input",
                   absl::StrCat("%y: f32[3] = ", flow, "\n", writes), "%w user_output");
      text.insert(text.rfind('}'),
                  absl::StrCat("graph same(%a: f32[3]) { return (%a) }\n", other_body));
      return text;
    };
    ExpectSameWhenFunctional(program("%w: f32[3] = aten.mul_.Scalar(%y, 2)"),
                             program("%z: f32[3] = aten.mul.Scalar(%y, 2)\n"
                                     "%w: f32[3] = aten.copy_.default(%y, %z)"));
  }
}

// All views of a written storage show the new contents.
TEST(FunctionalizedValuesTest, ViewsObserveEachOthersWrites) {
  const std::string text = Training(
      "%x: f32[4,6] user_input",
      R"(%row: f32[6]{offset=6} = aten.select.int(%x, 0, 1)
         %flat: f32[24] = aten.view.default(%x, [24])
         %cols: f32[6,4]{strides=[1,6]} = aten.t.default(%x)
         %part: f32[6,2]{strides=[1,6],offset=6} = aten.slice.Tensor(%cols, 1, 1, 3)
         %pa: f32[6,2]{strides=[1,2]} = aten.add.Scalar(%part, 10)
         %a: f32[6,2]{strides=[1,6],offset=6} = aten.copy_.default(%part, %pa)
         %r: f32[6] = aten.neg.default(%row)
         %rb: f32[6] = aten.mul.Scalar(%row, 2)
         %b: f32[6]{offset=6} = aten.copy_.default(%row, %rb)
         %f: f32[24] = aten.neg.default(%flat)
         %fc: f32[24] = aten.sub.Scalar(%flat, 1)
         %c: f32[24] = aten.copy_.default(%flat, %fc)
         %p: f32[6,2]{strides=[1,2]} = aten.neg.default(%part))",
      "%r user_output, %f user_output, %p user_output, %row user_output, %cols user_output");
  ExpectSameWhenFunctional(text, text);
}

TEST(FunctionalizedValuesTest, RejectsWritesWithoutFunctionalForm) {
  const std::pair<std::string, std::string> programs[] = {
      {Training("%x: f32[2,3,4] user_input", "%w: f32[2,3,4] = aten.fill_diagonal_.default(%x, 7)",
                "%w user_output"),
       "fill_diagonal_ of a tensor that is not a matrix, or with wrap"},
      {Training("%x: f32[4,3] user_input",
                "%w: f32[4,3] = aten.fill_diagonal_.default(%x, 7, wrap=true)", "%w user_output"),
       "fill_diagonal_ of a tensor that is not a matrix, or with wrap"},
      {Training("%x: f32[1,6] user_input",
                "%v: f32[4,6]{strides=[0,1]} = aten.expand.default(%x, [4,6])\n"
                "%w: f32[4,6]{strides=[0,1]} = aten.mul_.Scalar(%v, 3)",
                "%w user_output"),
       "a write to an expanded tensor, whose elements share memory"},
      {Training("%x: f32[4,6]{strides=[1,4]} user_input",
                "%v: f32[6] = aten.as_strided.default(%x, [6], [1])\n"
                "%w: f32[6] = aten.mul_.Scalar(%v, 3)",
                "%w user_output"),
       "a write through as_strided to a tensor that is not contiguous"},
  };
  for (const auto& [text, message] : programs) {
    EXPECT_THAT(Passed(text, Functionalize()).status(),
                StatusIs(absl::StatusCode::kUnimplemented, ::testing::HasSubstr(message)));
  }
}

// --- Mapped functions ---

struct Mapped {
  std::string_view input, type;  // %name as provided, with its type
  std::string_view row_type;
  int dim;  // mapped dimension; negative: not mapped, every row gets the whole
};

// A function of rows: names with the suffix `@` are per row. Its result is %r@.
struct Function {
  std::vector<Mapped> inputs;
  std::string_view body;
  std::string_view row_result, result;  // types
  int out_dim = 0;
};

std::string Inputs(const Function& f) {
  std::string inputs;
  for (const Mapped& m : f.inputs) {
    absl::StrAppend(&inputs, inputs.empty() ? "" : ", ", "%", std::string(m.input), ": ",
                    std::string(m.type), " user_input");
  }
  return inputs;
}
// For inputs that are not mapped, names a@ refer to the input itself.
std::string Body(const Function& f, const std::string& suffix) {
  std::string body(f.body);
  for (const Mapped& m : f.inputs) {
    if (m.dim < 0) {
      body = absl::StrReplaceAll(body, {{absl::StrCat("%", std::string(m.input), "@"),
                                         absl::StrCat("%", std::string(m.input))}});
    }
  }
  return absl::StrReplaceAll(body, {{"@", suffix}});
}

constexpr int kRows = 3;

std::string AsVmap(const Function& f) {
  std::string nodes;
  for (const Mapped& m : f.inputs) {
    if (m.dim < 0) continue;
    absl::StrAppend(&nodes, "%", std::string(m.input), "_row: ", std::string(m.row_type),
                    " = torch._functorch.predispatch._add_batch_dim(%", std::string(m.input), ", ",
                    m.dim, ", 1)\n");
  }
  absl::StrAppend(&nodes, Body(f, "_row"), "\n%out: ", std::string(f.result),
                  " = torch._functorch.predispatch._remove_batch_dim(%r_row, 1, ", kRows, ", ",
                  f.out_dim, ")\n");
  return Training(Inputs(f), nodes, "%out user_output");
}

std::string RowByRow(const Function& f) {
  std::string nodes, rows;
  for (int i = 0; i < kRows; ++i) {
    for (const Mapped& m : f.inputs) {
      if (m.dim < 0) continue;
      absl::StrAppend(&nodes, "%", std::string(m.input), "_", i, ": ", std::string(m.row_type),
                      " = aten.select_copy.int(%", std::string(m.input), ", ", m.dim, ", ", i,
                      ")\n");
    }
    absl::StrAppend(&nodes, Body(f, absl::StrCat("_", i)), "\n");
    absl::StrAppend(&rows, i == 0 ? "" : ", ", "%r_", i);
  }
  absl::StrAppend(&nodes, "%out: ", std::string(f.result), " = aten.stack.default([", rows, "], ",
                  f.out_dim, ")\n");
  return Training(Inputs(f), nodes, "%out user_output");
}

void ExpectSameRowByRow(const Function& f) {
  const std::string text = AsVmap(f);
  SCOPED_TRACE(text);
  ASSERT_OK_AND_ASSIGN(const ExportedProgram expected, ParseProgram(RowByRow(f), Ops()));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram came, Passed(text, BatchRegions()));
  EXPECT_EQ(Execute(came), Execute(expected));
}

TEST(MappedValuesTest, UnaryOperatorsAndDimensions) {
  const Mapped x = {"x", "f32[2,3,4]", "f32[2,4]", 1};
  const auto of = [&](std::string_view call, std::string_view row, std::string_view all,
                      int out_dim = 0) {
    static std::vector<std::string>& bodies = *new std::vector<std::string>;
    bodies.reserve(100);
    bodies.push_back(absl::StrCat("%r@: ", std::string(row), " = ", std::string(call)));
    ExpectSameRowByRow({{x}, bodies.back(), row, all, out_dim});
  };
  of("aten.neg.default(%x@)", "f32[2,4]", "f32[2,3,4]", 1);
  of("aten.neg.default(%x@)", "f32[2,4]", "f32[2,4,3]", -1);
  of("aten.clone.default(%x@)", "f32[2,4]", "f32[3,2,4]");
  of("aten.full_like.default(%x@, 5)", "f32[2,4]", "f32[3,2,4]");
  of("aten._to_copy.default(%x@, dtype=dtype:i64)", "i64[2,4]", "i64[3,2,4]");
  of("aten.amax.default(%x@, [])", "f32[]", "f32[3]");
  of("aten.amin.default(%x@, [-2])", "f32[4]", "f32[3,4]");
  of("aten.argmax.default(%x@, 0)", "i64[4]", "i64[3,4]");
  of("aten.any.dim(%x@, -1)", "b8[2]", "b8[3,2]");
  of("aten.cumsum.default(%x@, 1)", "f32[2,4]", "f32[3,2,4]");
  of("aten.flip.default(%x@, [0,-1])", "f32[2,4]", "f32[3,2,4]");
  of("aten.mean.dim(%x@, none, true)", "f32[1,1]", "f32[3,1,1]");
  of("aten.sum.dim_IntList(%x@, [])", "f32[]", "f32[3]");
  of("aten.sum.dim_IntList(%x@, none)", "f32[]", "f32[3]");
  of("aten.prod.dim_int(%x@, -2)", "f32[4]", "f32[3,4]");
  of("aten.var.correction(%x@, [1], correction=1)", "f32[2]", "f32[3,2]");
  of("aten._softmax.default(%x@, -1, false)", "f32[2,4]", "f32[3,2,4]");
  of("aten.select.int(%x@, 1, -1)", "f32[2]{strides=[4],offset=3}", "f32[3,2]");
  of("aten.slice.Tensor(%x@, -1, 1, 3)", "f32[2,2]{strides=[4,1],offset=1}", "f32[3,2,2]");
  of("aten.unsqueeze.default(%x@, 2)", "f32[2,4,1]", "f32[3,2,4,1]");
  of("aten.unsqueeze.default(%x@, -3)", "f32[1,2,4]", "f32[3,1,2,4]");
  of("aten.permute.default(%x@, [-1,0])", "f32[4,2]{strides=[1,4]}", "f32[3,4,2]");
  of("aten.view.default(%x@, [8])", "f32[8]", "f32[3,8]");
  of("aten._unsafe_view.default(%x@, [4,2])", "f32[4,2]", "f32[3,4,2]");
  of("aten.expand.default(%x@, [2,2,4])", "f32[2,2,4]{strides=[0,4,1]}", "f32[3,2,2,4]");
}

TEST(MappedValuesTest, SeveralResults) {
  ExpectSameRowByRow({{{"x", "f32[2,3,4]", "f32[2,4]", 1}},
                      "%m@: f32[2], %i@: i64[2] = aten.max.dim(%x@, 1)\n"
                      "%r@: f32[2] = aten.mul.Tensor(%m@, %i@)",
                      "f32[2]",
                      "f32[3,2]"});
  ExpectSameRowByRow({{{"x", "f32[3,2,4]", "f32[2,4]", 0}},
                      "[%a@: f32[2,1]{strides=[4,1]}, %b@: f32[2,3]{strides=[4,1],offset=1}] = "
                      "aten.split_with_sizes.default(%x@, [1,3], 1)\n"
                      "%r@: f32[2,3] = aten.add.Tensor(%a@, %b@)",
                      "f32[2,3]",
                      "f32[3,2,3]"});
}

TEST(MappedValuesTest, MappedAndUnmappedOperands) {
  const Mapped x = {"x", "f32[3,2,4]", "f32[2,4]", 0}, y = {"y", "f32[4,3]", "f32[4]", 1},
               n = {"n", "f32[2,4]", "f32[2,4]", -1};
  ExpectSameRowByRow(
      {{x, y}, "%r@: f32[2,4] = aten.add.Tensor(%x@, %y@)", "f32[2,4]", "f32[3,2,4]"});
  ExpectSameRowByRow(
      {{x, n}, "%r@: f32[2,4] = aten.sub.Tensor(%n@, %x@)", "f32[2,4]", "f32[3,2,4]"});
  ExpectSameRowByRow(
      {{y, n}, "%r@: f32[2,4] = aten.mul.Tensor(%n@, %y@)", "f32[2,4]", "f32[2,3,4]", 1});
  ExpectSameRowByRow(
      {{x, n}, "%r@: f32[2,8] = aten.cat.default([%n@, %x@], -1)", "f32[2,8]", "f32[3,2,8]"});
}

TEST(MappedValuesTest, Matmuls) {
  const Mapped x = {"x", "f32[3,2,4]", "f32[2,4]", 0}, y = {"y", "f32[4,5,3]", "f32[4,5]", 2},
               n = {"n", "f32[4,5]", "f32[4,5]", -1}, m = {"m", "f32[2,4]", "f32[2,4]", -1};
  for (const auto& [inputs, call] : std::vector<std::pair<std::vector<Mapped>, std::string_view>>{
           {{x, y}, "%r@: f32[2,5] = aten.mm.default(%x@, %y@)"},
           {{x, n}, "%r@: f32[2,5] = aten.mm.default(%x@, %n@)"},
           {{m, y}, "%r@: f32[2,5] = aten.mm.default(%m@, %y@)"}}) {
    ExpectSameRowByRow({inputs, call, "f32[2,5]", "f32[3,2,5]"});
  }
  ExpectSameRowByRow(
      {{{"x", "f32[6,3,2,4]", "f32[6,2,4]", 1}, {"y", "f32[6,4,5]", "f32[6,4,5]", -1}},
       "%r@: f32[6,2,5] = aten.bmm.default(%x@, %y@)",
       "f32[6,2,5]",
       "f32[3,6,2,5]"});
}

TEST(MappedValuesTest, Indices) {
  const Mapped x = {"x", "f32[2,3,4]", "f32[2,4]", 1}, t = {"t", "f32[2,4]", "f32[2,4]", -1},
               i = {"i", "i64[3,5]", "i64[5]", 0}, j = {"j", "i64[5]", "i64[5]", -1};
  for (const auto& [inputs, call] : std::vector<std::pair<std::vector<Mapped>, std::string_view>>{
           {{x, i, j}, "%r@: f32[5] = aten.index.Tensor(%x@, [%i@, %j@])"},
           {{t, i, j}, "%r@: f32[5] = aten.index.Tensor(%t@, [%j@, %i@])"},
           {{x, j}, "%r@: f32[5] = aten.index.Tensor(%x@, [%j@, %j@])"}}) {
    ExpectSameRowByRow({inputs, call, "f32[5]", "f32[3,5]"});
  }
}

// Two levels: each row of x with each row of y, for both orders of the results.
TEST(MappedValuesTest, TwoLevels) {
  const auto nested = [](std::string_view call, std::string_view out_types) {
    return Training(
        "%x: f32[3,4] user_input, %y: f32[4,2] user_input",
        absl::StrCat("%a: f32[4] = torch._functorch.predispatch._add_batch_dim(%x, 0, 1)\n"
                     "%b: f32[4] = torch._functorch.predispatch._add_batch_dim(%y, 1, 2)\n",
                     std::string(call), std::string(out_types)),
        "%s user_output");
  };
  const std::string out =
      "\n%o: f32[2,4] = torch._functorch.predispatch._remove_batch_dim(%r, 2, 2, 0)\n"
      "%s: f32[3,2,4] = torch._functorch.predispatch._remove_batch_dim(%o, 1, 3, 0)";
  const std::string expected = Training("%x: f32[3,4] user_input, %y: f32[4,2] user_input", R"(
      %u: f32[3,1,4] = aten.unsqueeze.default(%x, 1)
      %t: f32[2,4]{strides=[1,2]} = aten.t.default(%y)
      %s: f32[3,2,4] = aten.sub.Tensor(%u, %t))",
                                        "%s user_output");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram wanted, ParseProgram(expected, Ops()));
  ASSERT_OK_AND_ASSIGN(const ExportedProgram came,
                       Passed(nested("%r: f32[4] = aten.sub.Tensor(%a, %b)", out), BatchRegions()));
  EXPECT_EQ(Execute(came), Execute(wanted));
  // When joined, values with a single level are expanded.
  const std::string joined = Training("%x: f32[3,4] user_input, %y: f32[4,2] user_input", R"(
      %u: f32[3,1,4] = aten.unsqueeze.default(%x, 1)
      %a: f32[3,2,4]{strides=[4,0,1]} = aten.expand.default(%u, [3,2,4])
      %t: f32[2,4]{strides=[1,2]} = aten.t.default(%y)
      %b: f32[3,2,4]{strides=[0,1,2]} = aten.expand.default(%t, [3,2,4])
      %s: f32[3,2,8] = aten.cat.default([%a, %b], 2))",
                                      "%s user_output");
  ASSERT_OK_AND_ASSIGN(const ExportedProgram wanted_joined, ParseProgram(joined, Ops()));
  ASSERT_OK_AND_ASSIGN(
      const ExportedProgram came_joined,
      Passed(nested("%r: f32[8] = aten.cat.default([%a, %b])", Replaced(out, {{"2,4]", "2,8]"}})),
             BatchRegions()));
  EXPECT_EQ(Execute(came_joined), Execute(wanted_joined));
}

// Assertions about the types inside the mapped function are dropped.
TEST(MappedValuesTest, DropsMetadataAssertions) {
  ExpectSameRowByRow({{{"x", "f32[3,2]", "f32[2]", 0}},
                      "aten._assert_tensor_metadata.default(%x@, none, none, dtype:f32)\n"
                      "%r@: f32[2] = aten.neg.default(%x@)",
                      "f32[2]",
                      "f32[3,2]"});
}

TEST(MappedValuesTest, RejectsMismatchedCalls) {
  const std::string prefix = "torch._functorch.predispatch.";
  const auto program = [&](std::string_view nodes) {
    return Training("%x: f32[3,2] user_input, %z: f32[] user_input, %m: b8[3,2] user_input",
                    absl::StrReplaceAll(std::string(nodes), {{"@", prefix}}), "%r user_output");
  };
  const std::tuple<std::string_view, absl::StatusCode, std::string_view> wrong[] = {
      {"%a: f32[] = @_add_batch_dim(%z, 0, 1)\n%r: f32[] = aten.neg.default(%a)",
       absl::StatusCode::kInvalidArgument, ""},
      {"%a: f32[2] = @_add_batch_dim(%x, none, 1)\n%r: f32[2] = aten.neg.default(%a)",
       absl::StatusCode::kInvalidArgument, "vmap: expected argument 1 to be a number"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0)\n%r: f32[2] = aten.neg.default(%a)",
       absl::StatusCode::kInvalidArgument, "vmap: expected argument 2 to be a number"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%b: f32[] = @_add_batch_dim(%a, 0, 1)\n"
       "%r: f32[] = aten.neg.default(%b)",
       absl::StatusCode::kInvalidArgument, "vmap: level 1 is mapped twice"},
      {"%a: f32[2], %b: f32[2] = @_add_batch_dim(%x, 0, 1)\n%r: f32[2] = aten.neg.default(%a)",
       absl::StatusCode::kInvalidArgument, "vmap: _add_batch_dim gives one tensor"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%r: f32[3,2] = @_remove_batch_dim(%a, 1, 3)",
       absl::StatusCode::kInvalidArgument, "vmap: expected argument 3 to be a number"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%r: f32[3,2] = @_remove_batch_dim(%a, 1, 3, 2)",
       absl::StatusCode::kInvalidArgument, ""},
      {"%r: f32[3,3,2] = @_remove_batch_dim(%x, 1, 3, 3)", absl::StatusCode::kInvalidArgument, ""},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%r: f32[2] = aten.neg.default(%a)",
       absl::StatusCode::kInvalidArgument, "is used outside its batch"},
      {"%a: b8[2] = @_add_batch_dim(%m, 0, 1)\n%b: f32[2] = @_add_batch_dim(%x, 0, 1)\n"
       "%c: f32[2] = aten.index.Tensor(%b, [%a])\n%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kUnimplemented, "vmap of an index by a mask or of some dimensions"},
      // Another tensor is mapped than the one whose dimensions the operator names.
      {"%a: b8[2] = @_add_batch_dim(%m, 0, 1)\n%c: f32[3,2] = aten._softmax.default(%x, %a, "
       "false)\n"
       "%r: f32[3,3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kUnimplemented, "vmap of aten._softmax.default"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten._softmax.default(%a, none, "
       "false)\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, ""},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten._softmax.default(%a, \"0\", "
       "false)\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "vmap: expected dimensions"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten._softmax.default(%a, 1, false)\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, ""},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten.expand.default(%a, 2)\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "vmap: expand without sizes"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten.view.default(%a, 2)\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "vmap: expected a list of sizes"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten.cat.default(%a)\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "vmap: cat without tensors"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten.index.Tensor(%a, 0)\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "vmap: index without indices"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2,1] = aten.neg.default(%a)\n"
       "%r: f32[3,2,1] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kUnimplemented,
       "vmap: the batched form gives f32[3,2], its elements are f32[2,1]"},
      {"%k: symint(s0) = @_vmap_increment_nesting(3)\n%r: f32[3,2] = aten.mul.Tensor(%x, %k)",
       absl::StatusCode::kInvalidArgument, "'k' is used outside its batch"},
      {"none = @_add_batch_dim(%x, 0, 1)\n%r: f32[3,2] = aten.neg.default(%x)",
       absl::StatusCode::kInvalidArgument, "vmap: _add_batch_dim gives one tensor"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n[%r: f32[3,2], %s: f32[2]] = "
       "@_remove_batch_dim(%a, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "vmap: _remove_batch_dim gives one tensor"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%r: f32[3,2] = @_remove_batch_dim(%a, none, 3, 0)",
       absl::StatusCode::kInvalidArgument, "vmap: expected argument 1 to be a number"},
      {"%r: f32[3,3,2] = @_remove_batch_dim(%x, 1, \"3\", 0)", absl::StatusCode::kInvalidArgument,
       ""},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten.permute.default(%a, 0)\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "vmap: permute without dimensions"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten.permute.default(%a, [4])\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "dimension 4 of a tensor of rank 1"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[4] = aten.cat.default([%a, %a], 3)\n"
       "%r: f32[3,4] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "dimension 3 of a tensor of rank 1"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[] = aten.sum.dim_IntList(%a, [5])\n"
       "%r: f32[3] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kInvalidArgument, "dimension 5 of a tensor of rank 1"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2] = aten.index.Tensor(%a, [none])\n"
       "%r: f32[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kUnimplemented, "vmap of an index by a mask or of some dimensions"},
      // More results, or another dtype, than the operator returns.
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n[%c: f32[1], %d: f32[1], %e: f32[1]] = "
       "aten.split_with_sizes.default(%a, [1,1])\n%r: f32[3,1] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kUnimplemented, "vmap of an operator whose result is not a tensor"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: f32[2], %d: f32[2] = aten.neg.default(%a)\n"
       "%r: f32[2] = aten.neg.default(%d)",
       absl::StatusCode::kInvalidArgument, "'d' is used outside its batch"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: i64[2] = aten.neg.default(%a)\n"
       "%r: i64[3,2] = @_remove_batch_dim(%c, 1, 3, 0)",
       absl::StatusCode::kUnimplemented,
       "vmap: the batched form gives f32[3,2], its elements are i64[2]"},
      {"%a: f32[2] = @_add_batch_dim(%x, 0, 1)\n%c: symint(s0) = aten.neg.default(%a)\n"
       "%r: f32[2] = aten.neg.default(%x)",
       absl::StatusCode::kUnimplemented, "vmap of an operator whose result is not a tensor"},
  };
  for (const auto& [nodes, code, message] : wrong) {
    SCOPED_TRACE(std::string(nodes));
    absl::StatusOr<ExportedProgram> parsed = ParseProgram(program(nodes), Ops());
    ASSERT_OK(parsed.status());
    EXPECT_THAT(BatchRegions().run(*parsed).status(),
                StatusIs(code, ::testing::HasSubstr(std::string(message))));
  }
}

}  // namespace
}  // namespace belay::exir
