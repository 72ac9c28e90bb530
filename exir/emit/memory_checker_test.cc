#include "exir/emit/memory_checker.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "exir/emit/method_memory.h"
#include "exir/ops/standard_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/dtype.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

// Additional operators of a Builder.
constexpr uint32_t kInPlace = 3, kOut = 4, kAnd = 5;

// A method under construction: all tensors are f32 of `elements` elements in the arena.
class Builder {
 public:
  Builder() {
    for (const char* op : {"test.any.default", "aten.relu.default", "aten.alias_copy.default",
                           "test.any_.default", "test.any.out", "aten.__and__.Tensor"}) {
      method.add_operators(op);
    }
  }
  uint32_t Tensor(int64_t elements, uint64_t offset = 0) {
    schema::Tensor* t = method.add_values()->mutable_tensor();
    t->set_dtype(static_cast<uint32_t>(DType::kFloat32));
    t->add_sizes(elements);
    t->set_dim_order(std::string(1, '\0'));
    t->set_arena_offset(offset);
    return method.values_size() - 1;
  }
  uint32_t Constant() {
    const uint32_t v = Tensor(16);
    method.mutable_values(v)->mutable_tensor()->set_constant(0);
    return v;
  }
  uint32_t Slot() {
    method.add_values()->mutable_scalar()->set_kind(schema::ScalarSlot::BOOL);
    return method.values_size() - 1;
  }
  uint32_t List(std::vector<uint32_t> elements) {
    schema::List* list = method.add_values()->mutable_list();
    for (uint32_t e : elements) list->add_elements(e);
    return method.values_size() - 1;
  }
  void Call(std::vector<uint32_t> arguments, std::vector<uint32_t> outputs, uint32_t op = 0) {
    schema::KernelCall* call = method.add_instructions()->mutable_kernel();
    call->set_operator_(op);
    for (uint32_t v : arguments) call->add_arguments(v);
    for (uint32_t v : outputs) call->add_outputs(v);
  }
  void JumpIfFalse(uint32_t condition, uint32_t target) {
    schema::JumpIfFalse* jump = method.add_instructions()->mutable_jump_if_false();
    jump->set_condition(condition);
    jump->set_target(target);
  }
  void Jump(uint32_t target) { method.add_instructions()->mutable_jump()->set_target(target); }
  void Output(uint32_t v) { method.add_outputs(v); }

  std::string Check() {
    if (method.arena_bytes() == 0) method.set_arena_bytes(1 << 20);
    return std::string(CheckMemoryPlan(method).message());
  }
  // Same, with the instructions in this order.
  std::string CheckInOrder(const std::vector<uint32_t>& order) const {
    schema::Method planned = method;
    planned.set_arena_bytes(1 << 20);
    for (size_t p = 0; p < order.size(); ++p) {
      *planned.mutable_instructions(static_cast<int>(p)) =
          method.instructions(static_cast<int>(order[p]));
    }
    const std::vector<bool> none(order.size());
    return std::string(
        CheckMemoryPlan(
            planned, {.written = method, .order = order, .elided = none, .has_effects = none}, {})
            .message());
  }
  // Plans the memory of the method, and returns the checker's verdict.
  std::string Arrange() {
    static const OpRegistry& ops = *CreateStandardOps()->release();
    WrittenMethod written{method, {}, {}, {}, {}};
    for (const std::string& op : method.operators()) written.operators.push_back(ops.Find(op));
    for (int i = 0; i < method.instructions_size(); ++i) written.debug.add_instructions();
    written.has_effects.resize(method.instructions_size());
    written.shapes.resize(method.values_size());
    const auto arranged = ArrangeMemory(written, {});
    method = std::move(written.method);
    return std::string(arranged.status().message());
  }
  schema::Method method;
};

TEST(MemoryCheckerTest, AcceptsReuseOfDeadTensors) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 64), z = b.Tensor(16, 0);
  b.Call({}, {x});
  b.Call({x}, {y});
  b.Call({y}, {z});
  b.Output(z);
  EXPECT_EQ(b.Check(), "");
}

TEST(MemoryCheckerTest, M1RejectsOverlappingLiveTensors) {
  Builder b;
  const uint32_t x = b.Tensor(32, 0), y = b.Tensor(16, 64), z = b.Tensor(16, 256);
  b.Call({}, {x});
  b.Call({}, {y});
  b.Call({x, y}, {z});
  b.Output(z);
  EXPECT_NE(b.Check().find("M1: instruction 1 writes value 1 [64, 128) over value 0 [0, 128)"),
            std::string::npos)
      << b.Check();
}

TEST(MemoryCheckerTest, M1ReportsOnlyLiveOverwrittenValues) {
  Builder b;
  const uint32_t dead = b.Tensor(16, 0), needed = b.Tensor(16, 0), apart = b.Tensor(16, 64);
  const uint32_t over = b.Tensor(16, 0);
  b.Call({}, {dead});
  b.Call({}, {needed});
  b.Call({}, {apart});
  b.Call({}, {over});
  for (const uint32_t v : {needed, apart, over}) b.Output(v);
  const std::string problems = b.Check();
  EXPECT_NE(problems.find("M1: instruction 3 writes value 3 [0, 64) over value 1"),
            std::string::npos)
      << problems;
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 1) << problems;
}

TEST(MemoryCheckerTest, M1ChecksListElements) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 64), z = b.Tensor(16, 0),
                 w = b.Tensor(16, 128);
  const uint32_t list = b.List({x, y});
  b.Call({}, {x});
  b.Call({}, {y});
  b.Call({}, {z});
  b.Call({list}, {w});
  b.Output(w);
  EXPECT_NE(b.Check().find("M1"), std::string::npos);
}

TEST(MemoryCheckerTest, M1ChecksValuesLiveAroundLoops) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), t = b.Tensor(16, 64), u = b.Tensor(16, 0);
  const uint32_t condition = b.Slot();
  b.Call({}, {x});              // 0
  b.JumpIfFalse(condition, 5);  // 1
  b.Call({x}, {t});             // 2: reads x again in the next round,
  b.Call({t}, {u});             // 3: but u overlaps it
  b.Jump(1);                    // 4
  EXPECT_NE(b.Check().find("M1: instruction 3 writes value 2 [0, 64) over value 0"),
            std::string::npos)
      << b.Check();
}

TEST(MemoryCheckerTest, M1KeepsResultsLiveToTheEnd) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 0);
  b.Call({}, {x});
  b.Call({}, {y});
  b.Output(x);
  EXPECT_NE(b.Check().find("M1"), std::string::npos);
}

TEST(MemoryCheckerTest, M2RejectsTensorsOutsideArenaOrMisaligned) {
  Builder outside;
  outside.method.set_arena_bytes(100);
  outside.Call({}, {outside.Tensor(16, 64)});
  EXPECT_NE(outside.Check().find("M2: value 0 ends at 128, the arena at 100"), std::string::npos);
  Builder misaligned;
  misaligned.Call({}, {misaligned.Tensor(4, 4)});
  EXPECT_NE(misaligned.Check().find("M2: value 0 is not aligned: offset 4"), std::string::npos);
}

TEST(MemoryCheckerTest, M3RejectsOverlappingState) {
  Builder b;
  for (uint64_t offset : {0, 64}) {
    const uint32_t v = b.Tensor(32);
    b.method.mutable_values(v)->mutable_tensor()->set_state_offset(offset);
    schema::StateBuffer* state = b.method.add_state();
    state->set_value(v);
  }
  b.method.set_state_bytes(192);
  EXPECT_NE(b.Check().find("M3: state values 0 and 1 overlap"), std::string::npos);
}

TEST(MemoryCheckerTest, M4RejectsConstantWritesAndReadBeforeWrite) {
  Builder constant;
  constant.Call({}, {constant.Constant()});
  EXPECT_NE(constant.Check().find("M4: instruction 0 writes to the constant value 0"),
            std::string::npos);
  Builder unwritten;
  const uint32_t x = unwritten.Tensor(16, 0), condition = unwritten.Slot();
  unwritten.JumpIfFalse(condition, 2);
  unwritten.Call({}, {x});
  unwritten.Output(x);
  EXPECT_NE(unwritten.Check().find("M4: value 0 [0, 64) is read by instruction 2"),
            std::string::npos);
}

// Code after an instruction that is already known as reachable is checked, too.
TEST(MemoryCheckerTest, M4FollowsJumpsToTheEnd) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 64), condition = b.Slot();
  b.JumpIfFalse(condition, 3);  // 0
  b.JumpIfFalse(condition, 3);  // 1
  b.Call({x}, {y});             // 2
  EXPECT_EQ(b.Check(),
            "the memory plan is wrong:\n  M4: value 0 [0, 64) is read by instruction 2 but not "
            "written on every path");
}

// The first path to instruction 3 writes x, a path found later does not: the following code is
// checked again.
TEST(MemoryCheckerTest, M4ChecksBackEdgesWithFewerWrites) {
  for (const bool writes : {false, true}) {
    Builder b;
    const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 64), condition = b.Slot();
    if (writes) b.Call({}, {x});
    const uint32_t first = writes ? 1 : 0;
    b.JumpIfFalse(condition, first + 5);  // 0: to 5, or
    b.Call({}, {x});                      // 1
    b.JumpIfFalse(condition, first + 6);  // 2, also a target of 5
    b.Call({x}, {y});                     // 3
    b.Jump(first + 6);                    // 4
    b.Jump(first + 2);                    // 5
    EXPECT_EQ(b.Check().find("M4: value 0 [0, 64) is read by instruction 3") != std::string::npos,
              !writes)
        << b.Check();
    EXPECT_EQ(b.Check().empty(), writes) << b.Check();
  }
}

TEST(MemoryCheckerTest, InPlaceOperatorsWriteFirstArgument) {
  const std::pair<uint32_t, bool> operators[] = {
      {0, false}, {kInPlace, true}, {kOut, true}, {kAnd, false}};
  for (const auto& [op, writes] : operators) {
    // A constant must not be written,
    Builder constant;
    constant.Call({constant.Constant()}, {}, op);
    EXPECT_EQ(constant.Check().find("M4: instruction 0 writes to the constant value 0") !=
                  std::string::npos,
              writes)
        << constant.Check();
    // and a tensor must not be written after its reads.
    Builder order;
    const uint32_t x = order.Tensor(16, 0), y = order.Tensor(16, 64);
    order.Call({}, {x});      // 0
    order.Call({x}, {}, op);  // 1
    order.Call({x}, {y});     // 2
    EXPECT_EQ(order.Check(), "");
    const std::string moved = order.CheckInOrder({0, 2, 1});
    EXPECT_EQ(moved.find("O1: instruction 2 runs before 1 and reads value 0, which that writes") !=
                  std::string::npos,
              writes)
        << moved;
  }
}

// The condition of a jump may be a tensor of one bool.
TEST(MemoryCheckerTest, JumpsReadTheirConditions) {
  const auto condition_in_arena = [](Builder& b, uint64_t offset) {
    const uint32_t condition = b.Tensor(1, offset);
    b.method.mutable_values(static_cast<int>(condition))
        ->mutable_tensor()
        ->set_dtype(static_cast<uint32_t>(DType::kBool));
    return condition;
  };
  Builder unwritten;
  unwritten.JumpIfFalse(condition_in_arena(unwritten, 0), 1);
  EXPECT_NE(unwritten.Check().find("M4: value 0 [0, 1) is read by instruction 0"),
            std::string::npos)
      << unwritten.Check();
  Builder overwritten;
  const uint32_t condition = condition_in_arena(overwritten, 0), x = overwritten.Tensor(16, 0);
  overwritten.Call({}, {condition});      // 0
  overwritten.Call({}, {x});              // 1
  overwritten.JumpIfFalse(condition, 3);  // 2
  EXPECT_NE(overwritten.Check().find("M1: instruction 1 writes value 1 [0, 64) over value 0"),
            std::string::npos)
      << overwritten.Check();
}

TEST(MemoryCheckerTest, O1RejectsWriteBeforeRead) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 64), z = b.Tensor(16, 128);
  b.Call({}, {x});   // 0
  b.Call({x}, {y});  // 1
  b.Call({x}, {z});  // 2
  b.Call({}, {x});   // 3: a new value
  for (const uint32_t v : {x, y, z}) b.Output(v);
  EXPECT_EQ(b.CheckInOrder({0, 1, 2, 3}), "");
  EXPECT_EQ(b.CheckInOrder({0, 2, 1, 3}), "");  // both read the first
  const std::pair<std::vector<uint32_t>, std::string> wrong[] = {
      {{0, 1, 3, 2}, "O1: instruction 3 runs before 2 and writes value 0, which that reads"},
      {{0, 2, 3, 1}, "O1: instruction 3 runs before 1 and writes value 0, which that reads"},
  };
  for (const auto& [order, problem] : wrong) {
    EXPECT_NE(b.CheckInOrder(order).find(problem), std::string::npos) << b.CheckInOrder(order);
  }
}

TEST(MemoryCheckerTest, M5RejectsOutputOverInput) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 0);
  b.Call({}, {x});
  b.Call({x}, {y});
  b.Output(y);
  EXPECT_NE(b.Check().find("M5: instruction 1 writes value 1 [0, 64) over its argument value 0 [0, "
                           "64): it does not work in place"),
            std::string::npos)
      << b.Check();
}

TEST(MemoryCheckerTest, M5AcceptsElementwiseOutputOverDyingInput) {
  for (const auto& [elements, offset, want] :
       std::vector<std::tuple<int64_t, uint64_t, std::string>>{
           {16, 0, ""}, {32, 0, "its sizes or orders differ"}, {64, 64, "it starts elsewhere"}}) {
    Builder b;
    const uint32_t x = b.Tensor(elements, 0), y = b.Tensor(offset == 0 ? 16 : elements, offset);
    b.Call({}, {x});
    b.Call({x}, {y});
    b.method.mutable_instructions(1)->mutable_kernel()->set_operator_(1);
    b.Output(y);
    EXPECT_EQ(b.Check().find(want) != std::string::npos, true) << b.Check();
    EXPECT_EQ(b.Check().empty(), want.empty()) << b.Check();
    // The input has a later use.
    b.Call({x}, {b.Tensor(16, 4096)});
    EXPECT_NE(b.Check(), "");
  }
}

TEST(MemoryCheckerTest, M5ComparesSymbolicSizes) {
  for (const uint32_t shape : {1u, 2u}) {
    Builder b;
    const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 0);
    for (const uint32_t v : {x, y}) {
      b.method.mutable_values(static_cast<int>(v))->mutable_tensor()->set_dynamic_dims(1);
    }
    b.Call({}, {x});
    b.Call({x}, {y}, /*op=*/1);
    b.Output(y);
    b.method.set_arena_bytes(64);
    const std::vector<uint32_t> order = {0, 1};
    const std::vector<bool> none(2);
    const absl::Status status = CheckMemoryPlan(
        b.method, {.written = b.method, .order = order, .elided = none, .has_effects = none},
        {1, shape});
    EXPECT_EQ(status.ok(), shape == 1) << status;
    if (shape == 2) {
      EXPECT_NE(status.message().find("its symbolic sizes differ"), absl::string_view::npos);
    }
  }
}

// An original method and its plan; both are equal until a test changes one.
struct Planned {
  explicit Planned(const Builder& b)
      : written(b.method),
        now(b.method),
        order(b.method.instructions_size()),
        elided(order.size()),
        has_effects(order.size()) {
    std::iota(order.begin(), order.end(), 0);
    now.set_arena_bytes(1 << 20);
  }
  // Sets the instructions of `now` to those of `order` that are not elided.
  void Apply() {
    now.clear_instructions();
    for (const uint32_t i : order) {
      if (!elided[i]) *now.add_instructions() = written.instructions(static_cast<int>(i));
    }
  }
  std::string Check() const {
    return std::string(
        CheckMemoryPlan(
            now, {.written = written, .order = order, .elided = elided, .has_effects = has_effects},
            {})
            .message());
  }
  schema::Method written, now;
  std::vector<uint32_t> order;
  std::vector<bool> elided, has_effects;
};

TEST(MemoryCheckerTest, O1RejectsMismatchedParts) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0);
  b.Call({}, {x});
  b.Call({x}, {b.Tensor(16, 64)});
  const std::string count = "O1: the number of instructions or values differs from the original";
  const std::pair<std::function<void(Planned&)>, std::string> wrong[] = {
      {[](Planned& p) { p.order.push_back(0); }, count},
      {[](Planned& p) { p.elided.push_back(false); }, count},
      {[](Planned& p) { p.has_effects.pop_back(); }, count},
      {[](Planned& p) { p.now.add_values(); }, count},
      {[](Planned& p) { p.order = {1, 1}; }, "O1: instruction 1 runs twice or does not exist"},
      {[](Planned& p) { p.order = {0, 2}; }, "O1: instruction 2 runs twice or does not exist"},
  };
  EXPECT_EQ(Planned(b).Check(), "");
  for (const auto& [change, problem] : wrong) {
    Planned planned(b);
    change(planned);
    EXPECT_EQ(planned.Check(), "the memory plan is wrong:\n  " + problem);
  }
}

TEST(MemoryCheckerTest, O1RejectsJumpsBeyondEnd) {
  for (const bool conditional : {false, true}) {
    for (const uint32_t target : {1u, 2u}) {
      Builder b;
      if (conditional) {
        b.JumpIfFalse(b.Slot(), target);
      } else {
        b.Jump(target);
      }
      EXPECT_EQ(b.Check(), target == 1 ? "" : "the memory plan is wrong:\n  O1: a jump leads to 2");
    }
  }
}

TEST(MemoryCheckerTest, O1KeepsInstructionsInTheirBlocks) {
  Builder b;
  const uint32_t condition = b.Slot();
  for (int i = 0; i < 4; ++i) b.Tensor(16, 64 * i);
  b.Call({}, {1});              // 0
  b.JumpIfFalse(condition, 3);  // 1
  b.Call({}, {2});              // 2
  b.Call({}, {3});              // 3
  b.Call({}, {4});              // 4
  EXPECT_EQ(b.CheckInOrder({0, 1, 2, 4, 3}), "");
  EXPECT_EQ(b.CheckInOrder({2, 1, 0, 3, 4}),
            "the memory plan is wrong:\n  O1: instruction 2 runs at 0, beyond a jump or the target "
            "of one\n  O1: instruction 0 runs at 2, beyond a jump or the target of one");
  EXPECT_EQ(b.CheckInOrder({0, 1, 3, 2, 4}),
            "the memory plan is wrong:\n  O1: instruction 3 runs at 2, beyond a jump or the target "
            "of one\n  O1: instruction 2 runs at 3, beyond a jump or the target of one");
  EXPECT_NE(b.CheckInOrder({1, 0, 2, 3, 4}).find("O1: the jump 1 runs at 0"), std::string::npos);
  Builder loop;
  loop.Call({}, {loop.Tensor(16, 0)});   // 0
  loop.Call({}, {loop.Tensor(16, 64)});  // 1
  loop.Jump(1);                          // 2
  EXPECT_EQ(loop.CheckInOrder({0, 1, 2}), "");
  EXPECT_NE(loop.CheckInOrder({1, 0, 2}).find("O1: instruction 1 runs at 0, beyond"),
            std::string::npos);
  EXPECT_NE(loop.CheckInOrder({0, 2, 1}).find("O1: the jump 2 runs at 1"), std::string::npos);
}

TEST(MemoryCheckerTest, O1KeepsOrderOfReadsAndWrites) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 64), z = b.Tensor(16, 128), s = b.Slot(),
                 t = b.Slot();
  b.Call({}, {x});                                           // 0
  b.Call({}, {x});                                           // 1
  b.Call({x}, {y});                                          // 2
  b.Call({b.List({y})}, {z});                                // 3
  b.Call({}, {s});                                           // 4
  b.method.add_instructions()->mutable_move()->set_from(s);  // 5
  b.method.mutable_instructions(5)->mutable_move()->set_to(t);
  EXPECT_EQ(b.CheckInOrder({4, 0, 5, 1, 2, 3}), "");
  const std::pair<std::vector<uint32_t>, std::string> wrong[] = {
      {{1, 0, 2, 3, 4, 5}, "O1: instruction 1 runs before 0 and writes value 0 as well"},
      {{0, 2, 1, 3, 4, 5}, "O1: instruction 2 runs before 1 and reads value 0, which that writes"},
      {{0, 1, 3, 2, 4, 5}, "O1: instruction 3 runs before 2 and reads value 1, which that writes"},
      {{0, 1, 2, 3, 5, 4}, "O1: instruction 5 runs before 4 and reads value 3, which that writes"},
  };
  for (const auto& [order, problem] : wrong) {
    EXPECT_NE(b.CheckInOrder(order).find(problem), std::string::npos) << b.CheckInOrder(order);
  }
}

TEST(MemoryCheckerTest, O1KeepsOrderOfEffects) {
  // All pairs of effects: by the operator, without results, a delegate.
  for (int first = 0; first < 3; ++first) {
    for (int second = 0; second < 3; ++second) {
      Builder b;
      for (const int kind : {first, second}) {
        const uint32_t v = b.Tensor(16, 64 * static_cast<uint64_t>(b.method.values_size()));
        if (kind == 2) {
          b.method.add_instructions()->mutable_delegate()->add_outputs(v);
        } else if (kind == 1) {
          b.Call({}, {});
        } else {
          b.Call({}, {v});
        }
      }
      Planned planned(b);
      planned.has_effects = {first == 0, second == 0};
      EXPECT_EQ(planned.Check(), "");
      planned.order = {1, 0};
      planned.Apply();
      EXPECT_EQ(
          planned.Check(),
          "the memory plan is wrong:\n  O1: instruction 1 runs before 0 and both have effects");
      planned.has_effects = {false, false};
      EXPECT_EQ(planned.Check().empty(), first == 0 || second == 0);
    }
  }
}

TEST(MemoryCheckerTest, DelegatesReadAndWriteOperands) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 64), z = b.Tensor(16, 0);
  b.Call({}, {x});
  schema::DelegateCall* call = b.method.add_instructions()->mutable_delegate();
  call->add_arguments(x);
  call->add_outputs(y);
  b.Output(y);
  EXPECT_EQ(b.Check(), "");
  call->set_arguments(0, z);
  EXPECT_NE(b.Check().find("M4: value 2 [0, 64) is read by instruction 1"), std::string::npos);
  call->set_arguments(0, x);
  call->set_outputs(0, z);
  // An in-place operator would be wrong as well.
  EXPECT_NE(b.Check().find("M5: instruction 1 writes value 2 [0, 64) over its argument value 0 [0, "
                           "64): it does not work in place"),
            std::string::npos)
      << b.Check();
  EXPECT_NE(b.Check().find("M4: value 1 [64, 128) is read by instruction 2"), std::string::npos);
}

TEST(MemoryCheckerTest, O2ComparesOriginalAndRearrangedMethod) {
  Builder b;
  const uint32_t condition = b.Slot(), x = b.Tensor(16, 0), y = b.Tensor(16, 0),
                 z = b.Tensor(16, 64);
  b.Call({}, {x});              // 0
  b.Call({x}, {y}, 2);          // 1: an alias
  b.JumpIfFalse(condition, 4);  // 2
  b.Jump(4);                    // 3
  b.Call({y}, {z});             // 4
  b.Output(z);
  const auto planned = [&] {
    Planned p(b);
    p.elided[1] = true;
    p.Apply();
    p.now.mutable_instructions(1)->mutable_jump_if_false()->set_target(3);
    p.now.mutable_instructions(2)->mutable_jump()->set_target(3);
    return p;
  };
  EXPECT_EQ(planned().Check(), "");
  const auto renumbered = [](Planned& p) {  // operator indices may differ
    p.now.mutable_operators()->SwapElements(0, 1);
    for (const int i : {0, 3}) p.now.mutable_instructions(i)->mutable_kernel()->set_operator_(1);
  };
  const std::string parts = "O2: inputs, outputs, state or delegates changed";
  const std::pair<std::function<void(Planned&)>, std::string> changes[] = {
      {renumbered, ""},
      {[](Planned& p) { p.now.mutable_operators()->SwapElements(0, 1); },
       "O2: instruction 0 is not the one written as 0\n  O2: instruction 3 is not the one written "
       "as 4"},
      {[](Planned& p) { p.now.add_outputs(1); }, parts},
      {[](Planned& p) { p.now.add_inputs()->set_value(1); }, parts},
      {[](Planned& p) { p.now.set_state_bytes(64); }, parts},
      {[](Planned& p) { p.now.mutable_instructions()->RemoveLast(); },
       "O2: 4 instructions should be left, there are 3"},
      {[](Planned& p) { *p.now.add_instructions() = p.now.instructions(0); },
       "O2: 4 instructions should be left, there are 5"},
      {[](Planned& p) { p.now.mutable_instructions(1)->mutable_jump_if_false()->set_target(4); },
       "O2: instruction 1 is not the one written as 2"},
      {[](Planned& p) { p.now.mutable_instructions(2)->mutable_jump()->set_target(1); },
       "O2: instruction 2 is not the one written as 3"},
      {[](Planned& p) { p.now.mutable_instructions(3)->mutable_kernel()->set_arguments(0, 1); },
       "O2: instruction 3 is not the one written as 4"},
      {[](Planned& p) { p.now.mutable_values(3)->mutable_tensor()->set_sizes(0, 8); },
       "O2: value 3 changed"},
      {[](Planned& p) { p.now.mutable_values(3)->mutable_tensor()->set_state_offset(0); },
       "O2: value 3 changed"},
      {[](Planned& p) {
         p.now.mutable_values(0)->mutable_scalar()->set_kind(schema::ScalarSlot::DOUBLE);
       },
       "O2: value 0 changed"},
  };
  for (const auto& [change, problem] : changes) {
    Planned p = planned();
    change(p);
    const std::string got = p.Check();
    if (problem.empty()) {
      EXPECT_EQ(got, "");
    } else {
      EXPECT_EQ(got.find("the memory plan is wrong:\n  " + problem), 0u)
          << got << "\nwant " << problem;
    }
  }
}

TEST(MemoryCheckerTest, V1ProvesElidedInstructions) {
  Builder b;
  const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 0), z = b.Tensor(16, 64);
  b.Call({}, {x});
  b.Call({x}, {y}, 2);
  b.Call({y}, {z});
  b.Output(z);
  Planned p(b);
  p.elided[1] = true;
  p.Apply();
  EXPECT_EQ(p.Check(), "");
  p.now.mutable_values(y)->mutable_tensor()->set_arena_offset(128);
  EXPECT_NE(p.Check().find("V1: instruction 1 cannot be elided: element 0 would have to move"),
            std::string::npos);
  p.now.mutable_values(y)->mutable_tensor()->set_arena_offset(0);
  p.elided = {true, true, false};
  p.Apply();
  EXPECT_NE(p.Check().find("V1: instruction 0 cannot be elided: it is not a view"),
            std::string::npos);
  Builder move;
  move.method.add_instructions()->mutable_move()->set_from(move.Slot());
  move.method.mutable_instructions(0)->mutable_move()->set_to(move.Slot());
  Planned moved(move);
  moved.elided[0] = true;
  moved.Apply();
  EXPECT_EQ(
      moved.Check(),
      "the memory plan is wrong:\n  V1: instruction 0 cannot be elided: it is not an operator");
}

TEST(MemoryCheckerTest, V1AcceptsConstantsOnlyForElidedCopies) {
  Builder b;
  const uint32_t c = b.Constant(), y = b.Tensor(16, 0), z = b.Tensor(16, 64);
  b.Call({c}, {y}, 2);
  b.Call({y}, {z});
  b.Output(z);
  Planned p(b);
  p.now.mutable_values(y)->mutable_tensor()->set_constant(0);
  EXPECT_EQ(p.Check(),
            "the memory plan is wrong:\n  M4: instruction 0 writes to the constant value 1\n  V1: "
            "value 1 became a constant");
  p.elided[0] = true;
  p.Apply();
  EXPECT_EQ(p.Check(), "");
  p.now.mutable_values(y)->mutable_tensor()->set_constant(1);  // another constant
  EXPECT_NE(p.Check().find("V1: instruction 0 cannot be elided: its argument and its result are "
                           "in different memory"),
            std::string::npos);
}

TEST(MemoryCheckerTest, M2RejectsStateOutsideMemoryOrMisaligned) {
  const auto check = [](uint64_t offset, uint64_t bytes) {
    Builder b;
    b.method.mutable_values(static_cast<int>(b.Tensor(16)))
        ->mutable_tensor()
        ->set_state_offset(offset);
    schema::StateBuffer* state = b.method.add_state();
    state->set_value(0);
    state->set_name("s");
    b.method.set_state_bytes(bytes);
    return b.Check();
  };
  EXPECT_EQ(check(64, 128), "");
  EXPECT_EQ(check(64, 127),
            "the memory plan is wrong:\n  M2: state 's' [64, 128) does not fit in 127 bytes");
  EXPECT_EQ(check(32, 128),
            "the memory plan is wrong:\n  M2: state 's' [32, 96) does not fit in 128 bytes");
}

TEST(MemoryCheckerTest, M5RejectsOverlappingOutputs) {
  for (const uint64_t offset : {0, 64}) {
    Builder b;
    const uint32_t x = b.Tensor(16, offset), y = b.Tensor(16, 0);
    b.Call({}, {y, x});
    const std::string problem = b.Check();
    EXPECT_EQ(problem.find("M5: value 1 [0, 64) and value 0 [0, 64) are both written by "
                           "instruction 0") != std::string::npos ||
                  problem.find("M5: value 0 [0, 64) and value 1 [0, 64) are both written by "
                               "instruction 0") != std::string::npos,
              offset == 0)
        << problem;
    EXPECT_EQ(problem.empty(), offset == 64);
  }
  // The same value twice, also through a list, counts once.
  Builder twice;
  const uint32_t x = twice.Tensor(16, 0);
  twice.Call({}, {x, twice.List({x})});
  EXPECT_EQ(twice.Check(), "");
}

TEST(MemoryCheckerTest, M5ComparesDTypesOrdersAndDynamicSizes) {
  const std::pair<std::function<void(schema::Tensor&)>, std::string> changes[] = {
      {[](schema::Tensor&) {}, ""},
      {[](schema::Tensor& t) { t.set_dtype(static_cast<uint32_t>(DType::kInt32)); },
       "its dtypes differ"},
      {[](schema::Tensor& t) {
         t.add_sizes(1);
         t.set_dim_order(std::string("\0\1", 2));
       },
       "its sizes or orders differ"},
      {[](schema::Tensor& t) { t.set_dynamic_dims(1); }, "its sizes or orders differ"},
  };
  for (const auto& [change, want] : changes) {
    Builder b;
    const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, 0);
    change(*b.method.mutable_values(static_cast<int>(y))->mutable_tensor());
    b.Call({}, {x});
    b.Call({x}, {y}, /*op=*/1);
    b.Output(y);
    EXPECT_EQ(b.Check(), want.empty() ? ""
                                      : "the memory plan is wrong:\n  M5: instruction 1 writes "
                                        "value 1 [0, 64) over its argument value 0 [0, 64): " +
                                            want);
  }
  // Dynamic sizes are equal only if they are known to be equal.
  Builder dynamic;
  const uint32_t x = dynamic.Tensor(16, 0), y = dynamic.Tensor(16, 0);
  for (const uint32_t v : {x, y}) {
    dynamic.method.mutable_values(static_cast<int>(v))->mutable_tensor()->set_dynamic_dims(1);
  }
  dynamic.Call({}, {x});
  dynamic.Call({x}, {y}, /*op=*/1);
  dynamic.Output(y);
  EXPECT_NE(dynamic.Check().find("its symbolic sizes differ"), std::string::npos);
}

// A kept view forwards its bytes, so its argument may stay alive.
TEST(MemoryCheckerTest, M5AcceptsKeptViewOverArgument) {
  for (const bool same : {true, false}) {
    Builder b;
    const uint32_t x = b.Tensor(16, 0), y = b.Tensor(16, same ? 0 : 64), z = b.Tensor(16, 128);
    if (!same) {
      b.method.mutable_values(static_cast<int>(x))->mutable_tensor()->set_sizes(0, 32);
    }
    b.Call({}, {x});
    b.Call({x}, {y}, 2);
    b.Call({x, y}, {z});
    b.Output(z);
    const std::string problem = b.Check();
    EXPECT_EQ(problem.empty(), same) << problem;
    if (!same) {
      EXPECT_NE(problem.find("M5: instruction 1 writes value 1 [64, 128) over its argument value 0 "
                             "[0, 128): it starts elsewhere"),
                std::string::npos)
          << problem;
      EXPECT_NE(problem.find("M1: instruction 1 writes value 1 [64, 128) over value 0 [0, 128)"),
                std::string::npos)
          << problem;
    }
  }
}

TEST(MemoryCheckerTest, ReportsTwentyProblems) {
  Builder b;
  for (int i = 0; i < 30; ++i) b.Call({}, {b.Constant()});
  const std::string problems = b.Check();
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 20);
}

// Structured random methods: sequences, branches and loops over previously written tensors.
class RandomMethod {
 public:
  explicit RandomMethod(uint32_t seed) : random_(seed) {
    tensors_.push_back(NewTensor());
    b.Call({}, {tensors_[0]});
    Block(3);
    for (int i = 0; i < 2; ++i) b.Output(tensors_[random_() % tensors_.size()]);
  }
  Builder b;

 private:
  uint32_t NewTensor() { return b.Tensor(1 + random_() % 200); }
  void Block(int depth) {
    for (int n = 1 + random_() % 6; n > 0; --n) {
      const int kind = depth == 0 ? random_() % 2 : random_() % 5;
      if (kind == 3) {  // branch: inner writes are not visible outside
        const uint32_t at = b.method.instructions_size();
        b.JumpIfFalse(b.Slot(), 0);
        const size_t before = tensors_.size();
        Block(depth - 1);
        tensors_.resize(before);
        b.method.mutable_instructions(at)->mutable_jump_if_false()->set_target(
            b.method.instructions_size());
      } else if (kind == 4) {  // loop with a carried tensor
        const uint32_t carried = NewTensor();
        b.Call({Any()}, {carried});
        tensors_.push_back(carried);
        const uint32_t start = b.method.instructions_size();
        b.JumpIfFalse(b.Slot(), 0);
        const size_t before = tensors_.size();
        Block(depth - 1);
        b.Call({Any()}, {carried});
        tensors_.resize(before);
        b.Jump(start);
        b.method.mutable_instructions(start)->mutable_jump_if_false()->set_target(
            b.method.instructions_size());
      } else if (kind == 1) {  // elementwise, or a view
        const uint32_t in = Any();
        const uint32_t out = b.Tensor(b.method.values(static_cast<int>(in)).tensor().sizes(0));
        b.Call({in}, {out}, 1 + random_() % 2);
        tensors_.push_back(out);
      } else {
        const uint32_t out = NewTensor();
        b.Call({Any(), Any()}, {out});
        tensors_.push_back(out);
      }
    }
  }
  uint32_t Any() { return tensors_[random_() % tensors_.size()]; }
  std::mt19937 random_;
  std::vector<uint32_t> tensors_;
};

TEST(MemoryCheckerTest, AcceptsPlansOfRandomMethods) {
  const uint32_t seed = static_cast<uint32_t>(TestSeed());
  for (uint32_t i = 0; i < 3000; ++i) {
    RandomMethod method(seed + i);
    ASSERT_EQ(method.b.Arrange(), "") << "seed " << seed + i;
  }
}

TEST(MemoryCheckerTest, DetectsSeededPlannerFaults) {
  const uint32_t seed = static_cast<uint32_t>(TestSeed());
  std::mt19937 random(seed);
  int faults = 0;
  for (uint32_t i = 0; i < 300; ++i) {
    RandomMethod method(seed + i);
    ASSERT_EQ(method.b.Arrange(), "");
    // Move one result onto another tensor that its producer reads: always wrong.
    schema::Method& m = method.b.method;
    for (const schema::Instruction& instruction : m.instructions()) {
      if (!instruction.has_kernel() || instruction.kernel().arguments_size() == 0) continue;
      if (m.operators(static_cast<int>(instruction.kernel().operator_())) != "test.any.default") {
        continue;
      }
      const uint32_t in = instruction.kernel().arguments(0), out = instruction.kernel().outputs(0);
      if (in == out) continue;
      m.mutable_values(out)->mutable_tensor()->set_arena_offset(
          m.values(in).tensor().arena_offset());
      m.set_arena_bytes(1 << 20);
      EXPECT_NE(CheckMemoryPlan(m).message(), "") << "seed " << seed + i;
      ++faults;
      break;
    }
  }
  EXPECT_GT(faults, 250);
}

}  // namespace
}  // namespace belay::exir
