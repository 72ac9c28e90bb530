#include "executorch/writer/program_serializer.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executorch/format/file_header.h"
#include "executorch/format/flat_tensor_generated.h"
#include "executorch/format/portable_operators.h"
#include "executorch/format/program_generated.h"
#include "executorch/writer/written_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// --- Calls ---

TEST(ProgramSerializerTest, CallsHaveArgumentsOutTensorAndResult) {
  const File file(R"(program edge {
    graph(%a: f32[2,3] user_input, %b: f32[2,3] user_input) {
      %c: f32[2,3] = edge.aten.add.Tensor(%a, %b)
      return (%c user_output)
    } })");
  EXPECT_THAT(file.Instructions(), ElementsAre("aten::add.out(%0, %1, 1, %2, %2)"));
  EXPECT_THAT(file.plan().inputs, ElementsAre(0, 1));
  EXPECT_THAT(file.plan().outputs, ElementsAre(2));
  EXPECT_THAT(file.Tensor(0).sizes, ElementsAre(2, 3));
  EXPECT_THAT(file.Tensor(0).dim_order, ElementsAre(0, 1));
  EXPECT_EQ(file.Tensor(0).scalar_type, 6);
  EXPECT_EQ(file.Tensor(0).allocation_info, nullptr);
  ASSERT_NE(file.Tensor(2).allocation_info, nullptr);
  EXPECT_EQ(file.Tensor(2).allocation_info->memory_id, 1u);
  EXPECT_THAT(file.plan().non_const_buffer_sizes, ElementsAre(0, 64));
}

TEST(ProgramSerializerTest, MultipleResultsAreRepeatedAsList) {
  const File file(R"(program edge {
    graph(%x: f32[4,3] user_input) {
      %v: f32[4], %i: i64[4] = edge.aten.max.dim(%x, 1)
      [%s: f32[4,1], %t: f32[4,2]] = edge.aten.split_with_sizes_copy.default(%x, [1,2], 1)
      return (%v user_output, %i user_output, %s user_output, %t user_output)
    } })");
  const std::vector<std::string> calls = file.Instructions();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1],
            "aten::split_with_sizes_copy.out(%0, ints[1 2], 1, tensors[%3 %4], tensors[%3 %4])");
  EXPECT_EQ(calls[0], "aten::max.dim_max(%0, 1, false, %1, %2, tensors[%1 %2])");
}

TEST(ProgramSerializerTest, ListsHaveOperatorsKind) {
  const File file(R"(program edge {
    graph(%x: f32[1,2,4,4] user_input, %i: i64[2] user_input) {
      %p: f32[4,1,2,4] = edge.aten.permute_copy.default(%x, [3,0,1,2])
      %u: f32[1,2,8,8] = edge.aten.upsample_nearest2d.vec(%x, none, [2.0,2.0])
      %n: f32[1,2,2,4] = edge.aten.index.Tensor(%x, [none,none,%i])
      %c: f32[1,2,10,4] = edge.aten.cat.default([%x,%x,%n], 2)
      return (%p user_output, %u user_output, %c user_output)
    } })");
  std::string all = absl::StrJoin(file.Instructions(), "\n");
  EXPECT_THAT(all, HasSubstr("aten::permute_copy.out(%0, ints[3 0 1 2], "));
  EXPECT_THAT(all, HasSubstr("aten::upsample_nearest2d.vec_out(%0, none, doubles[2 2], "));
  EXPECT_THAT(all, HasSubstr("aten::index.Tensor_out(%0, optionals[none none %1], "));
  EXPECT_THAT(all, HasSubstr("aten::cat.out(tensors[%0 %0 %"));
  // Elements precede their lists.
  for (size_t v = 0; v < file.plan().values.size(); ++v) {
    if (const TensorListT* list = file.plan().values[v]->val.AsTensorList()) {
      for (int32_t item : list->items) EXPECT_LT(item, static_cast<int32_t>(v));
    }
  }
}

TEST(ProgramSerializerTest, ScalarsHaveOperatorsKind) {
  const File file(R"(program edge {
    graph(%x: f32[2,3] user_input) {
      %a: f32[2,3] = edge.aten.add.Scalar(%x, 2)
      %l: f32[2,3] = edge.aten.logit.default(%a, 0.5)
      %g: f32[2,3] = edge.aten.gelu.default(%l, approximate="tanh")
      %f: f32[2] = edge.aten.full.default([2], 1.5, dtype=dtype:f32)
      return (%g user_output, %f user_output)
    } })");
  const std::string all = absl::StrJoin(file.Instructions(), "\n");
  EXPECT_THAT(all, HasSubstr("aten::add.Scalar_out(%0, 2, 1, "));
  EXPECT_THAT(all, HasSubstr(", double 0.5, "));
  EXPECT_THAT(all, HasSubstr(", 'tanh', "));
  EXPECT_THAT(all, HasSubstr("aten::full.out(ints[2], double 1.5, "));  // dtype of out
}

TEST(ProgramSerializerTest, DimOrdersMatchResults) {
  const File file(R"(program edge {
    graph(%x: f32[1,2,3,4] user_input) {
      %c: f32[1,2,3,4]{strides=[24,1,8,2]} = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0,2,3,1])
      %d: f64[1,2,3,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f64)
      return (%c user_output, %d user_output)
    } })");
  EXPECT_THAT(file.Tensor(1).dim_order, ElementsAre(0, 2, 3, 1));
  const std::string all = absl::StrJoin(file.Instructions(), "\n");
  EXPECT_THAT(all, HasSubstr("_to_dim_order_copy.out(%0, false, ints[0 2 3 1], %1, %1)"));
  EXPECT_THAT(all, HasSubstr("_to_dim_order_copy.out(%0, false, ints[0 1 2 3], %2, %2)"));
}

TEST(ProgramSerializerTest, BoundedSizesAreDynamicWithComputedArithmetic) {
  const File file(R"(program edge {
    ranges { s0: [2, 6] }
    graph(%x: f32[s0,4] user_input) {
      %n: symint(s0) = edge.aten.sym_size.int(%x, 0)
      %m: symint(2*s0) = _operator.mul(%n, 2)
      %v: f32[2*s0,2] = edge.aten.view_copy.default(%x, [%m,2])
      return (%v user_output)
    } })");
  EXPECT_EQ(file.Tensor(0).shape_dynamism, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_THAT(file.Tensor(0).sizes, ElementsAre(6, 4));
  const std::string all = absl::StrJoin(file.Instructions(), "\n");
  EXPECT_THAT(all, HasSubstr("aten::sym_size.int(%0, 0, "));
  EXPECT_THAT(all, HasSubstr("executorch_prim::mul.Scalar("));
  EXPECT_THAT(all, HasSubstr("aten::view_copy.out(%0, ints["));
}

TEST(ProgramSerializerTest, DynamicViewsAliasOperandWithoutCopy) {
  const File file(R"(program edge {
    ranges { s0: [2, 6] }
    graph(%x: f32[s0,4] user_input) {
      %n: symint(s0) = edge.aten.sym_size.int(%x, 0)
      %m: symint(2*s0) = _operator.mul(%n, 2)
      %r: f32[s0,4] = edge.aten.relu.default(%x)
      %v: f32[2*s0,2] = edge.aten.view_copy.default(%r, [%m,2])
      return (%v user_output)
    } })");
  const std::string all = absl::StrJoin(file.Instructions(), "\n");
  EXPECT_THAT(all, HasSubstr("executorch_prim::et_view.default(%"));
  EXPECT_THAT(all, Not(HasSubstr("view_copy")));
}

TEST(ProgramSerializerTest, RemainderMatchesPythonAndNeIsNegatedEq) {
  const File file(R"(program edge {
    ranges { s0: [2, 6] }
    graph(%x: f32[s0] user_input) {
      %n: symint(s0) = edge.aten.sym_size.int(%x, 0)
      %m: symint(Mod(s0, 4)) = _operator.mod(%n, 4)
      %e: symbool(Ne(s0, 3)) = _operator.ne(%n, 3)
      return (%m user_output, %e user_output)
    } })");
  const std::string all = absl::StrJoin(file.Instructions(), "\n");
  EXPECT_THAT(all,
              AllOf(HasSubstr("floordiv.Scalar"), HasSubstr("mul.Scalar"), HasSubstr("sub.Scalar"),
                    HasSubstr("eq.Scalar"), HasSubstr("sym_not.Scalar"), Not(HasSubstr("mod"))));
}

// --- Control flow ---

TEST(ProgramSerializerTest, BranchesCopyResultsAndJump) {
  const File file(R"(program edge {
    graph(%p: b8[] user_input, %x: f32[2] user_input) {
      %y: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%x])
      return (%y user_output)
    }
    graph yes(%a: f32[2]) {
      %r: f32[2] = edge.aten.relu.default(%a)
      return (%r)
    }
    graph no(%a: f32[2]) {
      %r: f32[2] = edge.aten.neg.default(%a)
      return (%r)
    } })");
  EXPECT_THAT(file.Instructions(),
              ElementsAre("if not %0 goto 4", HasSubstr("aten::relu.out"),
                          HasSubstr("aten::alias_copy.out"), "if not false goto 6",
                          HasSubstr("aten::neg.out"), HasSubstr("aten::alias_copy.out")));
}

TEST(ProgramSerializerTest, RowLoopsFillGrowingTensors) {
  const File file(R"(program edge {
    graph(%x: f32[3,2] user_input) {
      %y: f32[3,2] = higher_order.map_impl(graph#1, [%x], [])
      return (%y user_output)
    }
    graph body(%a: f32[2]) {
      %r: f32[2] = edge.aten.relu.default(%a)
      return (%r)
    } })");
  const std::string all = absl::StrJoin(file.Instructions(), "\n");
  EXPECT_THAT(all, HasSubstr("dim_order_ops::_empty_dim_order.out(ints["));
  EXPECT_THAT(all, HasSubstr("executorch_prim::et_copy_index.tensor("));
  EXPECT_THAT(all, HasSubstr("move "));
  EXPECT_EQ(file.Tensor(file.plan().outputs[0]).shape_dynamism, TensorShapeDynamism::DYNAMIC_BOUND);
}

TEST(ProgramSerializerTest, CacheUpdatesHaveUnusedResultAfterArena) {
  const File file(R"(program edge {
    constants { state "b": f32[1,4,1,2] }
    graph(%b: f32[1,4,1,2] buffer "b", %q: f32[1,1,1,2] user_input, %v: f32[1,1,1,2] user_input,
          %i: i64[1,1] user_input) {
      %p: f32[1,4,1,2] = edge.llama.update_cache_functional.default(%b, %v, 1)
      %r: f32[1,4,1,2] = edge.llama.update_cache_functional.default(%p, %v, 0, %i)
      %o: f32[1,1,1,2] = edge.llama.custom_sdpa.default(%q, %r, %r, 1)
      return (%r buffer_mutation "b", %o user_output)
    } })");
  const std::vector<std::string> calls = file.Instructions();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_THAT(calls[0], HasSubstr("llama::update_cache.out(%2, %0, 1, %"));
  EXPECT_THAT(calls[1], HasSubstr("llama::update_cache_with_indices.out(%2, %0, 0, %3, %"));
  EXPECT_THAT(calls[2], HasSubstr("llama::custom_sdpa.out(%1, %0, %0, 1, none, double 0, false, "));
  size_t results = 0;
  for (const auto& value : file.plan().values) {
    const TensorT* tensor = value->val.AsTensor();
    if (tensor == nullptr || tensor->sizes != std::vector<int32_t>{1}) continue;
    ++results;
    EXPECT_EQ(tensor->allocation_info->memory_offset_low + 16,
              file.plan().non_const_buffer_sizes[1]);
  }
  EXPECT_EQ(results, 2u);
}

TEST(ProgramSerializerTest, InstructionsHaveSourceLines) {
  const File file(R"(program edge {
    graph(%x: f32[4] user_input) {
      %a: f32[4] = edge.aten.relu.default(%x)
      %b: f32[4] = edge.aten.neg.default(%a)  @"a dir/f.py":12
      return (%b user_output)
    } })");
  std::vector<std::string> lines;
  for (const auto& frames : file.plan().chains[0]->stacktrace) {
    std::vector<std::string> texts;
    for (const auto& frame : frames->items) {
      texts.push_back(absl::StrCat(frame->filename, ":", frame->lineno, " ", frame->context));
    }
    lines.push_back(absl::StrJoin(texts, ", "));
  }
  EXPECT_THAT(lines, ElementsAre("", "a dir/f.py:12 b"));
  const File without(R"(program edge {
    graph(%x: f32[4] user_input) {
      %a: f32[4] = edge.aten.relu.default(%x)
      return (%a user_output)
    } })");
  EXPECT_TRUE(without.plan().chains[0]->stacktrace.empty());
}

// --- Data ---

TEST(ProgramSerializerTest, ProgramWithoutDataIsBareFlatBuffer) {
  const File file(R"(program edge {
    graph(%x: f32[2] user_input) {
      %r: f32[2] = edge.aten.relu.default(%x)
      return (%r user_output)
    } })");
  EXPECT_FALSE(file.has_header());
  EXPECT_EQ(file.bytes.substr(4, 4), "ET12");
  EXPECT_THAT(file.program->constant_segment->offsets, ElementsAre(0));
  EXPECT_EQ(file.program->version, 0u);
}

constexpr char kTwoWeights[] = R"(program edge {
    constants { state "w": f32[3] state "v": f32[2] state "u": f32[3] }
    graph(%w: f32[3] parameter "w", %v: f32[2] parameter "v", %u: f32[3] parameter "u", %x: f32[3] user_input) {
      %a: f32[3] = edge.aten.add.Tensor(%x, %w)
      %b: f32[3] = edge.aten.add.Tensor(%a, %u)
      %c: f32[2] = edge.aten.relu.default(%v)
      return (%b user_output, %c user_output)
    } })";

TEST(ProgramSerializerTest, ConstantsAreAlignedAndStoredOnce) {
  const File file((std::string(kTwoWeights)));
  ASSERT_TRUE(file.has_header());
  EXPECT_EQ(file.Number(12, file.bytes) & 0xffffffff, kProgramHeaderSize);
  EXPECT_EQ(file.base() % kSegmentAlignment, 0u);
  EXPECT_GE(file.base(), file.Number(16, file.bytes));
  EXPECT_EQ(file.bytes.size(), file.base() + file.Number(32, file.bytes));
  for (uint64_t offset : file.program->constant_segment->offsets) EXPECT_EQ(offset % 16, 0u);
  ASSERT_EQ(file.program->segments.size(), 1u);
  const uint64_t end = file.program->segments[0]->size;
  EXPECT_EQ(file.program->constant_segment->offsets.back() + 8, end);  // f32[2] is last
  EXPECT_GT(file.Tensor(0).data_buffer_idx, 0u);
  EXPECT_EQ(file.Tensor(0).allocation_info, nullptr);
}

TEST(ProgramSerializerTest, BuffersHavePoolAndInitialContent) {
  const File file(R"(program edge {
    constants { state "n": f32[2] }
    graph(%n: f32[2] buffer "n", %x: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%n, %x)
      return (%a buffer_mutation "n", %a user_output)
    } })");
  const TensorT& buffer = file.Tensor(0);
  EXPECT_EQ(buffer.data_buffer_idx, 1u);
  ASSERT_NE(buffer.allocation_info, nullptr);
  EXPECT_EQ(buffer.allocation_info->memory_id, 2u);
  EXPECT_EQ(buffer.extra_tensor_info->fully_qualified_name, "n");
  EXPECT_EQ(file.plan().non_const_buffer_sizes.size(), 3u);
  ASSERT_EQ(file.program->mutable_data_segments.size(), 1u);
  EXPECT_EQ(file.program->mutable_data_segments[0]->segment_index, 1u);
  EXPECT_THAT(file.program->mutable_data_segments[0]->offsets, ElementsAre(0, 0));
  EXPECT_EQ(file.Instructions().back(), "aten::copy_(%0, %2, false, %0)");
  EXPECT_EQ(file.plan().inputs.size(), 1u);
}

// --- Outputs that alias other values ---

// Prints the outputs of the method, then the instructions.
std::vector<std::string> OutputsAndInstructions(const File& file) {
  std::vector<std::string> lines;
  for (const int32_t output : file.plan().outputs) lines.push_back(file.Value(output));
  for (std::string& line : file.Instructions()) lines.push_back(std::move(line));
  return lines;
}

// Expects the output to be in the caller's memory: no planned memory and no data in the file.
void ExpectCallersMemory(const File& file, int32_t value) {
  const TensorT& tensor = file.Tensor(value);
  EXPECT_EQ(tensor.allocation_info, nullptr);
  EXPECT_EQ(tensor.data_buffer_idx, 0u);
  EXPECT_EQ(tensor.extra_tensor_info, nullptr);
}

TEST(ProgramSerializerTest, InputAsOutputIsCopied) {
  const File file(R"(program edge {
    ranges { s0: [2, 6] }
    graph(%x: f32[s0] user_input) {
      %r: f32[s0] = edge.aten.relu.default(%x)
      return (%x user_output, %r user_output)
    } })");
  EXPECT_THAT(OutputsAndInstructions(file), ElementsAre("%2", "%1", "aten::relu.out(%0, %1, %1)",
                                                        "aten::alias_copy.out(%0, %2, %2)"));
  ExpectCallersMemory(file, 2);
  EXPECT_EQ(file.Tensor(2).shape_dynamism, TensorShapeDynamism::DYNAMIC_BOUND);
  EXPECT_EQ(file.Tensor(2).sizes, file.Tensor(0).sizes);
}

// The emitter saves the returned value before the mutation.
TEST(ProgramSerializerTest, MutatedInputAsOutputIsNotTheInput) {
  const File file(R"(program edge {
    graph(%x: f32[2] user_input, %y: f32[2] user_input) {
      %a: f32[2] = edge.aten.add.Tensor(%x, %y)
      return (%a user_input_mutation "x", %x user_output)
    } })");
  EXPECT_NE(file.Value(file.plan().outputs[0]), "%0");
  EXPECT_EQ(file.Instructions().back(), "aten::copy_(%0, %2, false, %0)");
}

TEST(ProgramSerializerTest, ConstantAsOutputIsCopied) {
  const std::string text = R"(program edge {
    constants { state "w": f32[2] }
    graph(%w: f32[2] parameter "w", %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.add.Tensor(%x, %w)
      return (%w user_output, %r user_output)
    } })";
  for (const bool external : {false, true}) {
    const File file(Emit(text), {.external_constants = external ? "weights" : ""});
    EXPECT_THAT(OutputsAndInstructions(file),
                ElementsAre("%4", "%2", "aten::add.out(%1, %0, 1, %2, %2)",
                            "aten::alias_copy.out(%0, %4, %4)"));
    ExpectCallersMemory(file, 4);
  }
}

TEST(ProgramSerializerTest, StateAsOutputIsCopied) {
  const File file(R"(program edge {
    constants { state "n": f32[2] }
    graph(%n: f32[2] buffer "n", %x: f32[2] user_input) {
      %r: f32[2] = edge.aten.add.Tensor(%x, %n)
      return (%n user_output, %r user_output)
    } })");
  EXPECT_EQ(file.Instructions().back(), "aten::alias_copy.out(%0, %4, %4)");
  ExpectCallersMemory(file, file.plan().outputs[0]);
}

TEST(ProgramSerializerTest, RepeatedOutputIsCopied) {
  const File file(R"(program edge {
    graph(%x: f32[2] user_input) {
      %r: f32[2] = edge.aten.relu.default(%x)
      return (%r user_output, %r user_output, %r user_output)
    } })");
  EXPECT_THAT(OutputsAndInstructions(file),
              ElementsAre("%1", "%2", "%3", "aten::relu.out(%0, %1, %1)",
                          "aten::alias_copy.out(%1, %2, %2)", "aten::alias_copy.out(%1, %3, %3)"));
  ExpectCallersMemory(file, 2);
  ExpectCallersMemory(file, 3);
}

TEST(ProgramSerializerTest, RepeatedScalarOutputIsNotCopied) {
  const File file(R"(program edge {
    ranges { s0: [2, 6] }
    graph(%x: f32[s0] user_input) {
      %n: symint(s0) = edge.aten.sym_size.int(%x, 0)
      return (%n user_output, %n user_output)
    } })");
  EXPECT_EQ(file.plan().outputs[0], file.plan().outputs[1]);
  EXPECT_EQ(file.Instructions().size(), 1u);
}

TEST(ProgramSerializerTest, MethodsShareConstants) {
  const File file(Emit({{"two", kTwoWeights}, {"one", kTwoWeights}}));
  ASSERT_EQ(file.program->execution_plan.size(), 2u);
  EXPECT_EQ(file.plan(0).name, "one");
  EXPECT_EQ(file.Tensor(0, 0).data_buffer_idx, file.Tensor(0, 1).data_buffer_idx);
  EXPECT_EQ(file.program->segments.size(), 1u);
}

// State of the methods: n in both; m only in the second, where it is first.
TEST(ProgramSerializerTest, SameNamedBuffersHaveSameOffsetInAllMethods) {
  const std::string first = R"(program edge {
    constants { state "n": f32[3] }
    graph(%n: f32[3] buffer "n", %x: f32[3] user_input) {
      %a: f32[3] = edge.aten.add.Tensor(%n, %x)
      return (%a buffer_mutation "n", %a user_output)
    } })";
  const std::string second = R"(program edge {
    constants { state "n": f32[3] state "m": f32[8] }
    graph(%m: f32[8] buffer "m", %n: f32[3] buffer "n", %x: f32[3] user_input) {
      %b: f32[8] = edge.aten.add.Tensor(%m, %m)
      %a: f32[3] = edge.aten.mul.Tensor(%n, %x)
      return (%b buffer_mutation "m", %a buffer_mutation "n", %a user_output)
    } })";
  const File file(Emit({{"first", first}, {"second", second}}));
  const auto place = [&](size_t method, std::string_view name) {
    for (const auto& value : file.plan(method).values) {
      const TensorT* tensor = value->val.AsTensor();
      if (tensor == nullptr || tensor->extra_tensor_info == nullptr) continue;
      if (tensor->extra_tensor_info->fully_qualified_name != name) continue;
      return tensor->allocation_info->memory_offset_low;
    }
    return ~uint32_t{0};
  };
  EXPECT_EQ(place(0, "n"), place(1, "n"));
  EXPECT_NE(place(1, "m"), place(1, "n"));
  EXPECT_EQ(file.plan(0).non_const_buffer_sizes[2], 48);
  EXPECT_EQ(file.plan(1).non_const_buffer_sizes[2], 48);
}

TEST(ProgramSerializerTest, ExternalConstantsAreInSeparateFile) {
  const File file(Emit(kTwoWeights), {.external_constants = "weights"});
  EXPECT_THAT(file.companion_names, ElementsAre("weights.ptd"));
  EXPECT_FALSE(file.has_header());
  const TensorT& tensor = file.Tensor(0);
  EXPECT_EQ(tensor.extra_tensor_info->location, TensorDataLocation::EXTERNAL);
  EXPECT_EQ(tensor.data_buffer_idx, 0u);
  EXPECT_EQ(file.companion_bytes.substr(4, 8), "FT01FH01");
  std::unique_ptr<ptd::FlatTensorT> flat(ptd::GetFlatTensor(file.companion_bytes.data())->UnPack());
  bool found = false;
  for (const auto& named : flat->named_data) {
    if (named->key != tensor.extra_tensor_info->fully_qualified_name) continue;
    found = true;
    EXPECT_THAT(named->tensor_layout->sizes, ElementsAre(3));
    EXPECT_EQ(named->tensor_layout->scalar_type, 6);
    EXPECT_EQ(flat->segments[named->segment_index]->size, 12u);
    EXPECT_EQ(flat->segments[named->segment_index]->offset % kSegmentAlignment, 0u);
  }
  EXPECT_TRUE(found);
  const uint64_t base = file.Number(32, file.companion_bytes);
  EXPECT_EQ(base % kSegmentAlignment, 0u);
  EXPECT_EQ(file.companion_bytes.size(), base + file.Number(40, file.companion_bytes));
}

// One key per layout, which the reader compares; the bytes are stored once.
TEST(ProgramSerializerTest, EqualExternalConstantsAreStoredOnce) {
  const File file(Emit(R"(program edge {
    constants { state "w": f32[4] state "v": f32[2,2] }
    graph(%w: f32[4] parameter "w", %v: f32[2,2] parameter "v", %x: f32[2,2] user_input) {
      %a: f32[2,2] = edge.aten.add.Tensor(%x, %v)
      %b: f32[4] = edge.aten.relu.default(%w)
      return (%a user_output, %b user_output)
    } })"),
                  {.external_constants = "weights"});
  std::unique_ptr<ptd::FlatTensorT> flat(ptd::GetFlatTensor(file.companion_bytes.data())->UnPack());
  ASSERT_EQ(flat->named_data.size(), 2u);
  EXPECT_NE(flat->named_data[0]->key, flat->named_data[1]->key);
  EXPECT_EQ(flat->named_data[0]->segment_index, flat->named_data[1]->segment_index);
  EXPECT_EQ(flat->segments.size(), 1u);
}

// Files by rule (exir/constant_rules.h): one per tag, and one for the others.
TEST(ProgramSerializerTest, ExternalConstantsByRuleAreInTheirFiles) {
  const exir::ProgramImage image = Emit(R"(program edge {
    constants { state "a": f32[4] state "b": f32[3] state "c": f32[2] state "d": f32[5] }
    graph(%a: f32[4] parameter "a" in "one", %b: f32[3] parameter "b" in "two",
          %c: f32[2] parameter "c", %d: f32[5] parameter "d" replaceable in "two") {
      %e: f32[4] = edge.aten.relu.default(%a)
      %f: f32[3] = edge.aten.relu.default(%b)
      %g: f32[2] = edge.aten.relu.default(%c)
      %h: f32[5] = edge.aten.relu.default(%d)
      return (%e user_output, %f user_output, %g user_output, %h user_output)
    } })");
  const File file(image);
  EXPECT_THAT(file.companion_names, ElementsAre("one.ptd", "two.ptd"));
  const auto location = [](const File& f, int64_t size) {
    for (const auto& value : f.plan().values) {
      const TensorT* tensor = value->val.AsTensor();
      if (tensor == nullptr || tensor->sizes[0] != size) continue;
      if (tensor->extra_tensor_info == nullptr) return std::string("inside");
      return tensor->extra_tensor_info->fully_qualified_name;
    }
    return std::string("missing");
  };
  EXPECT_EQ(location(file, 2), "inside");
  EXPECT_EQ(location(file, 5), "d");  // replaceable: its name is the key
  EXPECT_EQ(location(file, 3).size(), 32u);
  const File all(image, {.external_constants = "rest"});
  EXPECT_THAT(all.companion_names, ElementsAre("one.ptd", "rest.ptd", "two.ptd"));
  EXPECT_NE(location(all, 2), "inside");
}

TEST(ProgramSerializerTest, ReplaceableTensorsNeedADataFile) {
  const exir::ProgramImage image = Emit(R"(program edge {
    constants { state "d": f32[5] }
    graph(%d: f32[5] parameter "d" replaceable) {
      %h: f32[5] = edge.aten.relu.default(%d)
      return (%h user_output)
    } })");
  EXPECT_THAT(Refusal(image), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("replaceable tensor 'd': a .pte file has it in a "
                                                 "data file")));
  EXPECT_THAT(File(image, {.external_constants = "p"}).companion_names, ElementsAre("p.ptd"));
}

TEST(ProgramSerializerTest, OutputIsDeterministic) {
  EXPECT_EQ(File(std::string(kTwoWeights)).bytes, File(std::string(kTwoWeights)).bytes);
}

// --- Refusals ---

TEST(ProgramSerializerTest, UnsupportedFeaturesAreListedWithNodesAndLines) {
  const absl::Status status = Refusal(Emit({{"a", R"(program edge {
    graph(%x: f32[4] user_input, %n: symint(s0) user_input) {
      %v: f32[4], %i: i64[4] = edge.aten.sort.default(%x)  @"f.py":3
      %e: f32[4] = edge.aten.erfinv.default(%v)  @"f.py":4
      return (%e user_output)
    } })"},
                                            {"b", R"(program edge {
    graph(%x: f32[4] user_input) {
      %e: f32[4] = edge.aten.lgamma.default(%x)
      return (%e user_output)
    } })"}}));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("method 'a': input 'n' is a scalar that varies"));
  EXPECT_THAT(message, HasSubstr("at f.py:3: ExecuTorch has no operator for aten.sort.default"));
  EXPECT_THAT(message, HasSubstr("node 'e' at f.py:4: ExecuTorch has no operator for "
                                 "aten.erfinv.default"));
  EXPECT_THAT(message, HasSubstr("method 'b': node 'e': ExecuTorch has no operator for "
                                 "aten.lgamma.default"));
}

TEST(ProgramSerializerTest, RejectsUnsupportedDtypesAndBackends) {
  exir::ProgramImage image = Emit(R"(program edge {
    graph(%x: f32[4] user_input) {
      %e: f32[4] = edge.aten.relu.default(%x)
      return (%e user_output)
    } })");
  schema::Method* method = image.metadata.mutable_methods(0);
  method->mutable_values(0)->mutable_tensor()->set_dtype(
      static_cast<uint32_t>(DType::kFloat8E8M0FNU));
  method->add_delegates()->set_backend_id("cpu");
  EXPECT_THAT(std::string(Refusal(image).message()),
              AllOf(HasSubstr("ExecuTorch has no dtype float8_e8m0fnu"),
                    HasSubstr("ExecuTorch has no backend 'cpu'")));
}

TEST(ProgramSerializerTest, RejectsSizesOfMoreThan31Bits) {
  exir::ProgramImage image = Emit(R"(program edge {
    graph(%x: f32[4] user_input) {
      return (%x user_output)
    } })");
  image.metadata.mutable_methods(0)->mutable_values(0)->mutable_tensor()->set_sizes(
      0, int64_t{1} << 31);
  EXPECT_THAT(std::string(Refusal(image).message()), HasSubstr("sizes have 31 bits"));
}

TEST(ProgramSerializerTest, RejectsUnsupportedArguments) {
  exir::ProgramImage image = Emit(R"(program edge {
    graph(%x: f32[1,2,4,4] user_input) {
      %a: f32[1,2,4,4] = edge.aten.add.Scalar(%x, 7)
      %u: f32[1,2,8,8] = edge.aten.upsample_nearest2d.vec(%a, none, [2.0,2.0])
      return (%u user_output)
    } })");
  schema::Method* method = image.metadata.mutable_methods(0);
  for (schema::Value& value : *method->mutable_values()) {
    if (value.has_int_() && value.int_() == 7) value.mutable_complex()->set_imag(1);
    if (value.has_double_()) value.mutable_scalar()->set_kind(schema::ScalarSlot::DOUBLE);
  }
  EXPECT_THAT(
      std::string(Refusal(image).message()),
      AllOf(HasSubstr(
                "node 'a': argument 'other': ExecuTorch's operator does not support this value"),
            HasSubstr("node 'u': argument 'scale_factors': ExecuTorch's lists of doubles")));
}

TEST(ProgramSerializerTest, RejectsMetadataBeyondFlatBuffer) {
  exir::ProgramImage image;
  image.metadata.set_producer(std::string(size_t{65} << 20, 'x'));
  EXPECT_EQ(Refusal(image).code(), absl::StatusCode::kResourceExhausted);
}

TEST(ProgramSerializerTest, DelegatesAreStoredInSegments) {
  exir::ProgramImage image = Emit(R"(program edge {
    graph(%x: f32[4] user_input) {
      %e: f32[4] = edge.aten.relu.default(%x)
      return (%e user_output)
    } })");
  const std::string payload = "payload", weights = "weights";
  for (const std::string* text : {&payload, &weights}) {
    exir::ProgramImage::Segment& segment = image.segments.emplace_back();
    const auto* bytes = reinterpret_cast<const std::byte*>(text->data());
    segment.pieces = {exir::Storage::Own(std::vector<std::byte>(bytes, bytes + text->size()))};
  }
  schema::Method* method = image.metadata.mutable_methods(0);
  schema::Delegate* delegate = method->add_delegates();
  delegate->set_backend_id("XnnpackBackend");
  delegate->set_segment(0);
  schema::CompileSpec* spec = delegate->add_compile_specs();
  spec->set_key("k");
  spec->set_value("v");
  schema::NamedData* named = image.metadata.add_named_data();
  named->set_key("w");
  named->set_segment(1);
  schema::DelegateCall* call = method->mutable_instructions(0)->mutable_delegate();
  call->add_arguments(0);
  call->add_outputs(1);
  // A second delegate with the same bytes.
  *method->add_delegates() = method->delegates(0);
  const File file(image);
  EXPECT_EQ(file.plan().delegates.at(1)->processed->index,
            file.plan().delegates.at(0)->processed->index);
  EXPECT_EQ(file.program->segments.size(), 3u);
  const BackendDelegateT& written = *file.plan().delegates.at(0);
  EXPECT_EQ(written.id, "XnnpackBackend");
  EXPECT_EQ(written.processed->location, DataLocation::SEGMENT);
  EXPECT_EQ(written.compile_specs.at(0)->key, "k");
  const auto segment = [&](uint32_t index) {
    const DataSegmentT& s = *file.program->segments.at(index);
    return file.bytes.substr(file.base() + s.offset, s.size);
  };
  EXPECT_EQ(segment(written.processed->index), payload);
  ASSERT_EQ(file.program->named_data.size(), 1u);
  EXPECT_EQ(file.program->named_data[0]->key, "w");
  EXPECT_EQ(segment(file.program->named_data[0]->segment_index), weights);
  const DelegateCallT* delegated =
      file.plan().chains[0]->instructions[0]->instr_args.AsDelegateCall();
  ASSERT_NE(delegated, nullptr);
  EXPECT_THAT(delegated->args, ElementsAre(0, 1));
  // Data in a companion file becomes data in a data file.
  image.segments[1].companion = "weights";
  const File separate(image);
  EXPECT_THAT(separate.companion_names, ElementsAre("weights.ptd"));
  EXPECT_TRUE(separate.program->named_data.empty());
  std::unique_ptr<ptd::FlatTensorT> flat(
      ptd::GetFlatTensor(separate.companion_bytes.data())->UnPack());
  ASSERT_EQ(flat->named_data.size(), 1u);
  EXPECT_EQ(flat->named_data[0]->key, "w");
  EXPECT_EQ(flat->named_data[0]->tensor_layout, nullptr);
}

// --- The table ---

// Functional operators have all arguments of ExecuTorch's by name, except for the exceptions below.
TEST(ProgramSerializerTest, TableMatchesBelayOperators) {
  std::vector<std::string> unknown;
  for (const PortableOperator& op : PortableOperators()) {
    if (op.functional.empty()) continue;
    const exir::OpOverload* overload = Ops().Find(op.functional);
    if (overload == nullptr || overload->schema() == nullptr) {
      unknown.push_back(op.functional);
      continue;
    }
    const exir::FunctionSchema& schema = *overload->schema();
    for (size_t i = 0; i + op.outs < op.arguments.size(); ++i) {
      const std::string name(op.arguments[i].name);
      EXPECT_TRUE(name == "dim_order" || schema.ArgumentIndex(name).has_value())
          << op.name << " " << name << " of " << schema.ToString();
    }
    if (op.result == PortableOperator::Result::kOut) {
      EXPECT_EQ(op.outs, schema.returns.size()) << op.name;
    }
  }
  EXPECT_THAT(unknown, ElementsAre());
}

}  // namespace
}  // namespace belay::pte
