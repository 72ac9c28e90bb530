// Memory banks from the options to the emitted method.
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/emit/emitter.h"
#include "exir/emit/memory_bank.h"
#include "exir/emit/memory_checker.h"
#include "exir/emit/memory_planner.h"
#include "exir/emit/method_memory.h"
#include "exir/emit/testing/text_method.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kUnlimited = MemoryBank::kUnlimited;

// --- Options ---

struct BankCase {
  std::vector<MemoryBank> banks;
  const char* message;  // "": valid
};

TEST(CheckBanksTest, ReportsEachRule) {
  const BankCase cases[] = {
      {{}, ""},
      {{{"a"}}, ""},
      {{{"a", 1}, {"b", 4096, 4096}, {"c"}}, ""},
      {std::vector<MemoryBank>(17, {"a", 64}), "expected at most 16 memory banks, got 17"},
      {{{""}}, "memory bank '': expected a name in UTF-8"},
      {{{"\xff"}}, "memory bank '\\xff': expected a name in UTF-8"},
      {{{"a", 64}, {"a", 64}}, "memory bank 'a': the name of an earlier bank"},
      {{{"a", 0}}, "memory bank 'a': expected a size above 0"},
      {{{"a"}, {"b"}}, "memory bank 'a': only the last bank may be unlimited"},
      {{{"a", 64, 96}},
       "memory bank 'a': expected an alignment that is a power of two from 64 to 1073741824, got "
       "96"},
      {{{"a", 64, 32}}, "got 32"},
      {{{"a", 64, uint64_t{1} << 31}}, "got 2147483648"},
  };
  for (const BankCase& c : cases) {
    SCOPED_TRACE(c.message);
    const absl::Status status = CheckBanks(c.banks);
    if (*c.message == '\0') {
      EXPECT_OK(status);
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
    }
  }
}

// --- Planner ---

void ExpectValid(const std::vector<Lifetime>& lifetimes, const std::vector<MemoryBank>& banks,
                 const BankedPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  ASSERT_EQ(plan.bytes.size(), banks.size());
  std::vector<uint64_t> moved(banks.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const uint32_t bank = plan.banks[i];
    ASSERT_LT(bank, banks.size());
    moved[bank] += lifetimes[i].moved;
    EXPECT_EQ(plan.offsets[i] % banks[bank].alignment, 0u);
    EXPECT_LE(plan.offsets[i] + lifetimes[i].bytes, plan.bytes[bank]);
    for (size_t k = 0; k < i; ++k) {
      const bool together =
          lifetimes[i].first <= lifetimes[k].last && lifetimes[k].first <= lifetimes[i].last;
      const bool apart = plan.banks[k] != bank ||
                         plan.offsets[i] + lifetimes[i].bytes <= plan.offsets[k] ||
                         plan.offsets[k] + lifetimes[k].bytes <= plan.offsets[i];
      EXPECT_TRUE(!together || apart) << "tensors " << i << " and " << k;
    }
  }
  EXPECT_EQ(plan.moved, moved);
  for (size_t b = 0; b + 1 < banks.size(); ++b) EXPECT_LE(plan.bytes[b], banks[b].bytes);
}

TEST(PlanBanksTest, OneUnlimitedBankHasTheSmallestPlan) {
  const std::vector<Lifetime> lifetimes = {{1024, 0, 9}, {256, 0, 3}, {512, 0, 9}, {256, 4, 9}};
  const BankedPlan plan = PlanBanks(lifetimes, std::vector<MemoryBank>{{"dram"}});
  ExpectValid(lifetimes, {{"dram"}}, plan);
  EXPECT_EQ(plan.bytes[0], PlanMemory(lifetimes).arena_bytes);
}

TEST(PlanBanksTest, FastBankHasTensorsOfManyUses) {
  // Equal sizes and lifetimes; the second one is used most.
  const std::vector<Lifetime> lifetimes = {{64, 0, 9, 128}, {64, 0, 9, 640}, {64, 0, 9, 192}};
  const std::vector<MemoryBank> banks = {{"fast", 64}, {"slow"}};
  const BankedPlan plan = PlanBanks(lifetimes, banks);
  ExpectValid(lifetimes, banks, plan);
  EXPECT_THAT(plan.banks, ElementsAre(1, 0, 1));
  EXPECT_THAT(plan.bytes, ElementsAre(64, 128));
  EXPECT_THAT(plan.moved, ElementsAre(640, 320));
}

// In the order of density, the first tensor would exclude the second one from the fast bank.
TEST(PlanBanksTest, ChoosesTheOrderWithFewestBytesMovedInSlowBanks) {
  const std::vector<Lifetime> lifetimes = {{64, 0, 1, 128}, {128, 0, 9, 1024}};
  const std::vector<MemoryBank> banks = {{"fast", 128}, {"slow"}};
  const BankedPlan plan = PlanBanks(lifetimes, banks);
  ExpectValid(lifetimes, banks, plan);
  EXPECT_THAT(plan.banks, ElementsAre(1, 0));
  EXPECT_EQ(plan.order, "by_moved");
}

TEST(PlanBanksTest, OrdersByName) {
  const std::vector<Lifetime> lifetimes = {{64, 0, 1, 128}, {128, 0, 9, 1024}};
  const std::vector<MemoryBank> banks = {{"fast", 128}, {"slow"}};
  for (const std::string_view order : {"by_density", "by_moved", "by_size", "by_start"}) {
    SCOPED_TRACE(order);
    ASSERT_OK_AND_ASSIGN(const BankedPlan plan, PlanBanksBy(order, lifetimes, banks));
    EXPECT_EQ(plan.order, order);
    ExpectValid(lifetimes, banks, plan);
  }
  ASSERT_OK_AND_ASSIGN(const BankedPlan plan, PlanBanksBy("by_density", lifetimes, banks));
  EXPECT_THAT(plan.banks, ElementsAre(0, 1));
  for (const std::string_view unknown : {"", "bump"}) {
    EXPECT_THAT(PlanBanksBy(unknown, lifetimes, banks),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("unknown order of memory banks '", unknown,
                                      "'; known: by_density, by_moved, by_size, by_start")));
  }
}

TEST(PlanBanksTest, SpillsThroughBanksInOrder) {
  const std::vector<Lifetime> lifetimes = {{64, 0, 9, 640}, {128, 0, 9, 512}, {256, 0, 9, 512}};
  const std::vector<MemoryBank> banks = {{"a", 64}, {"b", 128}, {"c", 256}};
  const BankedPlan plan = PlanBanks(lifetimes, banks);
  ExpectValid(lifetimes, banks, plan);
  EXPECT_THAT(plan.banks, ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.bytes, ElementsAre(64, 128, 256));
}

TEST(PlanBanksTest, BanksMayStayEmpty) {
  const std::vector<Lifetime> lifetimes = {{128, 0, 9, 256}};
  const std::vector<MemoryBank> banks = {{"tiny", 64}, {"slow"}};
  const BankedPlan plan = PlanBanks(lifetimes, banks);
  ExpectValid(lifetimes, banks, plan);
  EXPECT_THAT(plan.bytes, ElementsAre(0, 128));
}

TEST(PlanBanksTest, OffsetsHaveTheAlignmentOfTheBank) {
  const std::vector<Lifetime> lifetimes = {{100, 0, 9, 200}, {100, 0, 9, 100}, {100, 0, 9, 50}};
  const std::vector<MemoryBank> banks = {{"fast", 256, 128}, {"slow", kUnlimited, 4096}};
  const BankedPlan plan = PlanBanks(lifetimes, banks);
  ExpectValid(lifetimes, banks, plan);
  EXPECT_THAT(plan.banks, ElementsAre(0, 0, 1));
  EXPECT_THAT(plan.bytes, ElementsAre(256, 4096));
}

TEST(PlanBanksTest, LastBankExceedsItsCapacityIfNothingFits) {
  const std::vector<Lifetime> lifetimes = {{64, 0, 9, 64}, {128, 0, 9, 128}};
  const std::vector<MemoryBank> banks = {{"fast", 64}, {"slow", 64}};
  EXPECT_GT(PlanBanks(lifetimes, banks).bytes[1], 64u);
}

TEST(PlanBanksTest, RandomPlansAreValid) {
  std::mt19937 random(1);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes(1 + below(40));
    for (Lifetime& l : lifetimes) {
      l.bytes = below(1000);
      l.first = below(50);
      l.last = l.first + below(10);
      l.moved = l.bytes * below(5);
    }
    const std::vector<MemoryBank> banks = {
        {"a", 64 * (1 + below(16)), uint64_t{64} << below(2)}, {"b", 64 * (1 + below(32))}, {"c"}};
    const BankedPlan plan = PlanBanks(lifetimes, banks);
    ExpectValid(lifetimes, banks, plan);
    EXPECT_EQ(PlanBanks(lifetimes, banks).offsets, plan.offsets);
  }
}

TEST(PlanBanksTest, ManyTensorsUseOneOrder) {
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < 5000; ++i) lifetimes.push_back({64 + i % 7 * 64, i, i + 3, 64});
  const std::vector<MemoryBank> banks = {{"fast", 512}, {"slow"}};
  const BankedPlan plan = PlanBanks(lifetimes, banks);
  ExpectValid(lifetimes, banks, plan);
  EXPECT_EQ(plan.order, "by_start");
  EXPECT_GT(plan.moved[0], 0u);
  EXPECT_GT(plan.moved[1], 0u);
}

// --- Methods, text in and text out ---

// Lines "a: fast+64" of the arena tensors with a name, and "fast: 128" of the banks.
std::vector<std::string> Places(const TextMethod& text) {
  const schema::Method& method = text.written.method;
  std::vector<std::string> lines;
  for (const auto& [name, v] : text.values) {
    const schema::Tensor& tensor = method.values(static_cast<int>(v)).tensor();
    if (tensor.location_case() != schema::Tensor::kArenaOffset) continue;
    uint64_t offset = tensor.arena_offset();
    int bank = 0;
    while (offset >= method.banks(bank).bytes() && bank + 1 < method.banks_size()) {
      offset -= method.banks(bank++).bytes();
    }
    lines.push_back(absl::StrCat(name, ": ", method.banks(bank).name(), "+", offset));
  }
  for (const schema::MemoryBank& bank : method.banks()) {
    lines.push_back(absl::StrCat(bank.name(), ": ", bank.bytes(), " of ", method.arena_bytes()));
  }
  return lines;
}

// %b and %c are smaller and used more often than %a.
constexpr std::string_view kChain = R"(
input %x: f32[64]
%a: f32[64] = test.make.default(%x)
%b: f32[16] = test.make.default(%a)
%c: f32[16] = test.use.default(%b, %b)
%d: f32[16] = test.use.default(%b, %c)
%y: f32[64] = test.use.default(%a, %d)
return %y
)";

TEST(MethodBanksTest, HotValuesAreInTheFastBank) {
  TextMethod text(kChain);
  ASSERT_OK_AND_ASSIGN(const MethodMemory memory,
                       ArrangeMemory(text.written, {.banks = {{"fast", 192}, {"slow"}}}));
  EXPECT_THAT(Places(text), ElementsAre("a: slow+0", "b: fast+0", "c: fast+64", "d: fast+128",
                                        "y: slow+256", "fast: 192 of 704", "slow: 512 of 704"));
  ASSERT_EQ(memory.banks.size(), 2u);
  EXPECT_EQ(memory.banks[0].bank, (MemoryBank{"fast", 192}));
  EXPECT_EQ(memory.banks[0].bytes, 192u);
  EXPECT_EQ(memory.banks[0].moved, 64u * (4 + 2 + 2));  // b, c, d
  EXPECT_EQ(memory.banks[1].bytes, 512u);
  EXPECT_EQ(memory.banks[1].moved, 256u * (3 + 1));  // a, y
  EXPECT_EQ(memory.arena_bytes, 704u);
}

TEST(MethodBanksTest, LargeFastBankHasAllValues) {
  TextMethod text(kChain);
  ASSERT_OK_AND_ASSIGN(const MethodMemory memory,
                       ArrangeMemory(text.written, {.banks = {{"fast", 4096}, {"slow", 64}}}));
  EXPECT_EQ(memory.banks[1].bytes, 0u);
  TextMethod plain(kChain);
  ASSERT_OK_AND_ASSIGN(const MethodMemory without, ArrangeMemory(plain.written, {}));
  EXPECT_EQ(memory.arena_bytes, without.arena_bytes);
  EXPECT_EQ(plain.written.method.banks_size(), 0);
  EXPECT_THAT(without.banks, IsEmpty());
}

// %s shares memory with %x only where its offset has the alignment of all banks.
TEST(MethodBanksTest, ViewsHaveTheAlignmentOfTheirBank) {
  constexpr std::string_view kViews = R"(
input %i: f32[64]
%x: f32[2,16] = test.make.default(%i)
%s: f32[1,16] = aten.slice_copy.Tensor(%x, 0, 1, 2, 1)
%y: f32[16] = test.use.default(%x, %s)
return %y
)";
  for (const uint64_t alignment : {64, 128}) {
    TextMethod text(kViews);
    ASSERT_OK_AND_ASSIGN(const MethodMemory memory,
                         ArrangeMemory(text.written, {.banks = {{"only", kUnlimited, alignment}}}));
    EXPECT_EQ(memory.elided_instructions, alignment == 64 ? 1u : 0u);
    const schema::Tensor& view = text.written.method.values(static_cast<int>(text["s"])).tensor();
    EXPECT_EQ(view.arena_offset() % alignment, 0u);
  }
}

TEST(MethodBanksTest, DynamicSizesArePlacedForTheirBounds) {
  TextMethod text(R"(
input %x: f32[?64]
%a: f32[?64]#1 = test.make.default(%x)
%y: f32[?64]#1 = test.use.default(%a)
return %y
)");
  ASSERT_OK_AND_ASSIGN(const MethodMemory memory,
                       ArrangeMemory(text.written, {.banks = {{"fast", 256}, {"slow"}}}));
  EXPECT_EQ(memory.banks[0].bytes, 256u);
  EXPECT_EQ(memory.banks[1].bytes, 256u);
}

TEST(MethodBanksTest, ReportsLargestLiveValuesIfNothingFits) {
  TextMethod text(kChain);
  text.written.method.set_name("forward");
  const absl::Status status =
      ArrangeMemory(text.written, {.banks = {{"fast", 128}, {"slow", 320}}}).status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("method 'forward': the memory banks have no room "
                                       "for all values\n"),
                             HasSubstr("\n  bank 'fast': capacity 128 bytes, peak 128 bytes\n"),
                             HasSubstr("\n  bank 'slow': capacity 320 bytes, required 576 "
                                       "bytes\n    256 bytes: test.make.default\n    256 "
                                       "bytes: test.use.default\n    64 bytes: "
                                       "test.use.default"))));
}

TEST(MethodBanksTest, ReportNamesNodesInTextForm) {
  const OpRegistry& ops = *CreateStandardOps()->release();
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(R"(program edge {
    graph(%x: f32[64] user_input) {
      %relu: f32[64] = aten.relu.default(%x) @"model.py":3
      return (%relu user_output)
    }
  })",
                                             ops));
  EmitOptions options;
  options.memory.banks = {{"sram", 128}};
  const absl::Status status = EmitProgram(methods, options).status();
  EXPECT_THAT(
      status,
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("\n  bank 'sram': capacity 128 bytes, required 256 bytes\n    256 bytes: "
                         "%relu: f32[64] = aten.relu.default(%x) (model.py:3)")));
}

TEST(MethodBanksTest, EmitterRejectsInvalidBanks) {
  EmitOptions options;
  options.memory.banks = {{""}};
  EXPECT_THAT(EmitProgram({}, options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("memory bank ''")));
}

// --- Planners by name ---

constexpr std::string_view kTwoResults = R"(program edge {
  graph(%x: f32[64] user_input) {
    %a: f32[64] = edge.aten.relu.default(%x)
    %b: f32[64] = edge.aten.neg.default(%a)
    %c: f32[64] = edge.aten.relu.default(%b)
    return (%c user_output)
  }
})";

MethodPrograms TwoMethods() {
  static const OpRegistry& ops = *CreateStandardOps()->release();
  MethodPrograms methods;
  for (const char* name : {"decode", "prefill"}) {
    methods.emplace_back(name, ParseOrDie(kTwoResults, ops));
  }
  return methods;
}

// ExecuTorch's memory_planning_pass, which may be a dictionary by method.
TEST(MethodPlannersTest, EachMethodHasItsPlanner) {
  EmitOptions options;
  options.memory.planner = "best_fit_by_length";
  options.memory.share = false;
  options.planners = {{"prefill", "bump"}};
  std::vector<MemoryReport> report;
  ASSERT_OK(EmitProgram(TwoMethods(), options, &report));
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[0].memory.planner, "best_fit_by_length");
  EXPECT_EQ(report[1].memory.planner, "bump");
  EXPECT_LT(report[0].memory.arena_bytes, report[1].memory.arena_bytes);
}

TEST(MethodPlannersTest, BanksHaveOrders) {
  EmitOptions options;
  options.memory.banks = {{"fast", 256}, {"slow"}};
  options.planners = {{"prefill", "by_size"}};
  std::vector<MemoryReport> report;
  ASSERT_OK(EmitProgram(TwoMethods(), options, &report));
  EXPECT_EQ(report[1].memory.planner, "by_size");
  options.planners = {{"prefill", "bump"}};
  EXPECT_THAT(EmitProgram(TwoMethods(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("method 'prefill': unknown order of memory banks 'bump'")));
}

TEST(MethodPlannersTest, RejectsUnknownMethodsAndPlanners) {
  EmitOptions options;
  options.planners = {{"encode", "bump"}};
  EXPECT_THAT(EmitProgram(TwoMethods(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("memory planner 'bump': unknown method 'encode'")));
  options.planners = {{"decode", "greedy"}};
  EXPECT_THAT(EmitProgram(TwoMethods(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("method 'decode': unknown memory planner 'greedy'; known: ")));
}

// The checker proves plans of the caller's planners, too.
TEST(MethodPlannersTest, OverlappingPlansOfTheCallerFail) {
  EmitOptions options;
  options.memory.share = false;
  options.memory.planner = "overlap";
  options.memory.own_planners = {{"overlap", [](absl::Span<const Lifetime> lifetimes) {
                                    return std::vector<uint64_t>(lifetimes.size());
                                  }}};
  // Both operands of the sum are alive at once.
  const OpRegistry& ops = *CreateStandardOps()->release();
  MethodPrograms methods;
  methods.emplace_back("forward", ParseOrDie(R"(program edge {
    graph(%x: f32[64] user_input) {
      %a: f32[64] = edge.aten.relu.default(%x)
      %b: f32[64] = edge.aten.neg.default(%x)
      %c: f32[64] = edge.aten.add.Tensor(%a, %b)
      return (%c user_output)
    }
  })",
                                             ops));
  EXPECT_THAT(EmitProgram(methods, options),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("planner overlap")));
}

// --- Checker ---

TEST(MethodBanksTest, CheckerRejectsWrongBanks) {
  TextMethod text(kChain);
  const schema::Method written = text.written.method;
  const std::vector<MemoryBank> banks = {{"fast", 192}, {"slow"}};
  ASSERT_OK(ArrangeMemory(text.written, {.reorder = false, .banks = banks}));
  struct Case {
    const char* message;
    std::function<void(schema::Method&)> change;
  };
  const auto move = [&](schema::Method& m, std::string_view value, uint64_t offset) {
    m.mutable_values(static_cast<int>(text[value]))->mutable_tensor()->set_arena_offset(offset);
  };
  const Case cases[] = {
      {"", [](schema::Method&) {}},
      {"M2: the method has 1 banks, planned are 2",
       [](schema::Method& m) { m.mutable_banks()->RemoveLast(); }},
      {"M2: bank 0 is 'other' with 192 bytes, planned is 'fast' with at most 192",
       [](schema::Method& m) { m.mutable_banks(0)->set_name("other"); }},
      {"M2: bank 0 is 'fast' with 256 bytes",
       [](schema::Method& m) {
         m.mutable_banks(0)->set_bytes(256);
         m.mutable_banks(1)->set_bytes(448);
       }},
      {"M2: bank 1 is 'slow'", [](schema::Method& m) { m.mutable_banks(1)->set_alignment(128); }},
      {"M2: the banks end at 640, the arena at 704",
       [](schema::Method& m) { m.mutable_banks(1)->set_bytes(448); }},
      {"is not inside a bank", [&](schema::Method& m) { move(m, "y", 128); }},
      {"is not aligned: offset 32", [&](schema::Method& m) { move(m, "d", 32); }},
  };
  const std::vector<uint32_t> order = {0, 1, 2, 3, 4};
  const std::vector<bool> none(5);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    schema::Method method = text.written.method;
    c.change(method);
    const absl::Status status = CheckMemoryPlan(
        method,
        {.written = written, .order = order, .elided = none, .has_effects = none, .banks = banks},
        {});
    EXPECT_EQ(status.ok(), std::string_view(c.message).empty()) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace belay::exir
