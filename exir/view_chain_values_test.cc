// Tests that long chains of views, which are composed (exir/functionalize/view_chain.h), have the
// semantics of short ones.
#include <memory>
#include <string>
#include <vector>

#include "exir/interpreter/interpreter.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

// Writes x through a slice of a chain of `pairs` pairs of transpositions, then doubles a selected
// row in place, then reads everything.
std::string ProgramOf(int pairs) {
  std::string text = "program training {\n  graph(%v0: f32[2,3] user_input) {\n";
  int last = 0;
  const auto add = [&](const std::string& type, const std::string& call) {
    const std::string from = "%v" + std::to_string(last++);
    std::string line = "    %v" + std::to_string(last) + ": " + type + " = " + call + "\n";
    line.replace(line.find("$"), 1, from);
    text += line;
  };
  for (int i = 0; i < pairs; ++i) {
    add("f32[3,2]{strides=[1,3]}", "aten.transpose.int($, 0, 1)");
    add("f32[2,3]", "aten.transpose.int($, 0, 1)");
  }
  const std::string whole = "%v" + std::to_string(last);
  add("f32[2,2]{strides=[3,1]}", "aten.slice.Tensor($, 1, 1, 3)");
  text +=
      "    %w: f32[2,2]{strides=[3,1]} = aten.add_.Scalar(%v" + std::to_string(last) + ", 10)\n";
  text += "    %row: f32[3] = aten.select.int(" + whole + ", 0, 1)\n";
  text += "    %x: f32[3] = aten.mul_.Scalar(%row, 2)\n";
  text += "    %y: f32[2,2]{strides=[3,1]} = aten.neg.default(%v" + std::to_string(last) + ")\n";
  return text + "    return (%v0 user_output, %y user_output)\n  }\n}";
}

std::vector<std::vector<float>> Execute(const std::string& text, const OpRegistry& ops,
                                        const KernelRegistry& kernels, size_t* nodes) {
  absl::StatusOr<ExportedProgram> program = ParseProgram(text, ops);
  EXPECT_TRUE(program.ok()) << program.status() << text;
  if (!program.ok()) return {};
  absl::StatusOr<ExportedProgram> edge = ToEdge(*std::move(program));
  EXPECT_TRUE(edge.ok()) << edge.status();
  if (!edge.ok()) return {};
  *nodes = edge->top().num_nodes();
  absl::StatusOr<Interpreter> interpreter = Interpreter::Create(*edge, kernels);
  EXPECT_TRUE(interpreter.ok()) << interpreter.status();
  TestTensor x = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<EValue> inputs = {EValue(x.view())};
  const absl::StatusOr<std::vector<OwnedValue>> outputs = interpreter->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<std::vector<float>> numbers;
  if (!outputs.ok()) return {};
  for (const OwnedValue& output : *outputs) {
    const TensorView& view = *output.value().get_if<TensorView>();
    std::vector<float>& all = numbers.emplace_back();
    for (StridedIterator<1> it(view.sizes, {view.strides}); !it.done(); it.Next()) {
      all.push_back(view.as<float>()[it.offset(0)]);
    }
  }
  return numbers;
}

TEST(ViewChainValuesTest, LongChainsMatchShortOnes) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, CreateStandardOps());
  KernelRegistry kernels;
  ASSERT_OK(AddReferenceKernels(kernels));
  const std::vector<std::vector<float>> expected = {{1, 12, 13, 8, 30, 32}, {-12, -13, -30, -32}};
  for (const int pairs : {1, 30}) {
    SCOPED_TRACE(pairs);
    size_t nodes = 0;
    EXPECT_EQ(Execute(ProgramOf(pairs), *ops, kernels, &nodes), expected);
  }
}

}  // namespace
}  // namespace belay::exir
