// Tests that recurrent layers as loops are bit-identical to the unrolled layers, in the interpreter
// and in the runtime.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/compare/call.h"
#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

constexpr int kBatch = 2, kFeatures = 3, kHidden = 4;

struct Layers {
  std::string_view op;
  int gates = 1;
  int layers = 1;
  bool biases = true, both_ways = false, batch_first = false;
  int projected = 0;  // LSTM: the size of the hidden state, if different
};

std::string Type(const std::vector<std::string>& sizes) {
  std::string text = "f32[";
  for (const std::string& size : sizes) {
    absl::StrAppend(&text, text.back() == '[' ? "" : ",", size);
  }
  return text + "]";
}
std::string Type(const std::vector<int64_t>& sizes) {
  std::vector<std::string> strings;
  for (int64_t size : sizes) strings.push_back(absl::StrCat(size));
  return Type(strings);
}

class RecurrenceLoopsTest : public ::testing::Test {
 protected:
  RecurrenceLoopsTest() {
    EXPECT_OK(AddReferenceKernels(kernels_));
    ops_ = CreateStandardOps().value();
  }

  // Returns the sizes of the states and the weights.
  static std::vector<std::vector<int64_t>> OperandSizes(const Layers& l) {
    const int64_t directions = l.both_ways ? 2 : 1,
                  hidden = l.projected > 0 ? l.projected : kHidden;
    std::vector<std::vector<int64_t>> sizes = {{l.layers * directions, kBatch, hidden}};
    if (l.op == "lstm") sizes.push_back({l.layers * directions, kBatch, kHidden});
    for (int64_t layer = 0; layer < l.layers; ++layer) {
      for (int64_t direction = 0; direction < directions; ++direction) {
        const int64_t rows = l.gates * kHidden;
        sizes.push_back({rows, layer == 0 ? kFeatures : directions * hidden});
        sizes.push_back({rows, hidden});
        if (l.biases) sizes.insert(sizes.end(), 2, {rows});
        if (l.projected > 0) sizes.push_back({l.projected, kHidden});
      }
    }
    return sizes;
  }

  // `length` is a number, or the symbol s0.
  static std::string ProgramOf(const Layers& l, const std::string& length) {
    const auto sequence = [&](int64_t features) {
      const std::string batch = absl::StrCat(kBatch), last = absl::StrCat(features);
      return l.batch_first ? Type({batch, length, last}) : Type({length, batch, last});
    };
    const auto sizes = OperandSizes(l);
    const size_t states = l.op == "lstm" ? 2 : 1;
    std::string text = absl::StrCat("program aten { ranges { s0: [0, 40] } graph(%x: ",
                                    sequence(kFeatures), " user_input"),
                hx, params, results, outputs;
    for (size_t i = 0; i < sizes.size(); ++i) {
      absl::StrAppend(&text, ", %a", i, ": ", Type(sizes[i]), " user_input");
      std::string& list = i < states ? hx : params;
      absl::StrAppend(&list, list.empty() ? "" : ", ", "%a", i);
      if (i >= states) continue;
      absl::StrAppend(&results, ", %r", i, ": ", Type(sizes[i]));
      absl::StrAppend(&outputs, ", %r", i, " user_output");
    }
    if (states == 2) hx = absl::StrCat("[", hx, "]");
    const auto flag = [](bool value) { return value ? ", true" : ", false"; };
    absl::StrAppend(&text, ") { %y: ", sequence((l.both_ways ? 2 : 1) * sizes[0][2]), results,
                    " = aten.", l.op, ".input(%x, ", hx, ", [", params, "]");
    absl::StrAppend(&text, flag(l.biases), ", ", l.layers, ", 0.0, false", flag(l.both_ways),
                    flag(l.batch_first), ") return (%y user_output", outputs, ") } }");
    return text;
  }

  static std::vector<TestTensor> InputsOf(const Layers& l, int64_t length) {
    auto sizes = OperandSizes(l);
    sizes.insert(sizes.begin(), l.batch_first ? std::vector<int64_t>{kBatch, length, kFeatures}
                                              : std::vector<int64_t>{length, kBatch, kFeatures});
    std::vector<TestTensor> tensors;
    uint64_t state = 1;
    for (const std::vector<int64_t>& one : sizes) {
      int64_t count = 1;
      for (int64_t size : one) count *= size;
      std::vector<float> elements(count);
      for (float& element : elements) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        element = static_cast<float>(state >> 40) / (1 << 24) - 0.5f;
      }
      tensors.push_back(TestTensor::Of<float>(Sizes(one), elements));
    }
    return tensors;
  }

  // Returns the result, which must be equal in both engines.
  CallOutcome Run(const std::string& text, const std::vector<TestTensor>& inputs, int scans) {
    absl::StatusOr<ExportedProgram> edge = ToEdge(ParseOrDie(text, *ops_));
    EXPECT_OK(edge.status());
    EXPECT_EQ(edge->graphs.size(), 1 + scans) << text;
    MethodPrograms methods;
    methods.emplace_back("forward", edge->Clone());
    const absl::StatusOr<ProgramImage> image = LowerPrograms(std::move(methods), {});
    EXPECT_OK(image.status());
    const Program file = OpenImage(*image).value();
    Method method = Method::Load(file, "forward", kernels_, backends_).value();
    Interpreter interpreter = Interpreter::Create(*edge, kernels_).value();
    std::vector<EValue> values;
    for (const TestTensor& input : inputs) values.emplace_back(input.view());
    CallOutcome got = RunCall(method, values);
    EXPECT_EQ(FirstDifference({RunCall(interpreter, values)}, {got}, kIdentical), "");
    return got;
  }

  std::unique_ptr<OpRegistry> ops_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
};

TEST_F(RecurrenceLoopsTest, MatchUnrolledSteps) {
  const Layers all[] = {
      {.op = "rnn_tanh"},
      {.op = "rnn_relu", .layers = 2, .biases = false, .both_ways = true},
      {.op = "gru", .gates = 3, .batch_first = true},
      {.op = "gru", .gates = 3, .layers = 2, .both_ways = true},
      {.op = "lstm", .gates = 4, .layers = 2, .both_ways = true, .batch_first = true},
      {.op = "lstm", .gates = 4, .layers = 2, .biases = false, .projected = 2},
  };
  for (const Layers& layers : all) {
    const int scans = layers.layers * (layers.both_ways ? 2 : 1);
    for (int64_t length : {1, 2, 7}) {
      const std::vector<TestTensor> inputs = InputsOf(layers, length);
      const CallOutcome steps = Run(ProgramOf(layers, absl::StrCat(length)), inputs, 0);
      const CallOutcome loop = Run(ProgramOf(layers, "s0"), inputs, scans);
      EXPECT_OK(loop.status);
      EXPECT_EQ(FirstDifference({steps}, {loop}, kIdentical), "") << layers.op << " " << length;
    }
  }
}

// The limit for unrolled steps counts all layers and directions together.
TEST_F(RecurrenceLoopsTest, StartAtTheStepLimit) {
  const Layers one = {.op = "rnn_tanh"}, four = {.op = "rnn_tanh", .layers = 2, .both_ways = true};
  const auto graphs = [&](const Layers& layers, int64_t length) {
    absl::StatusOr<ExportedProgram> edge =
        ToEdge(ParseOrDie(ProgramOf(layers, absl::StrCat(length)), *ops_));
    EXPECT_OK(edge.status());
    return edge->graphs.size();
  };
  EXPECT_EQ(graphs(one, 1024), 1);
  EXPECT_EQ(graphs(one, 1025), 2);
  EXPECT_EQ(graphs(four, 256), 1);
  EXPECT_EQ(graphs(four, 257), 5);
  EXPECT_EQ(graphs(one, int64_t{1} << 40), 2);
}

TEST_F(RecurrenceLoopsTest, SequencesHaveAStep) {
  const Layers layers = {.op = "gru", .gates = 3};
  const std::string text = ProgramOf(layers, "s0");
  const CallOutcome got = Run(text, InputsOf(layers, 0), 1);
  // The assertion of the layer bounds the size of the input.
  EXPECT_THAT(got.status, StatusIs(absl::StatusCode::kOutOfRange,
                                   HasSubstr("dimension 0 is 0, allowed are 1 to 40")));
}

}  // namespace
}  // namespace belay::exir
