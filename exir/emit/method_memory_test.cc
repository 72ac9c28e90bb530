#include "exir/emit/method_memory.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/emit/memory_checker.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/dtype.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

class Builder {
 public:
  // f32, row-major; a negative size is dynamic with its absolute value as the upper bound.
  uint32_t Tensor(const std::vector<int64_t>& sizes, uint32_t shape = 0) {
    schema::Tensor* t = written.method.add_values()->mutable_tensor();
    t->set_dtype(static_cast<uint32_t>(DType::kFloat32));
    uint32_t dynamic = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      t->add_sizes(std::abs(sizes[d]));
      if (sizes[d] < 0) dynamic |= uint32_t{1} << d;
      t->mutable_dim_order()->push_back(static_cast<char>(d));
    }
    t->set_dynamic_dims(dynamic);
    t->set_arena_offset(0);
    written.shapes.push_back(shape);
    return written.method.values_size() - 1;
  }
  uint32_t Constant(const std::vector<int64_t>& sizes, uint32_t index) {
    const uint32_t v = Tensor(sizes);
    written.method.mutable_values(v)->mutable_tensor()->set_constant(index);
    return v;
  }
  uint32_t Int(int64_t value) {
    written.method.add_values()->set_int_(value);
    written.shapes.push_back(0);
    return written.method.values_size() - 1;
  }
  uint32_t Slot() {
    written.method.add_values()->mutable_scalar()->set_kind(schema::ScalarSlot::BOOL);
    written.shapes.push_back(0);
    return written.method.values_size() - 1;
  }
  uint32_t List(const std::vector<uint32_t>& elements) {
    schema::List* list = written.method.add_values()->mutable_list();
    for (uint32_t e : elements) list->add_elements(e);
    written.shapes.push_back(0);
    return written.method.values_size() - 1;
  }
  void Call(const std::string& op, const std::vector<uint32_t>& arguments,
            const std::vector<uint32_t>& outputs, bool effects = false) {
    int index = 0;
    while (index < written.method.operators_size() && written.method.operators(index) != op) {
      ++index;
    }
    if (index == written.method.operators_size()) written.method.add_operators(op);
    written.debug.add_instructions()->set_node(op);
    written.has_effects.push_back(effects);
    schema::KernelCall* call = written.method.add_instructions()->mutable_kernel();
    call->set_operator_(index);
    for (uint32_t v : arguments) call->add_arguments(v);
    for (uint32_t v : outputs) call->add_outputs(v);
  }
  void Move(uint32_t from, uint32_t to) {
    written.debug.add_instructions();
    written.has_effects.push_back(false);
    written.method.add_instructions()->mutable_move()->set_from(from);
    written.method.mutable_instructions()->rbegin()->mutable_move()->set_to(to);
  }
  void JumpIfFalse(uint32_t condition, uint32_t target) {
    written.debug.add_instructions();
    written.has_effects.push_back(false);
    schema::JumpIfFalse* jump = written.method.add_instructions()->mutable_jump_if_false();
    jump->set_condition(condition);
    jump->set_target(target);
  }
  void Jump(uint32_t target) {
    written.debug.add_instructions();
    written.has_effects.push_back(false);
    written.method.add_instructions()->mutable_jump()->set_target(target);
  }
  void Output(uint32_t v) { written.method.add_outputs(v); }

  MethodMemory Arrange(const MethodMemoryOptions& options = {}) {
    static const OpRegistry& ops = *CreateStandardOps()->release();
    written.operators.clear();
    for (const std::string& op : written.method.operators()) {
      written.operators.push_back(ops.Find(op));
    }
    const absl::StatusOr<MethodMemory> memory = ArrangeMemory(written, options);
    EXPECT_TRUE(memory.ok()) << memory.status();
    EXPECT_EQ(written.debug.instructions_size(), written.method.instructions_size());
    return memory.ok() ? *memory : MethodMemory();
  }
  uint64_t OffsetOf(uint32_t v) const { return written.method.values(v).tensor().arena_offset(); }
  std::vector<std::string> Operators() const {
    std::vector<std::string> names;
    for (const schema::InstructionDebugInfo& info : written.debug.instructions()) {
      names.push_back(info.node());
    }
    return names;
  }

  WrittenMethod written;
};

constexpr char kMake[] = "test.make.default";
constexpr char kUse[] = "test.use.default";

TEST(MethodMemoryTest, ViewsShareSourceStorage) {
  struct Case {
    const char* op;
    std::vector<int64_t> from, to;
    std::function<std::vector<uint32_t>(Builder&)> arguments;
    int64_t offset;  // -1: a copy
  };
  const auto none = [](Builder&) { return std::vector<uint32_t>(); };
  const auto ints = [](std::vector<int64_t> values) {
    return [values](Builder& b) {
      std::vector<uint32_t> arguments;
      for (int64_t v : values) arguments.push_back(b.Int(v));
      return arguments;
    };
  };
  const auto list = [](std::vector<int64_t> values) {
    return [values](Builder& b) {
      std::vector<uint32_t> elements;
      for (int64_t v : values) elements.push_back(b.Int(v));
      return std::vector<uint32_t>{b.List(elements)};
    };
  };
  const Case cases[] = {
      {"aten.view_copy.default", {4, 16}, {8, 8}, list({8, 8}), 0},
      {"aten.squeeze_copy.dims", {1, 32}, {32}, list({0}), 0},
      {"aten.unsqueeze_copy.default", {32}, {1, 32}, ints({0}), 0},
      {"aten.expand_copy.default", {32}, {1, 32}, list({1, 32}), 0},
      {"aten.expand_copy.default", {1, 32}, {2, 32}, list({2, 32}), -1},
      {"aten.permute_copy.default", {1, 4, 8}, {4, 1, 8}, list({1, 0, 2}), 0},
      {"aten.permute_copy.default", {2, 4, 8}, {4, 2, 8}, list({1, 0, 2}), -1},
      {"aten.transpose_copy.int", {1, 32}, {32, 1}, ints({0, -1}), 0},
      {"aten.transpose_copy.int", {4, 8}, {8, 4}, ints({0, 1}), -1},
      {"aten.transpose_copy.int", {4, 1, 8}, {1, 4, 8}, ints({0, 1}), 0},
      {"aten.transpose_copy.int", {4, 1, 8}, {8, 1, 4}, ints({0, 2}), -1},
      {"aten.t_copy.default", {1, 32}, {32, 1}, none, 0},
      {"aten.alias_copy.default", {4, 8}, {4, 8}, none, 0},
      {"aten.slice_copy.Tensor", {4, 16}, {2, 16}, ints({0, 1, 3, 1}), 64},
      {"aten.slice_copy.Tensor", {4, 16}, {2, 16}, ints({0, -2, 99, 1}), 128},
      {"aten.slice_copy.Tensor", {4, 16}, {2, 16}, ints({0, 0, 4, 2}), -1},  // steps
      {"aten.slice_copy.Tensor", {4, 16}, {4, 8}, ints({1, 0, 8, 1}), -1},   // inner dimension
      {"aten.slice_copy.Tensor", {4, 15}, {2, 15}, ints({0, 1, 3, 1}), -1},  // misaligned
      {"aten.slice_copy.Tensor", {1, 4, 16}, {1, 3, 16}, ints({1, 1, 4, 1}), 64},
      {"aten.select_copy.int", {4, 16}, {16}, ints({0, -1}), 192},
      {"aten.narrow_copy.default", {4, 16}, {3, 16}, ints({0, 1, 3}), 64},
      {"aten.relu.default", {4, 16}, {4, 16}, none, -1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op);
    Builder b;
    const uint32_t x = b.Tensor(c.from), v = b.Tensor(c.to), y = b.Tensor({5});
    b.Call(kMake, {}, {x});
    std::vector<uint32_t> arguments = c.arguments(b);
    arguments.insert(arguments.begin(), x);
    b.Call(c.op, arguments, {v});
    b.Call(kUse, {v, x}, {y});
    b.Output(y);
    const MethodMemory memory = b.Arrange({.share = true, .reorder = false});
    EXPECT_EQ(memory.elided_instructions, c.offset < 0 ? 0u : 1u);
    EXPECT_EQ(b.written.method.instructions_size(), c.offset < 0 ? 3 : 2);
    if (c.offset >= 0) EXPECT_EQ(b.OffsetOf(v) - b.OffsetOf(x), static_cast<uint64_t>(c.offset));
    EXPECT_EQ(b.written.method.operators_size(), c.offset < 0 ? 3 : 2);
  }
}

TEST(MethodMemoryTest, SplitsShareSourceStorage) {
  Builder b;
  const uint32_t x = b.Tensor({6, 16}), y = b.Tensor({1});
  std::vector<uint32_t> pieces = {b.Tensor({4, 16}), b.Tensor({2, 16})};
  b.Call(kMake, {}, {x});
  b.Call("aten.split_copy.Tensor", {x, b.Int(4), b.Int(0)}, {b.List(pieces)});
  b.Call(kUse, pieces, {y});
  b.Output(y);
  EXPECT_EQ(b.Arrange().elided_instructions, 1u);
  EXPECT_EQ(b.OffsetOf(pieces[0]), b.OffsetOf(x));
  EXPECT_EQ(b.OffsetOf(pieces[1]), b.OffsetOf(x) + 256);
}

TEST(MethodMemoryTest, ConcatenationOperandsShareResultStorage) {
  Builder b;
  const uint32_t x = b.Tensor({2, 16}), y = b.Tensor({3, 16}), z = b.Tensor({5, 16}),
                 end = b.Tensor({1});
  b.Call(kMake, {}, {x});
  b.Call(kMake, {}, {y});
  b.Call("aten.cat.default", {b.List({x, y}), b.Int(0)}, {z});
  b.Call(kUse, {z}, {end});
  b.Output(end);
  const MethodMemory memory = b.Arrange();
  EXPECT_EQ(memory.elided_instructions, 1u);
  EXPECT_EQ(b.OffsetOf(x), b.OffsetOf(z));
  EXPECT_EQ(b.OffsetOf(y), b.OffsetOf(z) + 128);
  EXPECT_EQ(memory.lower_bound, 320u + 64u);
  EXPECT_EQ(memory.written_lower_bound, 640u);
}

TEST(MethodMemoryTest, KeepsConcatenationsThatCannotShare) {
  for (const auto& [first, dim] : std::vector<std::pair<int, int64_t>>{{0, 0}, {1, 1}, {2, 0}}) {
    Builder b;
    const uint32_t x = b.Tensor({2, 16}), y = b.Tensor({2, 16}), c = b.Constant({2, 16}, 0);
    const uint32_t z =
        b.Tensor(dim == 0 ? std::vector<int64_t>{4, 16} : std::vector<int64_t>{2, 32});
    b.Call(kMake, {}, {x});
    b.Call(kMake, {}, {y});
    b.Call("aten.cat.default", {b.List({first == 0 ? y : first == 1 ? x : c, y}), b.Int(dim)}, {z});
    b.Output(z);
    EXPECT_EQ(b.Arrange().elided_instructions, 0u) << first;
  }
}

TEST(MethodMemoryTest, ViewOfConstantIsTheConstant) {
  Builder b;
  const uint32_t c = b.Constant({4, 8}, 7), v = b.Tensor({32}), u = b.Tensor({1, 32}),
                 y = b.Tensor({1});
  b.Call("aten.view_copy.default", {c, b.List({b.Int(32)})}, {v});
  b.Call("aten.unsqueeze_copy.default", {v, b.Int(0)}, {u});
  b.Call(kUse, {u}, {y});
  b.Output(y);
  EXPECT_EQ(b.Arrange().elided_instructions, 2u);
  EXPECT_EQ(b.written.method.values(v).tensor().constant(), 7u);
  EXPECT_EQ(b.written.method.values(u).tensor().constant(), 7u);
}

TEST(MethodMemoryTest, ElementwiseResultsReuseDyingOperands) {
  Builder b;
  const uint32_t x = b.Tensor({64}), y = b.Tensor({64}), z = b.Tensor({64}), w = b.Tensor({64});
  b.Call(kMake, {}, {x});
  b.Call("aten.relu.default", {x}, {y});   // x has a later use
  b.Call("aten.mul.Tensor", {y, x}, {z});  // last use of both
  b.Call("aten.neg.default", {z}, {w});
  b.Output(w);
  const MethodMemory memory = b.Arrange();
  EXPECT_NE(b.OffsetOf(x), b.OffsetOf(y));
  EXPECT_EQ(b.OffsetOf(z), b.OffsetOf(y));
  EXPECT_EQ(b.OffsetOf(w), b.OffsetOf(z));
  EXPECT_EQ(memory.arena_bytes, 512u);
}

TEST(MethodMemoryTest, ElementwiseResultsOfDifferentDynamicSizesDoNotShare) {
  for (const uint32_t shape : {1u, 2u}) {
    Builder b;
    const uint32_t x = b.Tensor({-64}, 1), y = b.Tensor({-64}, shape);
    b.Call(kMake, {}, {x});
    b.Call("aten.relu.default", {x}, {y});
    b.Output(y);
    EXPECT_EQ(b.Arrange().arena_bytes, shape == 1 ? 256u : 512u);
  }
}

// It is the last use of both operands, which have the bounds of the result; one may be broadcast.
TEST(MethodMemoryTest, ElementwiseResultsReuseOperandWithEqualSymbolicSizes) {
  for (const auto& [first, second] : {std::pair(1u, 2u), std::pair(2u, 1u), std::pair(2u, 3u)}) {
    Builder b;
    const uint32_t x = b.Tensor({-64}, first), y = b.Tensor({-64}, second);
    const uint32_t sum = b.Tensor({-64}, 1);
    b.Call(kMake, {}, {x});
    b.Call(kMake, {}, {y});
    b.Call("aten.add.Tensor", {x, y, b.Int(1)}, {sum});
    b.Output(sum);
    EXPECT_EQ(b.Arrange().arena_bytes, first == 1 || second == 1 ? 512u : 768u);
    EXPECT_EQ(b.OffsetOf(sum) == b.OffsetOf(x), first == 1);
    EXPECT_EQ(b.OffsetOf(sum) == b.OffsetOf(y), second == 1);
  }
}

// The rows are added to their first row, which is a view of the operand. In place, the second row
// would be added to the updated first row.
TEST(MethodMemoryTest, ElementwiseResultsDoNotReuseOperandReadOutOfStep) {
  for (const int64_t rows : {2, 1}) {
    Builder b;
    const uint32_t x = b.Tensor({rows, 16}), first = b.Tensor({1, 16}), y = b.Tensor({rows, 16});
    b.Call(kMake, {}, {x});
    b.Call("aten.slice_copy.Tensor", {x, b.Int(0), b.Int(0), b.Int(1), b.Int(1)}, {first});
    b.Call("aten.add.Tensor", {x, first, b.Int(1)}, {y});
    b.Output(y);
    const MethodMemory memory = b.Arrange();
    EXPECT_EQ(memory.elided_instructions, 1u);
    EXPECT_EQ(b.OffsetOf(first), b.OffsetOf(x));
    EXPECT_EQ(b.OffsetOf(y) == b.OffsetOf(x), rows == 1);  // a single row is read in step
    EXPECT_EQ(memory.arena_bytes, rows == 1 ? 64u : 256u);
  }
}

TEST(MethodMemoryTest, DynamicViewsCopyOntoThemselves) {
  Builder b;
  const uint32_t x = b.Tensor({-8, 4}, 1), v = b.Tensor({-32}, 2), y = b.Tensor({1});
  b.Call(kMake, {}, {x});
  b.Call("aten.view_copy.default", {x, b.List({b.Int(-1)})}, {v});
  b.Call(kUse, {v, x}, {y});
  b.Output(y);
  const MethodMemory memory = b.Arrange();
  EXPECT_EQ(memory.elided_instructions, 0u);
  EXPECT_EQ(b.OffsetOf(v), b.OffsetOf(x));
  EXPECT_EQ(memory.lower_bound, 128u + 64u);
}

// Results returned to the caller do not share memory: a view of a result that is also a result is
// copied.
TEST(MethodMemoryTest, TwoResultsDoNotShareMemory) {
  const auto view = [](Builder& b, uint32_t x, uint32_t v) {
    b.Call("aten.view_copy.default", {x, b.List({b.Int(-1)})}, {v});
  };
  for (const bool dynamic : {false, true}) {
    const int64_t sign = dynamic ? -1 : 1;
    for (const bool both : {false, true}) {
      Builder b;  // a tensor and its view
      const uint32_t x = b.Tensor({sign * 8, 4}, 1), v = b.Tensor({sign * 32}, 2);
      b.Call(kMake, {}, {x});
      view(b, x, v);
      if (both) b.Output(x);
      b.Output(v);
      b.Arrange();
      EXPECT_EQ(b.OffsetOf(x) == b.OffsetOf(v), !both);
    }
    Builder b;  // two views of a non-result
    const uint32_t x = b.Tensor({sign * 8, 4}, 1), v = b.Tensor({sign * 32}, 2),
                   w = b.Tensor({sign * 16, 2}, 3);
    b.Call(kMake, {}, {x});
    view(b, x, v);
    view(b, x, w);
    b.Output(v);
    b.Output(w);
    b.Arrange();
    EXPECT_NE(b.OffsetOf(v), b.OffsetOf(w));
    EXPECT_TRUE(b.OffsetOf(v) == b.OffsetOf(x) || b.OffsetOf(w) == b.OffsetOf(x));
  }
  for (const int results : {0, 1, 2, 3}) {  // concatenation operands and the result
    Builder b;
    const uint32_t x = b.Tensor({2, 16}), y = b.Tensor({3, 16}), z = b.Tensor({5, 16}),
                   end = b.Tensor({1});
    b.Call(kMake, {}, {x});
    b.Call(kMake, {}, {y});
    b.Call("aten.cat.default", {b.List({x, y}), b.Int(0)}, {z});
    b.Call(kUse, {z}, {end});
    if (results == 3) b.Output(z);
    if (results > 0) b.Output(x);
    if (results == 2) b.Output(y);
    b.Output(end);
    EXPECT_EQ(b.Arrange().elided_instructions, results < 2 ? 1u : 0u) << results;
  }
}

// A loop-carried value has several writers, two moves here.
TEST(MethodMemoryTest, CopiesConcatenationsOfLoopCarriedValues) {
  Builder b;
  const uint32_t first = b.Tensor({2, 16}), carried = b.Tensor({2, 16}), other = b.Tensor({2, 16}),
                 whole = b.Tensor({4, 16});
  const uint32_t go_on = b.Slot();
  b.Call(kMake, {}, {first});
  b.Move(first, carried);      // 1
  b.Call(kMake, {}, {go_on});  // 2
  b.JumpIfFalse(go_on, 7);     // 3
  b.Call(kMake, {}, {other});  // 4
  b.Move(other, carried);      // 5
  b.Jump(2);                   // 6
  b.Call(kMake, {}, {other});  // 7
  b.Call("aten.cat.default", {b.List({carried, other}), b.Int(0)}, {whole});
  b.Output(whole);
  EXPECT_EQ(b.Arrange().elided_instructions, 0u);
}

TEST(MethodMemoryTest, UnusedTensorHasOffset) {
  Builder b;
  const uint32_t x = b.Tensor({16}), unused = b.Tensor({32}), y = b.Tensor({16});
  b.Call(kMake, {}, {x});
  b.Call(kUse, {x}, {y});
  b.Output(y);
  const MethodMemory memory = b.Arrange();
  EXPECT_LE(b.OffsetOf(unused) + 128, memory.arena_bytes);
}

// Large methods use a single arrangement, which shares views as usual.
TEST(MethodMemoryTest, LargeMethodsShareViews) {
  Builder b;
  uint32_t last = b.Tensor({1, 16});
  b.Call(kMake, {}, {last});
  for (int i = 0; i < 10'001; ++i) {
    const uint32_t view = b.Tensor({16}), next = b.Tensor({1, 16});
    b.Call("aten.squeeze_copy.default", {last}, {view});
    b.Call(kUse, {view}, {next});
    last = next;
  }
  b.Output(last);
  const MethodMemory memory = b.Arrange();
  EXPECT_EQ(memory.elided_instructions, 10'001u);
  EXPECT_EQ(memory.arena_bytes, 128u);
}

TEST(MethodMemoryTest, MethodsWithoutOperators) {
  Builder b;
  const uint32_t x = b.Tensor({16}), y = b.Tensor({16});
  b.written.method.mutable_values(x)->mutable_tensor()->mutable_external();
  b.Move(x, y);
  b.Output(y);
  EXPECT_EQ(b.Arrange().arena_bytes, 64u);
}

// The position of dimensions of size 1 in the order does not affect the layout.
TEST(MethodMemoryTest, ReshapesIgnoreOrderOfUnitDimensions) {
  for (const int64_t rows : {1, 2}) {
    Builder b;
    const uint32_t x = b.Tensor({rows, 32}), v = b.Tensor({rows * 8, 4}), y = b.Tensor({1});
    b.written.method.mutable_values(x)->mutable_tensor()->set_dim_order(std::string("\1\0", 2));
    b.Call(kMake, {}, {x});
    b.Call("aten.view_copy.default", {x, b.List({b.Int(rows * 8), b.Int(4)})}, {v});
    b.Call(kUse, {v, x}, {y});
    b.Output(y);
    EXPECT_EQ(b.Arrange().elided_instructions, rows == 1 ? 1u : 0u);
  }
}

// A dynamic copy shares storage if the dimension order is the same, whichever it is.
TEST(MethodMemoryTest, DynamicCopiesToSameOrderCopyOntoThemselves) {
  for (const bool same : {true, false}) {
    Builder b;
    const uint32_t x = b.Tensor({-8, 4}, 1), v = b.Tensor({-8, 4}, 1), y = b.Tensor({1});
    b.written.method.mutable_values(x)->mutable_tensor()->set_dim_order(std::string("\1\0", 2));
    if (same) {
      b.written.method.mutable_values(v)->mutable_tensor()->set_dim_order(std::string("\1\0", 2));
    }
    b.Call(kMake, {}, {x});
    b.Call("aten.alias_copy.default", {x}, {v});
    b.Call(kUse, {v, x}, {y});
    b.Output(y);
    b.Arrange();
    EXPECT_EQ(b.OffsetOf(v) == b.OffsetOf(x), same);
  }
}

TEST(MethodMemoryTest, CopiesViewsOfLoopCarriedValues) {
  Builder b;
  const uint32_t first = b.Tensor({16}), carried = b.Tensor({16}), view = b.Tensor({1, 16}),
                 next = b.Tensor({16});
  const uint32_t go_on = b.Slot();
  b.Call(kMake, {}, {first});
  b.Move(first, carried);                                              // 1
  b.Call(kMake, {}, {go_on});                                          // 2
  b.JumpIfFalse(go_on, 8);                                             // 3
  b.Call("aten.unsqueeze_copy.default", {carried, b.Int(0)}, {view});  // 4
  b.Call(kUse, {view, carried}, {next});                               // 5
  b.Move(next, carried);                                               // 6
  b.Jump(2);                                                           // 7
  b.Output(carried);
  EXPECT_EQ(b.Arrange().elided_instructions, 0u);
}

TEST(MethodMemoryTest, SchedulesInstructionsForLessMemory) {
  Builder b;
  const uint32_t big1 = b.Tensor({1000}), big2 = b.Tensor({1000}), small1 = b.Tensor({1}),
                 small2 = b.Tensor({1}), y = b.Tensor({1});
  b.Call("test.make1.default", {}, {big1});
  b.Call("test.make2.default", {}, {big2});
  b.Call("test.use1.default", {big1}, {small1});
  b.Call("test.use2.default", {big2}, {small2});
  b.Call("test.join.default", {small1, small2}, {y});
  b.Output(y);
  const MethodMemory memory = b.Arrange();
  EXPECT_TRUE(memory.reordered);
  EXPECT_EQ(memory.lower_bound, 4032u + 128u);
  EXPECT_EQ(memory.written_lower_bound, 2 * 4032u + 64u);
  EXPECT_THAT(b.Operators(), ::testing::ElementsAre("test.make1.default", "test.use1.default",
                                                    "test.make2.default", "test.use2.default",
                                                    "test.join.default"));
}

// Only pages that a call writes use memory: few offsets are better than a small arena.
TEST(MethodMemoryTest, LargeArenasOfDynamicTensorsHaveSlots) {
  const auto planner = [](int64_t size) {
    Builder b;
    const uint32_t x = b.Tensor({size}), y = b.Tensor({size / 2}), z = b.Tensor({size});
    b.Call("test.make.default", {}, {x});
    b.Call("test.half.default", {x}, {y});
    b.Call("test.double.default", {y}, {z});
    b.Output(z);
    const MethodMemory memory = b.Arrange();
    EXPECT_EQ(b.OffsetOf(x), b.OffsetOf(z));
    return memory.planner;
  };
  EXPECT_EQ(planner(int64_t{-16} << 20), "slots");
  EXPECT_NE(planner(int64_t{16} << 20), "slots");
  EXPECT_NE(planner(-1000), "slots");
}

TEST(MethodMemoryTest, EffectsWritesAndJumpsKeepTheirOrder) {
  Builder b;
  const uint32_t big1 = b.Tensor({1000}), big2 = b.Tensor({1000}), small1 = b.Tensor({1}),
                 small2 = b.Tensor({1});
  b.Call("test.random1.default", {}, {big1}, /*effects=*/true);
  b.Call("test.random2.default", {}, {big2}, /*effects=*/true);
  b.Call("test.use1.default", {big1}, {small1}, /*effects=*/true);
  b.Call("test.use2.default", {big2}, {small2});
  b.Call("test.add_.default", {small1, small2}, {small1});
  b.Call("test.use3.default", {small1}, {small2});
  b.Output(small1);
  b.Output(small2);
  EXPECT_FALSE(b.Arrange().reordered);
}

// The second write to x needs little memory, but still follows the first one in the better order.
TEST(MethodMemoryTest, KeepsOrderOfWritesToOneValue) {
  Builder b;
  const uint32_t big1 = b.Tensor({1000}), big2 = b.Tensor({1000}), x = b.Tensor({1}),
                 small = b.Tensor({1}), y = b.Tensor({1});
  b.Call("test.make1.default", {}, {big1});
  b.Call("test.make2.default", {}, {big2});
  b.Call("test.use1.default", {big1}, {x});
  b.Call("test.use2.default", {big2}, {small});
  b.Call("test.make3.default", {}, {x});
  b.Call("test.join.default", {x, small}, {y});
  b.Output(y);
  EXPECT_TRUE(b.Arrange().reordered);
  std::vector<std::string> writes;
  for (const std::string& op : b.Operators()) {
    if (op == "test.use1.default" || op == "test.make3.default") writes.push_back(op);
  }
  EXPECT_THAT(writes, ::testing::ElementsAre("test.use1.default", "test.make3.default"));
}

TEST(MethodMemoryTest, SameMethodGivesSamePlan) {
  std::string bytes[2];
  for (std::string& out : bytes) {
    Builder b;
    std::vector<uint32_t> values;
    for (int i = 0; i < 40; ++i) {
      values.push_back(b.Tensor({1 + i * 37 % 50, 16}));
      std::vector<uint32_t> arguments;
      if (i > 2) arguments = {values[i * 7 % i], values[i - 1]};
      b.Call(kUse, arguments, {values.back()});
    }
    b.Output(values.back());
    b.Arrange();
    out = b.written.method.SerializeAsString();
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

// Arrangements that the checker rejects: one change each.
TEST(MethodMemoryTest, CheckerRejectsWrongArrangements) {
  struct Parts {
    schema::Method method;
    std::vector<uint32_t> order;
    std::vector<bool> elided, effects;
  };
  struct Case {
    const char* message;
    std::function<void(Parts&)> change;
  };
  // 0: x = make; 1: v = view(x); 2: r = random; 3: y = use(v, r); 4: s = random; returns y, s.
  Builder b;
  const uint32_t x = b.Tensor({4, 16}), v = b.Tensor({64}), r = b.Tensor({1}), y = b.Tensor({64}),
                 s = b.Tensor({1});
  b.Call(kMake, {}, {x});
  b.Call("aten.view_copy.default", {x, b.List({b.Int(64)})}, {v});
  b.Call("test.random.default", {}, {r}, /*effects=*/true);
  b.Call(kUse, {v, r}, {y});
  b.Call("test.random.default", {}, {s}, /*effects=*/true);
  b.Output(y);
  b.Output(s);
  const schema::Method written = b.written.method;
  const Parts good = [&] {
    Parts parts{
        written, {0, 1, 2, 3, 4}, {false, true, false, false, false}, b.written.has_effects};
    parts.method.mutable_instructions()->DeleteSubrange(1, 1);
    const std::pair<uint32_t, uint64_t> places[] = {{x, 0}, {v, 0}, {r, 256}, {y, 320}, {s, 576}};
    for (const auto& [value, offset] : places) {
      parts.method.mutable_values(value)->mutable_tensor()->set_arena_offset(offset);
    }
    parts.method.set_arena_bytes(640);
    return parts;
  }();
  const auto move = [](Parts& parts, uint32_t value, uint64_t offset) {
    parts.method.mutable_values(value)->mutable_tensor()->set_arena_offset(offset);
  };
  const Case cases[] = {
      {"", [](Parts&) {}},
      {"O1: instruction 4 runs twice", [](Parts& p) { p.order = {0, 1, 2, 4, 4}; }},
      {"O1: the number of instructions or values differs", [](Parts& p) { p.order.pop_back(); }},
      {"O1: instruction 3 runs before 2", [](Parts& p) { p.order = {0, 1, 3, 2, 4}; }},
      {"O1: instruction 4 runs before 2 and both have effects",
       [](Parts& p) { p.order = {0, 1, 4, 2, 3}; }},
      {"O2: 5 instructions should be left", [](Parts& p) { p.elided[1] = false; }},
      {"O2: instruction 2 is not the one written as 3",
       [&](Parts& p) { p.method.mutable_instructions(2)->mutable_kernel()->set_arguments(0, x); }},
      {"O2: inputs, outputs", [&](Parts& p) { p.method.set_outputs(0, x); }},
      {"O2: value 3 changed",
       [&](Parts& p) { p.method.mutable_values(y)->mutable_tensor()->set_sizes(0, 32); }},
      {"V1: instruction 1 cannot be elided: element 0 would have to move",
       [&](Parts& p) { move(p, v, 64); }},
      {"V1: instruction 0 cannot be elided",
       [&](Parts& p) {
         p.elided[0] = true;
         p.method.mutable_instructions()->DeleteSubrange(0, 1);
       }},
      {"V1: value 2 became a constant",
       [&](Parts& p) { p.method.mutable_values(r)->mutable_tensor()->set_constant(0); }},
      {"M1: instruction 2 writes value 2", [&](Parts& p) { move(p, r, 0); }},
      {"M1: instruction 4 writes value 4", [&](Parts& p) { move(p, s, 320); }},
      {"M5: instruction 3 writes value 3", [&](Parts& p) { move(p, y, 0); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    Parts parts = good;
    c.change(parts);
    const absl::Status status = CheckMemoryPlan(parts.method,
                                                {.written = written,
                                                 .order = parts.order,
                                                 .elided = parts.elided,
                                                 .has_effects = parts.effects},
                                                {});
    EXPECT_EQ(status.ok(), std::string_view(c.message).empty()) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace belay::exir
