#include "exir/decompositions/expect_values.h"

#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "exir/decompositions/decompose.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {

const OpRegistry& StandardOpsOfTests() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

const KernelRegistry& ReferenceKernelsOfTests() {
  static const KernelRegistry& kernels = *[] {
    auto* registry = new KernelRegistry();
    ABSL_CHECK(AddReferenceKernels(*registry).ok());
    return registry;
  }();
  return kernels;
}

namespace {

constexpr DTypeSet kElementTypes = kIntegralTypes | kFloatTypes | kBoolType;

TestTensor ToTensor(const Values& values) {
  Sizes sizes;
  for (int64_t size : values.sizes) sizes.push_back(size);
  std::optional<TestTensor> tensor;
  DispatchDType<kElementTypes>(values.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    std::vector<ComputeType<T>> elements;
    for (double x : values.elements) elements.push_back(static_cast<ComputeType<T>>(x));
    tensor = TestTensor::Of<T>(sizes, elements);
  });
  ABSL_CHECK(tensor.has_value());
  return *std::move(tensor);
}

Values ToValues(const TensorView& tensor) {
  Values values{tensor.dtype, {tensor.sizes.begin(), tensor.sizes.end()}, {}};
  DispatchDType<kElementTypes>(tensor.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    for (const auto x : ToVector<T>(tensor)) values.elements.push_back(static_cast<double>(x));
  });
  return values;
}

std::string TypeOf(const Values& values, bool symbolic, bool symbolic_empty) {
  std::vector<SymInt> sizes;
  for (int64_t size : values.sizes) {
    const bool is_symbol = size > 1 || (size == 0 && symbolic_empty);
    sizes.push_back(symbolic && is_symbol ? SymExpr::Symbol(absl::StrCat("s", size))
                                          : SymInt(size));
  }
  return PrintType(TensorMeta::Contiguous(values.dtype, sizes));
}

// Prints the program with one node.
std::string ProgramOf(std::string_view call, const std::vector<Values>& inputs,
                      const std::vector<Values>& results, const ExpectOptions& options,
                      bool symbolic) {
  // Only TRAINING programs write their inputs.
  std::string text = absl::StrCat("program ",
                                  call.starts_with("edge.") ? "edge"
                                  : options.written.empty() ? "aten"
                                                            : "training",
                                  " {\n");
  std::set<int64_t> sizes;
  for (const Values& input : inputs) sizes.insert(input.sizes.begin(), input.sizes.end());
  if (symbolic) {
    absl::StrAppend(&text, "  ranges {");
    for (int64_t size : sizes) {
      if (size > 1) absl::StrAppend(&text, " s", size, ": [2, 64]");
      if (size == 0 && options.symbolic_empty) absl::StrAppend(&text, " s0: [0, 64]");
    }
    absl::StrAppend(&text, " }\n");
  }
  absl::StrAppend(&text, "  graph(");
  for (size_t i = 0; i < inputs.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", "%", std::string(1, static_cast<char>('a' + i)),
                    ": ", TypeOf(inputs[i], symbolic, options.symbolic_empty), " user_input");
  }
  absl::StrAppend(&text, ") {\n    ", options.list ? "[" : "");
  std::string outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", "%y", i, ": ", TypeOf(results[i], false, false));
    absl::StrAppend(&outputs, i == 0 ? "" : ", ", "%y", i, " user_output");
  }
  absl::StrAppend(&text, options.list ? "]" : "", " = ", call, "\n    return (", outputs,
                  ")\n  }\n}");
  return text;
}

absl::StatusOr<ExportedProgram> Decomposed(const std::string& text) {
  ABSL_ASSIGN_OR_RETURN(ExportedProgram program, ParseProgram(text, StandardOpsOfTests()));
  ABSL_RETURN_IF_ERROR(Verify(program));
  ABSL_RETURN_IF_ERROR(Decompose().run(program).status());
  ABSL_RETURN_IF_ERROR(Verify(program));
  for (NodeId id : program.top().nodes()) {
    const OpOverload* op = program.top().node(id).target;
    if (StandardDecompositions().Find(op) == nullptr) continue;
    return absl::InternalError(absl::StrCat("is left: ", PrintNode(program.top(), id)));
  }
  return program;
}

// Parses a program of one node, and gives the results the types of its meta kernel.
absl::StatusOr<ExportedProgram> WithInferredTypes(const std::string& text) {
  ABSL_ASSIGN_OR_RETURN(ExportedProgram program, ParseProgram(text, StandardOpsOfTests()));
  const Node& node = program.top().node(program.top().first());
  ABSL_ASSIGN_OR_RETURN(const std::vector<MetaValue> types,
                        InferOutputs(program.top(), node.target, node.arguments, nullptr));
  GraphEditor editor(program.top());
  const std::vector<NodeOutput> outputs = node.outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    editor.SetType(outputs[i].values[0], ToValueType(types[i]));
  }
  return program;
}

// Returns the results, followed by the inputs if `written`.
absl::StatusOr<std::vector<Values>> Run(const ExportedProgram& program,
                                        const std::vector<Values>& inputs, bool written) {
  ABSL_ASSIGN_OR_RETURN(Interpreter interpreter,
                        Interpreter::Create(program, ReferenceKernelsOfTests()));
  std::vector<TestTensor> tensors;
  std::vector<EValue> arguments;
  for (const Values& input : inputs) tensors.push_back(ToTensor(input));
  for (const TestTensor& tensor : tensors) arguments.emplace_back(tensor.view());
  ABSL_ASSIGN_OR_RETURN(const std::vector<OwnedValue> results, interpreter.Run(arguments));
  std::vector<Values> values;
  for (const OwnedValue& result : results) {
    if (result.tensor() == nullptr) return absl::InternalError("a result is not a tensor");
    values.push_back(ToValues(*result.tensor()));
  }
  for (size_t i = 0; written && i < tensors.size(); ++i) {
    values.push_back(ToValues(tensors[i].view()));
  }
  return values;
}

bool Close(double got, double want, const ExpectOptions& options) {
  if (std::isnan(want) || std::isinf(want)) {
    return std::isnan(want) ? std::isnan(got) : got == want;
  }
  return std::abs(got - want) <= options.atol + options.rtol * std::abs(want);
}

void ExpectEqual(const std::vector<Values>& got, const std::vector<Values>& want,
                 const ExpectOptions& options, const std::string& context) {
  ASSERT_EQ(got.size(), want.size()) << context;
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].dtype, want[k].dtype) << "result " << k << " of\n" << context;
    ASSERT_EQ(got[k].sizes, want[k].sizes) << "result " << k << " of\n" << context;
    for (size_t i = 0; options.values && i < want[k].elements.size(); ++i) {
      ASSERT_TRUE(Close(got[k].elements[i], want[k].elements[i], options))
          << "result " << k << ", element " << i << ": expected " << want[k].elements[i] << ", got "
          << got[k].elements[i] << "\n"
          << context;
    }
  }
}

}  // namespace

Values Random(Sizes64 sizes, uint32_t seed) {
  Values values{DType::kFloat32, sizes, {}};
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  uint64_t state = seed;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int64_t step = static_cast<int64_t>((state >> 40) % 4097);
    values.elements.push_back(static_cast<double>(step) / 1024 - 2);
  }
  return values;
}

void ExpectValues(std::string_view call, const std::vector<Values>& inputs,
                  const std::vector<Values>& expected, ExpectOptions options) {
  for (bool symbolic : {false, true}) {
    if (symbolic && !options.symbolic) continue;
    const std::string text = ProgramOf(call, inputs, expected, options, symbolic);
    const absl::StatusOr<ExportedProgram> program = Decomposed(text);
    ASSERT_TRUE(program.ok()) << program.status() << "\nin\n" << text;
    const std::string context = absl::StrCat(text, "\ndecomposed to\n", PrintProgram(*program));
    const absl::StatusOr<std::vector<Values>> got = Run(*program, inputs, !options.written.empty());
    ASSERT_TRUE(got.ok()) << got.status() << "\n" << context;
    std::vector<Values> want = expected;
    want.insert(want.end(), options.written.begin(), options.written.end());
    ExpectEqual(*got, want, options, context);
  }
}

void ExpectAsKernel(std::string_view call, const std::vector<Values>& inputs, size_t results,
                    ExpectOptions options) {
  const std::string text = ProgramOf(call, inputs, std::vector<Values>(results), options, false);
  const absl::StatusOr<ExportedProgram> program = WithInferredTypes(text);
  ASSERT_TRUE(program.ok()) << program.status() << "\nin\n" << text;
  const absl::StatusOr<std::vector<Values>> want = Run(*program, inputs, false);
  ASSERT_TRUE(want.ok()) << want.status() << "\nin\n" << text;
  ExpectValues(call, inputs, *want, options);
}

void ExpectSameValues(std::string_view call, const std::vector<Values>& inputs, size_t results,
                      const std::function<absl::Status(ExportedProgram&)>& rewrite,
                      ExpectOptions options) {
  for (const bool symbolic : {false, true}) {
    if (symbolic && !options.symbolic) continue;
    const std::string text =
        ProgramOf(call, inputs, std::vector<Values>(results), options, symbolic);
    absl::StatusOr<ExportedProgram> program = WithInferredTypes(text);
    ASSERT_TRUE(program.ok()) << program.status() << "\nin\n" << text;
    ASSERT_OK(Verify(*program)) << text;
    const absl::StatusOr<std::vector<Values>> want = Run(*program, inputs, false);
    ASSERT_TRUE(want.ok()) << want.status() << "\nin\n" << text;
    const absl::Status rewritten = rewrite(*program);
    const std::string context = absl::StrCat(text, "\nrewritten to\n", PrintProgram(*program));
    ASSERT_TRUE(rewritten.ok()) << rewritten << "\n" << context;
    ASSERT_OK(Verify(*program)) << context;
    const absl::StatusOr<std::vector<Values>> got = Run(*program, inputs, false);
    ASSERT_TRUE(got.ok()) << got.status() << "\n" << context;
    ExpectEqual(*got, *want, options, context);
  }
}

void ExpectDecompositionError(std::string_view call, const std::vector<Values>& inputs,
                              const std::vector<Values>& declared, absl::StatusCode code,
                              std::string_view message) {
  const std::string text = ProgramOf(call, inputs, declared, {}, false);
  const absl::StatusOr<ExportedProgram> program = Decomposed(text);
  EXPECT_EQ(program.status().code(), code) << program.status() << "\nin\n" << text;
  EXPECT_THAT(std::string(program.status().message()), ::testing::HasSubstr(std::string(message)));
}

}  // namespace belay::exir
