#include "executorch/writer/expect_portable.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "executorch/writer/portable_passes.h"
#include "executorch/writer/program_serializer.h"
#include "exir/backend/transforms/edge_to_backend_ops.h"
#include "exir/emit/emitter.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

// Returns the program of one node, with the results of its meta kernel.
absl::StatusOr<exir::ExportedProgram> ProgramOf(std::string_view call,
                                                const std::vector<exir::Values>& inputs,
                                                size_t results, bool symbolic) {
  std::string arguments, values, outputs, ranges;
  std::set<int64_t> symbols;
  for (const exir::Values& input : inputs) {
    std::vector<exir::SymInt> sizes;
    for (const int64_t size : input.sizes) {
      const bool is_symbol = symbolic && size > 1;
      if (is_symbol) symbols.insert(size);
      sizes.push_back(is_symbol ? exir::SymExpr::Symbol(absl::StrCat("s", size))
                                : exir::SymInt(size));
    }
    absl::StrAppend(&arguments, arguments.empty() ? "%" : ", %",
                    std::string(1, static_cast<char>('a' + (&input - inputs.data()))), ": ",
                    exir::PrintType(exir::TensorMeta::Contiguous(input.dtype, sizes)),
                    " user_input");
  }
  for (const int64_t size : symbols) absl::StrAppend(&ranges, " s", size, ": [2, 64]");
  for (size_t i = 0; i < results; ++i) {
    absl::StrAppend(&values, i == 0 ? "" : ", ", "%y", i, ": f32[]");
    absl::StrAppend(&outputs, i == 0 ? "" : ", ", "%y", i, " user_output");
  }
  ABSL_ASSIGN_OR_RETURN(
      exir::ExportedProgram program,
      exir::ParseProgram(absl::StrCat("program edge {", symbols.empty() ? "" : " ranges {", ranges,
                                      symbols.empty() ? "" : " }", " graph(", arguments, ") { ",
                                      values, " = edge.", call, " return (", outputs, ") } }"),
                         exir::StandardOpsOfTests()));
  const exir::Node& node = program.top().node(program.top().first());
  ABSL_ASSIGN_OR_RETURN(const std::vector<exir::MetaValue> types,
                        exir::InferOutputs(program.top(), node.target, node.arguments, nullptr));
  exir::GraphEditor editor(program.top());
  const std::vector<exir::NodeOutput> of_node = node.outputs;
  for (size_t i = 0; i < of_node.size(); ++i) {
    editor.SetType(of_node[i].values[0], exir::ToValueType(types[i]));
  }
  ABSL_RETURN_IF_ERROR(exir::Verify(program));
  return program;
}

absl::Status MakePortable(exir::ExportedProgram& program) {
  for (const exir::Pass& pass : PortablePasses()) {
    ABSL_RETURN_IF_ERROR(pass.run(program).status());
  }
  return exir::Verify(program);
}

// Returns the writer's status.
absl::Status Write(exir::ExportedProgram program) {
  ABSL_RETURN_IF_ERROR(exir::EdgeToBackendOps().run(program).status());
  exir::MethodPrograms programs;
  programs.emplace_back("forward", std::move(program));
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image, exir::EmitProgram(programs));
  return SerializeProgram(image, exir::StandardOpsOfTests()).status();
}

constexpr DTypeSet kElementTypes = kIntegralTypes | kFloatTypes | kBoolType;

TestTensor ToTensor(const exir::Values& values) {
  Sizes sizes;
  for (const int64_t size : values.sizes) sizes.push_back(size);
  std::optional<TestTensor> tensor;
  DispatchDType<kElementTypes>(values.dtype, [&](auto tag) {
    using T = CppType<tag.value>;
    std::vector<ComputeType<T>> elements;
    for (const double x : values.elements) elements.push_back(static_cast<ComputeType<T>>(x));
    tensor = TestTensor::Of<T>(sizes, elements);
  });
  return *std::move(tensor);
}

absl::StatusOr<std::vector<exir::Values>> Run(const exir::ExportedProgram& program,
                                              const std::vector<exir::Values>& inputs) {
  ABSL_ASSIGN_OR_RETURN(exir::Interpreter interpreter,
                        exir::Interpreter::Create(program, exir::ReferenceKernelsOfTests()));
  std::vector<TestTensor> tensors;
  std::vector<EValue> arguments;
  for (const exir::Values& input : inputs) tensors.push_back(ToTensor(input));
  for (const TestTensor& tensor : tensors) arguments.emplace_back(tensor.view());
  ABSL_ASSIGN_OR_RETURN(const std::vector<exir::OwnedValue> results, interpreter.Run(arguments));
  std::vector<exir::Values> all;
  for (const exir::OwnedValue& result : results) {
    const TensorView& tensor = *result.tensor();
    exir::Values one{tensor.dtype, {tensor.sizes.begin(), tensor.sizes.end()}, {}};
    DispatchDType<kElementTypes>(tensor.dtype, [&](auto tag) {
      for (const auto x : ToVector<CppType<tag.value>>(tensor)) {
        one.elements.push_back(static_cast<double>(x));
      }
    });
    all.push_back(std::move(one));
  }
  return all;
}

bool AreClose(double got, double want, double tolerance) {
  if (std::isnan(want) || std::isinf(want)) {
    return std::isnan(want) ? std::isnan(got) : got == want;
  }
  return std::abs(got - want) <= tolerance * std::max(1.0, std::abs(want));
}

}  // namespace

void ExpectPortable(std::string_view call, const std::vector<exir::Values>& inputs, size_t results,
                    const PortableOptions& options) {
  for (const bool symbolic : {false, true}) {
    if (symbolic && !options.symbolic) continue;
    absl::StatusOr<exir::ExportedProgram> program = ProgramOf(call, inputs, results, symbolic);
    ASSERT_TRUE(program.ok()) << call << ": " << program.status();
    const absl::StatusOr<std::vector<exir::Values>> want = Run(*program, inputs);
    ASSERT_TRUE(want.ok()) << call << ": " << want.status();
    const absl::Status made = MakePortable(*program);
    const std::string text = exir::PrintProgram(*program);
    ASSERT_TRUE(made.ok()) << made << "\n" << text;
    // ExecuTorch's kernels require operands of one memory order.
    ASSERT_EQ(text.find("strides="), std::string::npos) << text;
    const absl::Status written = Write(program->Clone());
    ASSERT_TRUE(written.ok()) << written << "\n" << text;
    const absl::StatusOr<std::vector<exir::Values>> got = Run(*program, inputs);
    ASSERT_TRUE(got.ok()) << got.status() << "\n" << text;
    for (size_t k = 0; k < results; ++k) {
      ASSERT_EQ((*got)[k].dtype, (*want)[k].dtype) << "result " << k << " of\n" << text;
      ASSERT_EQ((*got)[k].sizes, (*want)[k].sizes) << "result " << k << " of\n" << text;
      for (size_t i = 0; options.values && i < (*want)[k].elements.size(); ++i) {
        ASSERT_TRUE(AreClose((*got)[k].elements[i], (*want)[k].elements[i], options.tolerance))
            << call << ", result " << k << ", element " << i << ": expected "
            << (*want)[k].elements[i] << ", got " << (*got)[k].elements[i] << "\n"
            << text;
      }
    }
  }
}

}  // namespace belay::pte
