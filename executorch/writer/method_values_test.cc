// Translation of literals and computed scalars, by the kinds of operators' arguments.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/writer/written_file.h"
#include "exir/ir/refused_node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

using Kind = schema::ScalarSlot::Kind;

// A program of one call.
exir::ProgramImage CallOf(const std::string& inputs, const std::string& results,
                          const std::string& call, const std::string& outputs) {
  return Emit(absl::StrCat("program edge { graph(", inputs, ") { ", results, " = edge.aten.", call,
                           " return (", outputs, ") } }"));
}

// Replaces argument `k` of the call; returns the written value, or the reason for its refusal.
std::string With(exir::ProgramImage image, int k, std::function<void(schema::Value&)> set) {
  schema::Method& method = *image.metadata.mutable_methods(0);
  schema::Value& value = *method.add_values();
  set(value);
  method.mutable_instructions(0)->mutable_kernel()->set_arguments(
      k, static_cast<uint32_t>(method.values_size() - 1));
  const absl::Status refusal = Refusal(image);
  if (!refusal.ok()) return std::string(refusal.message());
  return File(image).Instructions()[0];
}

const std::function<void(schema::Value&)> kNone = [](schema::Value& v) { v.mutable_none(); },
                                          kThree = [](schema::Value& v) { v.set_int_(3); },
                                          kZero = [](schema::Value& v) { v.set_int_(0); },
                                          kReal = [](schema::Value& v) { v.set_double_(0.5); },
                                          kTrue = [](schema::Value& v) { v.set_bool_(true); },
                                          kText = [](schema::Value& v) { v.set_string("text"); };
std::function<void(schema::Value&)> Slot(Kind kind) {
  return [kind](schema::Value& v) { v.mutable_scalar()->set_kind(kind); };
}
const auto kIntSlot = Slot(schema::ScalarSlot::INT), kRealSlot = Slot(schema::ScalarSlot::DOUBLE),
           kTruthSlot = Slot(schema::ScalarSlot::BOOL);
std::function<void(schema::Value&)> Dtype(DType dtype) {
  return [dtype](schema::Value& v) { v.set_dtype(static_cast<uint32_t>(dtype)); };
}

const auto kRefused = HasSubstr("ExecuTorch's operator does not support this value");

TEST(MethodValuesTest, Doubles) {
  const exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "logit.default(%x, 0.25)", "%r user_output");
  EXPECT_EQ(With(image, 1, kReal), "aten::logit.out(%0, double 0.5, %1, %1)");
  EXPECT_EQ(With(image, 1, kThree), "aten::logit.out(%0, double 3, %1, %1)");
  EXPECT_EQ(With(image, 1, kNone), "aten::logit.out(%0, none, %1, %1)");
  EXPECT_EQ(With(image, 1, kRealSlot), "aten::logit.out(%0, double 0, %1, %1)");
  for (const auto& value : {kTrue, kText, kIntSlot, kTruthSlot, Dtype(DType::kFloat32)}) {
    EXPECT_THAT(With(image, 1, value), kRefused);
  }
}

TEST(MethodValuesTest, Integers) {
  const exir::ProgramImage image =
      CallOf("%x: f32[4] user_input", "%r: f32[2]", "glu.default(%x, 0)", "%r user_output");
  EXPECT_EQ(With(image, 1, kThree), "aten::glu.out(%0, 3, %1, %1)");
  EXPECT_EQ(With(image, 1, kIntSlot), "aten::glu.out(%0, 0, %1, %1)");
  for (const auto& value : {kReal, kTrue, kText, kNone, kRealSlot, kTruthSlot}) {
    EXPECT_THAT(With(image, 1, value), kRefused);
  }
}

TEST(MethodValuesTest, Bools) {
  const exir::ProgramImage image =
      CallOf("%x: b8[2,3] user_input", "%r: b8[2]", "any.dim(%x, 1, false)", "%r user_output");
  EXPECT_EQ(With(image, 2, kTrue), "aten::any.out(%0, 1, true, %1, %1)");
  EXPECT_EQ(With(image, 2, kThree), "aten::any.out(%0, 1, true, %1, %1)");
  EXPECT_EQ(With(image, 2, kZero), "aten::any.out(%0, 1, false, %1, %1)");
  EXPECT_EQ(With(image, 2, kTruthSlot), "aten::any.out(%0, 1, false, %1, %1)");
  for (const auto& value : {kReal, kText, kNone, kIntSlot, kRealSlot}) {
    EXPECT_THAT(With(image, 2, value), kRefused);
  }
}

TEST(MethodValuesTest, ScalarsOfAnyKind) {
  const exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "add.Scalar(%x, 7)", "%r user_output");
  EXPECT_EQ(With(image, 1, kThree), "aten::add.Scalar_out(%0, 3, 1, %1, %1)");
  EXPECT_EQ(With(image, 1, kReal), "aten::add.Scalar_out(%0, double 0.5, 1, %1, %1)");
  EXPECT_EQ(With(image, 1, kTrue), "aten::add.Scalar_out(%0, true, 1, %1, %1)");
  EXPECT_EQ(With(image, 1, kIntSlot), "aten::add.Scalar_out(%0, 0, 1, %1, %1)");
  EXPECT_EQ(With(image, 1, kTruthSlot), "aten::add.Scalar_out(%0, false, 1, %1, %1)");
  for (const auto& value : {kNone, Dtype(DType::kFloat32)}) {
    EXPECT_THAT(With(image, 1, value), kRefused);
  }
  exir::ProgramImage tensor = image;
  tensor.metadata.mutable_methods(0)->mutable_instructions(0)->mutable_kernel()->set_arguments(1,
                                                                                               0);
  EXPECT_THAT(std::string(Refusal(tensor).message()), kRefused);
}

TEST(MethodValuesTest, RejectsTensorsAsScalars) {
  const exir::ProgramImage image = CallOf("%x: f32[2] user_input, %y: f32[2] user_input",
                                          "%r: f32[2]", "add.Tensor(%x, %y)", "%r user_output");
  for (const auto& value : {kThree, kNone, kIntSlot}) {
    EXPECT_THAT(With(image, 1, value), kRefused);
  }
}

TEST(MethodValuesTest, Strings) {
  const exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "gelu.default(%x, approximate=\"tanh\")",
             "%r user_output");
  EXPECT_EQ(With(image, 1, kText), "aten::gelu.out(%0, 'text', %1, %1)");
  for (const auto& value : {kThree, kReal, kTrue, kNone, kIntSlot}) {
    EXPECT_THAT(With(image, 1, value), kRefused);
  }
}

TEST(MethodValuesTest, Dtypes) {
  const exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f64[2]", "cumsum.default(%x, 0, dtype=dtype:f64)",
             "%r user_output");
  EXPECT_EQ(With(image, 2, Dtype(DType::kFloat64)), "aten::cumsum.out(%0, 0, 7, %1, %1)");
  EXPECT_EQ(With(image, 2, kNone), "aten::cumsum.out(%0, 0, none, %1, %1)");
  // The last is a dtype of PyTorch that ExecuTorch does not have.
  for (const auto& value : {kThree, kText, kIntSlot, Dtype(DType::kFloat8E8M0FNU)}) {
    EXPECT_THAT(With(image, 2, value), kRefused);
  }
}

// --- Lists ---

TEST(MethodValuesTest, SingleValueBecomesList) {
  const exir::ProgramImage image =
      CallOf("%x: f32[2,3] user_input", "%r: f32[2,3]", "flip.default(%x, [1])", "%r user_output");
  EXPECT_EQ(With(image, 1, kZero), "aten::flip.out(%0, ints[0], %1, %1)");
  EXPECT_THAT(With(image, 1, kNone), kRefused);  // not optional
}

// Replaces elements of the list argument `k`.
std::string WithElements(exir::ProgramImage image, int k,
                         const std::vector<std::function<void(schema::Value&)>>& elements) {
  schema::Method& method = *image.metadata.mutable_methods(0);
  schema::List list;
  for (const auto& set : elements) {
    set(*method.add_values());
    list.add_elements(static_cast<uint32_t>(method.values_size() - 1));
  }
  return With(std::move(image), k, [&](schema::Value& v) { *v.mutable_list() = list; });
}

TEST(MethodValuesTest, ListsOfDoubles) {
  const exir::ProgramImage image =
      CallOf("%x: f32[1,1,2,2] user_input", "%r: f32[1,1,4,4]",
             "upsample_nearest2d.vec(%x, none, [2.0,2.0])", "%r user_output");
  EXPECT_THAT(WithElements(image, 2, {kThree, kReal}), HasSubstr("doubles[3 0.5]"));
  EXPECT_THAT(WithElements(image, 2, {kTrue, kReal}), kRefused);
  EXPECT_THAT(WithElements(image, 2, {kReal, kRealSlot}), HasSubstr("can't hold computed scalars"));
}

TEST(MethodValuesTest, ListsOfBools) {
  const exir::ProgramImage image = CallOf(
      "%g: f32[1,1,2,2] user_input, %x: f32[1,1,2,2] user_input, %w: f32[1,1,1,1] user_input",
      "%a: f32[1,1,2,2], %b: f32[1,1,1,1], %c: f32[1]",
      "convolution_backward.default(%g, %x, %w, [1], [1,1], [0,0], [1,1], false, [0,0], 1, "
      "[true,true,true])",
      "%a user_output, %b user_output, %c user_output");
  EXPECT_THAT(WithElements(image, 10, {kTrue, kZero, kTrue}), HasSubstr("bools[1 0 1]"));
  EXPECT_THAT(WithElements(image, 10, {kThree, kZero, kTrue}), HasSubstr("bools[1 0 1]"));
  EXPECT_THAT(WithElements(image, 10, {kTrue, kTrue, kTruthSlot}),
              HasSubstr("can't hold computed scalars"));
}

TEST(MethodValuesTest, IntListsMayHoldComputedScalars) {
  const exir::ProgramImage image =
      CallOf("%x: f32[2,3] user_input", "%r: f32[2,3]", "flip.default(%x, [1])", "%r user_output");
  EXPECT_EQ(WithElements(image, 1, {kZero, kIntSlot}), "aten::flip.out(%0, ints[0 0], %1, %1)");
  EXPECT_THAT(WithElements(image, 1, {kZero, kReal}), kRefused);
}

// --- Outputs ---

TEST(MethodValuesTest, OutputsMayBeLiterals) {
  exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "relu.default(%x)", "%r user_output");
  schema::Method& method = *image.metadata.mutable_methods(0);
  for (const auto& set : {kNone, kThree, kReal, kTrue, kText}) {
    method.add_outputs(static_cast<uint32_t>(method.values_size()));
    set(*method.add_values());
  }
  const File file(image);
  std::vector<std::string> outputs;
  for (const int32_t output : file.plan().outputs) outputs.push_back(file.Value(output));
  EXPECT_THAT(outputs, ElementsAre("%1", "none", "3", "double 0.5", "true", "'text'"));
  method.add_outputs(static_cast<uint32_t>(method.values_size()));
  Dtype(DType::kFloat32)(*method.add_values());
  EXPECT_THAT(std::string(Refusal(image).message()), kRefused);
}

// --- Moves ---

// Returns the translation of a move from `from` to `to`.
std::string Moved(std::function<void(schema::Value&)> from,
                  std::function<void(schema::Value&)> to) {
  exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "relu.default(%x)", "%r user_output");
  schema::Method& method = *image.metadata.mutable_methods(0);
  const auto first = static_cast<uint32_t>(method.values_size());
  from(*method.add_values());
  to(*method.add_values());
  schema::Move& move = *method.add_instructions()->mutable_move();
  move.set_from(first);
  move.set_to(first + 1);
  image.debug.clear_methods();
  const absl::Status refusal = Refusal(image);
  return refusal.ok() ? File(image).Instructions().back() : std::string(refusal.message());
}

TEST(MethodValuesTest, MovesConvertScalarsToTargetKind) {
  EXPECT_EQ(Moved(kThree, kIntSlot), "move 3 -> %2");
  EXPECT_EQ(Moved(kThree, kRealSlot), "move double 3 -> %2");
  EXPECT_EQ(Moved(kReal, kRealSlot), "move double 0.5 -> %2");
  EXPECT_EQ(Moved(kTrue, kTruthSlot), "move true -> %2");
  EXPECT_EQ(Moved(kRealSlot, kRealSlot), "move double 0 -> %3");
  EXPECT_THAT(Moved(kReal, kIntSlot), kRefused);
  EXPECT_THAT(Moved(kThree, kText), HasSubstr("move"));
}

TEST(MethodValuesTest, TensorMovesCopyToTargetOrder) {
  const auto tensor = [](std::vector<uint8_t> order) {
    return [order](schema::Value& v) {
      schema::Tensor& tensor = *v.mutable_tensor();
      tensor.set_dtype(static_cast<uint32_t>(DType::kFloat32));
      for (const int64_t size : {1, 2, 3, 4}) tensor.add_sizes(size);
      tensor.set_dim_order(order.data(), order.size());
      tensor.set_arena_offset(0);
    };
  };
  const auto dense = tensor({0, 1, 2, 3}), last = tensor({0, 2, 3, 1});
  EXPECT_EQ(Moved(dense, dense), "aten::alias_copy.out(%2, %3, %3)");
  EXPECT_EQ(Moved(last, last), "aten::alias_copy.out(%2, %3, %3)");
  EXPECT_EQ(Moved(last, dense),
            "dim_order_ops::_to_dim_order_copy.out(%2, false, ints[0 1 2 3], %3, %3)");
  EXPECT_EQ(Moved(dense, last),
            "dim_order_ops::_to_dim_order_copy.out(%2, false, ints[0 2 3 1], %3, %3)");
}

// --- Tensors ---

TEST(MethodValuesTest, RejectsInvalidDtypes) {
  exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "relu.default(%x)", "%r user_output");
  schema::Tensor& tensor = *image.metadata.mutable_methods(0)->mutable_values(0)->mutable_tensor();
  tensor.set_dtype(0);
  EXPECT_THAT(std::string(Refusal(image).message()), HasSubstr("ExecuTorch has no dtype invalid"));
}

TEST(MethodValuesTest, BufferWithoutContentIsUninitialized) {
  exir::ProgramImage image = Emit(R"(program edge {
    constants { state "n": f32[2] }
    graph(%n: f32[2] buffer "n", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%n, %x)
      return (%a buffer_mutation "n", %a user_output)
    } })");
  image.metadata.mutable_methods(0)->mutable_state(0)->set_initial(0);
  const File file(image);
  EXPECT_EQ(file.Tensor(0).data_buffer_idx, 0u);
  ASSERT_NE(file.Tensor(0).allocation_info, nullptr);
  EXPECT_EQ(file.Tensor(0).allocation_info->memory_id, 2u);
  EXPECT_TRUE(file.program->mutable_data_segments.empty());
}

// Banks have the first memory ids; the state follows.
TEST(MethodValuesTest, BanksHaveMemoryIds) {
  exir::ProgramImage image = Emit(R"(program edge {
    constants { state "n": f32[2] }
    graph(%n: f32[2] buffer "n", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%n, %x)
      %b: f32[2] = edge.aten.mul.Tensor(%a, %x)
      return (%b buffer_mutation "n", %a user_output)
    } })");
  schema::Method& method = *image.metadata.mutable_methods(0);
  for (const auto& [name, bytes] : {std::pair("fast", 64), {"middle", 0}, {"slow", 128}}) {
    schema::MemoryBank* bank = method.add_banks();
    bank->set_name(name);
    bank->set_bytes(static_cast<uint64_t>(bytes));
    bank->set_alignment(64);
  }
  method.set_arena_bytes(192);
  const auto output_of = [&](int instruction) {
    return method.instructions(instruction).kernel().outputs(0);
  };
  for (const auto& [instruction, offset] : {std::pair(0, 0), {1, 128}}) {
    method.mutable_values(static_cast<int>(output_of(instruction)))
        ->mutable_tensor()
        ->set_arena_offset(static_cast<uint64_t>(offset));
  }
  const File file(image);
  EXPECT_THAT(file.plan().non_const_buffer_sizes, ElementsAre(0, 64, 0, 128, 16));
  EXPECT_THAT(file.Instructions(),
              ElementsAre("aten::add.out(%0, %1, 1, %2, %2)", "aten::mul.out(%2, %1, %3, %3)",
                          "aten::copy_(%0, %3, false, %0)"));
  const auto place_of = [&](int32_t tensor) {
    const AllocationDetailsT& place = *file.Tensor(tensor).allocation_info;
    return std::pair(place.memory_id, place.memory_offset_low);
  };
  EXPECT_EQ(place_of(0), std::pair(4u, 0u));
  EXPECT_EQ(place_of(2), std::pair(1u, 0u));
  EXPECT_EQ(place_of(3), std::pair(3u, 64u));
}

TEST(MethodValuesTest, ViewAtOtherOffsetIsCopy) {
  exir::ProgramImage image = CallOf("%x: f32[4] user_input", "%r: f32[2,2]",
                                    "view_copy.default(%x, [2,2])", "%r user_output");
  EXPECT_EQ(File(image).Instructions()[0], "aten::view_copy.out(%0, ints[2 2], %1, %1)");
  schema::Method& method = *image.metadata.mutable_methods(0);
  method.mutable_values(0)->mutable_tensor()->set_arena_offset(0);
  EXPECT_EQ(File(image).Instructions()[0], "executorch_prim::et_view.default(%0, ints[2 2], %1)");
  for (schema::Value& value : *method.mutable_values()) {
    if (value.has_tensor() && value.tensor().sizes_size() == 2)
      value.mutable_tensor()->mutable_external();
  }
  EXPECT_EQ(File(image).Instructions()[0], "aten::view_copy.out(%0, ints[2 2], %1, %1)");
}

// --- Sources of instructions ---

TEST(MethodValuesTest, SourceLinesAreNumbersOrPartOfName) {
  exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "relu.default(%x)", "%r user_output");
  ASSERT_EQ(image.debug.methods_size(), 1);
  schema::InstructionDebugInfo& info = *image.debug.mutable_methods(0)->mutable_instructions(0);
  const std::pair<std::string, std::string> sources[] = {{"f.py:12", "f.py 12"},
                                                         {"C:\\f.py:7", "C:\\f.py 7"},
                                                         {"f.py", "f.py 0"},
                                                         {"f.py:twelve", "f.py:twelve 0"},
                                                         {"f.py:", "f.py: 0"}};
  for (const auto& [source, expected] : sources) {
    info.set_source(source);
    const File file(image);
    const FrameT& frame = *file.plan().chains[0]->stacktrace[0]->items[0];
    EXPECT_EQ(absl::StrCat(frame.filename, " ", frame.lineno), expected);
  }
}

TEST(MethodValuesTest, NoSourcesWithoutDebugInfo) {
  exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "erfinv.default(%x)", "%r user_output");
  EXPECT_THAT(std::string(Refusal(image).message()),
              HasSubstr("method 'forward': node 'r': ExecuTorch has no operator"));
  const std::vector<exir::RefusedNode> nodes = exir::RefusedNodesOf(Refusal(image));
  ASSERT_EQ(nodes.size(), 1);
  EXPECT_EQ(nodes[0].method, "forward");
  EXPECT_EQ(nodes[0].node, "r");
  image.debug.mutable_methods(0)->mutable_instructions(0)->clear_node();
  EXPECT_THAT(std::string(Refusal(image).message()),
              HasSubstr("method 'forward': ExecuTorch has no operator"));
  image.debug.clear_methods();
  EXPECT_THAT(std::string(Refusal(image).message()),
              HasSubstr("method 'forward': ExecuTorch has no operator"));
  exir::ProgramImage relu =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "relu.default(%x)", "%r user_output");
  relu.debug.clear_methods();
  EXPECT_TRUE(File(relu).plan().chains[0]->stacktrace.empty());
}

TEST(MethodValuesTest, SkipsInstructionWithoutKind) {
  exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "relu.default(%x)", "%r user_output");
  image.debug.clear_methods();
  image.metadata.mutable_methods(0)->add_instructions();
  EXPECT_EQ(File(image).Instructions().size(), 1u);
}

// --- Other operators ---

// Operator names are not trusted: their arguments are looked up in the registry.
TEST(MethodValuesTest, RejectsOperatorsMissingInRegistry) {
  const exir::ProgramImage image =
      CallOf("%x: f32[2] user_input", "%r: f32[2]", "relu.default(%x)", "%r user_output");
  const auto refusal = [&](std::vector<exir::OpDef> rows) {
    const absl::Span<const exir::OpDef> tables[] = {rows};
    absl::StatusOr<std::unique_ptr<exir::OpRegistry>> ops = exir::OpRegistry::Create(tables);
    EXPECT_OK(ops);
    return std::string(SerializeProgram(image, **ops).status().message());
  };
  EXPECT_EQ(refusal({{.schema = "aten::relu(Tensor self) -> Tensor"}}), "");
  EXPECT_THAT(refusal({}), HasSubstr("ExecuTorch has no operator for aten.relu.default"));
  EXPECT_THAT(
      refusal({{.schema = "aten::relu(Tensor input) -> Tensor"}}),
      HasSubstr("ExecuTorch's aten::relu.out takes 'self', which aten.relu.default does not have"));
}

}  // namespace
}  // namespace belay::pte
