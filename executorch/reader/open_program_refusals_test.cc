// Errors of OpenPte: damaged bytes, invalid tables, limits.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/format/file_header.h"
#include "executorch/reader/open_program.h"
#include "executorch/reader/testing/pte_builder.h"
#include "executorch/reader/testing/table_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::StatusCode kBroken = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kLacking = absl::StatusCode::kUnimplemented;

// --- The bytes: docs/pte-format.md §1 ---

struct BadBytes {
  std::string name;
  std::function<void(std::string&)> damage;  // of a file with a header
  absl::StatusCode code;
  std::string message;
};

class BadBytesTest : public ::testing::TestWithParam<BadBytes> {};

TEST_P(BadBytesTest, IsRejected) {
  PteBuilder pte;
  pte.Output(pte.Constant({2}, {1, 2}));
  std::string file = pte.Serialize();
  ASSERT_OK(OpenPte(file));
  GetParam().damage(file);
  EXPECT_THAT(OpenPte(file), StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BadBytesTest,
    ::testing::Values(
        BadBytes{"Short", [](auto& f) { f.resize(63); }, absl::StatusCode::kDataLoss, "63 bytes"},
        BadBytes{"Empty", [](auto& f) { f.clear(); }, absl::StatusCode::kDataLoss, "0 bytes"},
        BadBytes{"OtherIdentifier", [](auto& f) { f.replace(4, 4, "TFL3"); },
                 absl::StatusCode::kDataLoss, "TensorFlow"},
        BadBytes{"OldIdentifier", [](auto& f) { f.replace(4, 4, "ET11"); }, kLacking,
                 "'ET11', this reader reads 'ET12'"},
        BadBytes{"HeaderLength", [](auto& f) { Put<uint32_t>(f, 12, 23); },
                 absl::StatusCode::kDataLoss, "its length is 23"},
        BadBytes{"HeaderBeyondFile", [](auto& f) { Put<uint32_t>(f, 12, 0x7fffffff); },
                 absl::StatusCode::kDataLoss, "its length"},
        BadBytes{"ProgramWithoutTables", [](auto& f) { Put<uint64_t>(f, 16, 63); },
                 absl::StatusCode::kDataLoss, "the tables end at 63"},
        BadBytes{"ProgramSize", [](auto& f) { Put<uint64_t>(f, 16, f.size() + 1); },
                 absl::StatusCode::kDataLoss, "the tables end at"},
        BadBytes{"SegmentBase", [](auto& f) { Put<uint64_t>(f, 24, f.size() + 1); },
                 absl::StatusCode::kDataLoss, "segments begin at"},
        BadBytes{"SegmentSizeWraps", [](auto& f) { Put<uint64_t>(f, 32, UINT64_MAX); },
                 absl::StatusCode::kDataLoss, "segments of 18446744073709551615 bytes"},
        BadBytes{"NoSegments", [](auto& f) { Put<uint64_t>(f, 24, 0); }, kBroken, "segments[0]"},
        BadBytes{"RootBeyondEnd", [](auto& f) { Put<uint32_t>(f, 0, 0x7ffffff0); },
                 absl::StatusCode::kDataLoss, "the tables are damaged"},
        BadBytes{"RootInHeader", [](auto& f) { Put<uint32_t>(f, 0, 12); },
                 absl::StatusCode::kDataLoss, "the tables are damaged"},
        BadBytes{"Truncated", [](auto& f) { f.resize(f.size() - 1); }, absl::StatusCode::kDataLoss,
                 "segments of"}),
    [](const auto& info) { return info.param.name; });

TEST(OpenProgramTest, ReadsOldAndFutureHeaderLengths) {
  PteBuilder pte;
  pte.Output(pte.Constant({2}, {1, 2}));
  for (const uint32_t length : {24, 32, 40}) {
    std::string file = pte.Serialize();
    Put<uint32_t>(file, 12, length);
    EXPECT_OK(OpenPte(file)) << length;
  }
}

TEST(OpenProgramTest, DamagedBytesDoNotCrash) {
  Relu relu;
  relu.Output(relu.Constant({2}, {1, 2}));
  const std::string file = relu.Serialize();
  for (size_t at = 0; at < file.size(); ++at) {
    for (const unsigned char with : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(with);
      const absl::Status status = OpenPte(damaged).status();  // anything but a crash
      EXPECT_NE(status.code(), absl::StatusCode::kInternal) << at;
    }
  }
}

// --- The tables: §2 to §9 ---

struct BadTables {
  std::string name;
  std::function<void(Relu&)> damage;
  absl::StatusCode code;
  std::string message;
};

class BadTablesTest : public ::testing::TestWithParam<BadTables> {};

TEST_P(BadTablesTest, IsRejected) {
  Relu relu;
  ASSERT_OK(OpenPte(relu.Serialize()));
  GetParam().damage(relu);
  EXPECT_THAT(OpenPte(relu.Serialize()), StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

AllocationDetailsT& Allocation(Relu& pte, int32_t value) {
  return *pte.tensor(value).allocation_info;
}

INSTANTIATE_TEST_SUITE_P(
    Program, BadTablesTest,
    ::testing::Values(
        BadTables{"Version", [](Relu& p) { p.program().version = 1; }, kLacking,
                  "schema version 1, this reader reads 0"},
        BadTables{"NoMethod", [](Relu& p) { p.program().execution_plan.clear(); }, kBroken,
                  "expected at least one method"},
        BadTables{"NoConstantSegment", [](Relu& p) { p.program().constant_segment.reset(); },
                  kBroken, "constant_segment"},
        BadTables{"NoOffsets", [](Relu& p) { p.program().constant_segment->offsets.clear(); },
                  kBroken, "constant_segment"},
        BadTables{"NoName", [](Relu& p) { p.method().name.clear(); }, kBroken,
                  "execution_plan[0]: its name is missing or not UTF-8"},
        BadTables{"NameNoText", [](Relu& p) { p.method().name = "\xff"; }, kBroken,
                  "its name is missing or not UTF-8"},
        BadTables{"NameTwice",
                  [](Relu& p) {
                    p.program().execution_plan.push_back(std::make_unique<ExecutionPlanT>());
                    p.program().execution_plan[1]->name = "forward";
                  },
                  kBroken, "'forward' is a duplicate"},
        BadTables{"NoChain", [](Relu& p) { p.method().chains.clear(); }, kBroken,
                  "chains are missing"},
        BadTables{"NegativePool", [](Relu& p) { p.method().non_const_buffer_sizes[1] = -1; },
                  kBroken, "pool 1: -1 bytes is negative"},
        BadTables{"HugePool", [](Relu& p) { p.method().non_const_buffer_sizes[1] = INT64_MAX; },
                  absl::StatusCode::kResourceExhausted, "arena_bytes"},
        BadTables{"PoolsWrap",
                  [](Relu& p) {
                    p.method().non_const_buffer_sizes.push_back(INT64_MAX);
                    p.method().non_const_buffer_sizes.push_back(INT64_MAX);
                  },
                  absl::StatusCode::kResourceExhausted, "arena_bytes"},
        BadTables{"OtherDevice",
                  [](Relu& p) {
                    auto device = std::make_unique<NonConstBufferDeviceT>();
                    device->device_type = DeviceType::CUDA;
                    p.method().non_const_buffer_device.push_back(std::move(device));
                  },
                  kLacking, "a device other than the CPU"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Values, BadTablesTest,
    ::testing::Values(
        BadTables{"NoKind", [](Relu& p) { p.method().values[p.x]->val.Reset(); }, kBroken,
                  "method 'forward', value 0: kind 0 is unknown"},
        BadTables{"NegativeSize", [](Relu& p) { p.tensor(p.x).sizes = {2, -3}; }, kBroken,
                  "value 0: sizes[1] is -3"},
        BadTables{"Rank",
                  [](Relu& p) {
                    p.tensor(p.x).sizes.assign(17, 1);
                    p.tensor(p.x).dim_order.assign(17, 0);
                  },
                  kBroken, "rank 17 is above 16"},
        BadTables{"BytesWrap",
                  [](Relu& p) {
                    p.tensor(p.x).sizes.assign(4, INT32_MAX);
                    p.tensor(p.x).dim_order = {0, 1, 2, 3};
                  },
                  kBroken, "overflow"},
        BadTables{"BytesWrapWithZero",
                  [](Relu& p) {
                    p.tensor(p.x).sizes = {INT32_MAX, INT32_MAX, 0, INT32_MAX, INT32_MAX};
                    p.tensor(p.x).dim_order = {0, 1, 2, 3, 4};
                  },
                  kBroken, "overflow"},
        BadTables{"DimOrderLength", [](Relu& p) { p.tensor(p.x).dim_order = {0}; }, kBroken,
                  "dim_order has 1 entries, the rank is 2"},
        BadTables{"DimOrderTwice", [](Relu& p) { p.tensor(p.x).dim_order = {0, 0}; }, kBroken,
                  "{0,0} is not a permutation"},
        BadTables{"StorageOffset", [](Relu& p) { p.tensor(p.x).storage_offset = 1; }, kBroken,
                  "storage_offset is 1"},
        BadTables{"ScalarType", [](Relu& p) { p.tensor(p.x).scalar_type = 30; }, kBroken,
                  "scalar_type 30"},
        BadTables{"NegativeScalarType", [](Relu& p) { p.tensor(p.x).scalar_type = -1; }, kBroken,
                  "scalar_type -1"},
        BadTables{"QuantizedType", [](Relu& p) { p.tensor(p.x).scalar_type = 12; }, kLacking,
                  "scalar_type 12"},
        BadTables{
            "Unbound",
            [](Relu& p) { p.tensor(p.x).shape_dynamism = TensorShapeDynamism::DYNAMIC_UNBOUND; },
            kLacking, "DYNAMIC_UNBOUND"},
        BadTables{
            "UnknownDynamism",
            [](Relu& p) { p.tensor(p.x).shape_dynamism = static_cast<TensorShapeDynamism>(3); },
            kBroken, "shape_dynamism 3"},
        BadTables{"PoolZero", [](Relu& p) { Allocation(p, p.x).memory_id = 0; }, kBroken,
                  "memory_id 0"},
        BadTables{"PoolTooLarge", [](Relu& p) { Allocation(p, p.x).memory_id = 2; }, kBroken,
                  "memory_id 2"},
        BadTables{"PlaceBeyondPool",
                  [](Relu& p) { Allocation(p, p.x).memory_offset_low = 1 << 20; }, kBroken,
                  "are not inside the"},
        BadTables{"PlaceWraps",
                  [](Relu& p) {
                    Allocation(p, p.x).memory_offset_low = UINT32_MAX - 7;
                    Allocation(p, p.x).memory_offset_high = UINT32_MAX;
                  },
                  kBroken, "are not inside the"},
        BadTables{"PlaceMisaligned", [](Relu& p) { Allocation(p, p.x).memory_offset_low = 2; },
                  kBroken, "is not a multiple of its element's 4 bytes"},
        BadTables{"ConstantIndex",
                  [](Relu& p) {
                    p.tensor(p.x).allocation_info.reset();
                    p.tensor(p.x).data_buffer_idx = 1;
                  },
                  kBroken, "constant_segment: entry 1 does not exist, there are 1"},
        BadTables{"ConstantBeyondSegment",
                  [](Relu& p) { p.tensor(p.Constant({2}, {1, 2})).sizes = {3}; }, kBroken,
                  "12 bytes at 0 are not inside the 8 bytes of segment 0"},
        BadTables{"ConstantOffsetWraps",
                  [](Relu& p) {
                    p.Constant({2}, {1, 2});
                    p.program().constant_segment->offsets[1] = UINT64_MAX - 3;
                  },
                  kBroken, "8 bytes at 18446744073709551612"},
        BadTables{"ConstantSegmentIndex",
                  [](Relu& p) {
                    p.Constant({2}, {1, 2});
                    p.program().constant_segment->segment_index = 9;
                  },
                  kBroken, "segment 9 does not exist"},
        BadTables{"InitialContentWithoutSegment",
                  [](Relu& p) { p.tensor(p.Tensor({2})).data_buffer_idx = 1; }, kBroken,
                  "mutable_data_segments[0]"},
        BadTables{"OtherDeviceTensor",
                  [](Relu& p) {
                    p.tensor(p.x).extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
                    p.tensor(p.x).extra_tensor_info->device_type = DeviceType::CUDA;
                  },
                  kLacking, "a device other than the CPU"},
        BadTables{"ExternalWithoutFile", [](Relu& p) { p.External({2}, "w"); },
                  absl::StatusCode::kNotFound, "external tensor 'w'"},
        BadTables{"ListElementBeyond", [](Relu& p) { p.IntList({99}); }, kBroken,
                  "element 0 is value 99, there are 3"},
        BadTables{"ListElementNegative", [](Relu& p) { p.TensorList({-1}); }, kBroken,
                  "element 0 is value -1"},
        BadTables{"ListElementKind", [](Relu& p) { p.IntList({0}); }, kBroken,
                  "value 0, is Tensor, expected Int"},
        BadTables{"OptionalListHoldsNull", [](Relu& p) { p.OptionalTensorList({p.Null()}); },
                  kBroken, "is Null, expected Tensor"},
        BadTables{"TensorAfterItsList",
                  [](Relu& p) {
                    p.TensorList({3});
                    p.Tensor({1});
                  },
                  kBroken, "comes after the list"},
        BadTables{"StringNoText", [](Relu& p) { p.String("\xff"); }, kBroken, "not UTF-8"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Instructions, BadTablesTest,
    ::testing::Values(
        BadTables{"InputIndex", [](Relu& p) { p.Input(99); }, kBroken,
                  "input 1: value 99 does not exist"},
        BadTables{"OutputIndex", [](Relu& p) { p.Output(-1); }, kBroken, "output 1: value -1"},
        BadTables{"InputTwice", [](Relu& p) { p.Input(p.x); }, kLacking, "already another input"},
        BadTables{"ListInput", [](Relu& p) { p.Input(p.IntList({})); }, kBroken,
                  "a IntList can't be an input"},
        BadTables{"ListOutput", [](Relu& p) { p.Output(p.TensorList({p.y})); }, kLacking,
                  "a TensorList as an output"},
        BadTables{"NoInstruction", [](Relu& p) { p.instruction(0).instr_args.Reset(); }, kBroken,
                  "method 'forward', chain 0, instruction 0: kind 0 is unknown"},
        BadTables{"OperatorIndex",
                  [](Relu& p) { p.instruction(0).instr_args.AsKernelCall()->op_index = 1; },
                  kBroken, "operator 1 does not exist, there are 1"},
        BadTables{"ArgumentIndex",
                  [](Relu& p) { p.instruction(0).instr_args.AsKernelCall()->args[0] = 77; },
                  kBroken, "argument 0: value 77 does not exist"},
        BadTables{"TooFewArguments",
                  [](Relu& p) { p.instruction(0).instr_args.AsKernelCall()->args.pop_back(); },
                  kBroken, "(aten::relu.out): it has 2 arguments, expected 3"},
        BadTables{"TooManyArguments",
                  [](Relu& p) { p.instruction(0).instr_args.AsKernelCall()->args.push_back(0); },
                  kBroken, "it has 4 arguments, expected 3"},
        BadTables{"ArgumentKind",
                  [](Relu& p) { p.instruction(0).instr_args.AsKernelCall()->args[0] = p.Int(1); },
                  kBroken, "argument 'self' is Int, expected Tensor"},
        BadTables{"FloatIsNoInt",
                  [](Relu& p) { p.Call("aten::_pdist_forward", "out", {p.x, p.Int(2), p.y, p.y}); },
                  kBroken, "argument 'p' is Int, expected Double"},
        BadTables{"PrimTakesThreeValues",
                  [](Relu& p) { p.Call("executorch_prim::add", "Scalar", {p.Int(1), p.Int(2)}); },
                  kBroken, "it has 2 arguments, expected 3"},
        BadTables{
            "PrimResult",
            [](Relu& p) { p.Call("executorch_prim::add", "Scalar", {p.Int(1), p.Int(2), p.x}); },
            kBroken, "its result goes to a Tensor"},
        BadTables{"UnknownOperators",
                  [](Relu& p) {
                    p.Call("aten::prelu", "out", {p.x});
                    p.Call("my::op", "", {p.x});
                  },
                  kLacking, "'aten::prelu.out' (chain 0, instruction 1), 'my::op' (chain 0"},
        BadTables{"OperatorWithoutName", [](Relu& p) { p.method().operators[0]->name.clear(); },
                  kBroken, "operator 0: its name is missing"},
        BadTables{"OperatorNameLength",
                  [](Relu& p) { p.method().operators[0]->name.assign(100, 'a'); }, kBroken,
                  "its name and overload have 100 and 3 bytes"},
        BadTables{"MoveIndex", [](Relu& p) { p.Move(p.x, 50); }, kBroken, "move_to: value 50"},
        BadTables{"MoveBetweenKinds", [](Relu& p) { p.Move(p.Int(1), p.y); }, kBroken,
                  "is Int, value 1 is Tensor"},
        BadTables{"MoveOfList", [](Relu& p) { p.Move(p.IntList({}), p.IntList({})); }, kLacking,
                  "a move of a IntList"},
        BadTables{"JumpCondition", [](Relu& p) { p.JumpFalse(40, 0); }, kBroken,
                  "cond_value_index: value 40"},
        BadTables{"JumpConditionKind", [](Relu& p) { p.JumpFalse(p.Null(), 0); }, kBroken,
                  "is Null, expected Bool"},
        BadTables{"JumpConditionDtype", [](Relu& p) { p.JumpFalse(p.x, 0); }, kBroken,
                  "is float32, expected Bool"},
        BadTables{"JumpConditionElements",
                  [](Relu& p) { p.JumpFalse(p.Tensor({2}, kBoolType), 0); }, kLacking,
                  "expected one element"},
        BadTables{"JumpBackBeyond", [](Relu& p) { p.JumpFalse(p.Bool(false), -1); }, kBroken,
                  "destination -1 is negative"},
        BadTables{"FreeOfScalar", [](Relu& p) { p.Free(p.Int(1)); }, kBroken,
                  "is Int, expected Tensor"},
        BadTables{"DelegateIndex",
                  [](Relu& p) {
                    p.Delegate("demo", "blob", {p.x, p.Tensor({2, 3})});
                    p.instruction(1).instr_args.AsDelegateCall()->delegate_index = 1;
                  },
                  kBroken, "delegate 1 does not exist, there are 1"},
        BadTables{"DelegateWithoutId",
                  [](Relu& p) { p.Delegate("", "blob", {p.x, p.Tensor({2, 3})}); }, kBroken,
                  "delegate 0: its id is missing or not UTF-8"},
        BadTables{"DelegateWithoutBlob",
                  [](Relu& p) {
                    p.Delegate("demo", "blob", {p.x, p.Tensor({2, 3})});
                    p.method().delegates[0]->processed.reset();
                  },
                  kBroken, "processed is missing"},
        BadTables{"InlineBlobIndex",
                  [](Relu& p) {
                    p.Delegate("demo", "blob", {p.x, p.Tensor({2, 3})});
                    p.method().delegates[0]->processed->location = DataLocation::INLINE;
                  },
                  kBroken, "backend_delegate_data"},
        BadTables{"NamedDataTwice",
                  [](Relu& p) {
                    p.AddNamedData("k", "1");
                    p.AddNamedData("k", "2");
                  },
                  kBroken, "the key 'k' is a duplicate"},
        BadTables{"NamedDataSegment",
                  [](Relu& p) {
                    p.AddNamedData("k", "1");
                    p.program().named_data[0]->segment_index = 5;
                  },
                  kBroken, "named_data[0] 'k': segment 5 does not exist"},
        BadTables{"WrittenConstant",
                  [](Relu& p) {
                    p.instruction(0).instr_args.AsKernelCall()->args[1] =
                        p.Constant({2, 3}, {1, 2, 3, 4, 5, 6});
                  },
                  kBroken, "may not be written"},
        BadTables{"OutputOverArgument",
                  [](Relu& p) {
                    p.Call("aten::bmm", "out",
                           {p.Tensor({1, 2, 2}), p.Tensor({1, 2, 2}), p.Tensor({1, 2, 2}), 0});
                    Allocation(p, 4).memory_offset_low = Allocation(p, 2).memory_offset_low;
                  },
                  kBroken, "overlaps"},
        BadTables{
            "NothingToRead",
            [](Relu& p) { p.Call("aten::relu", "out", {p.Unplanned({2}), p.Tensor({2}), 0}); },
            kBroken, "value 2: it is read, but has neither memory nor content"}),
    [](const auto& info) { return info.param.name; });

TEST(OpenProgramTest, ReportsAllProblemsOfAKind) {
  Relu relu;
  relu.tensor(relu.x).sizes = {2, -3};
  relu.tensor(relu.y).storage_offset = 1;
  EXPECT_THAT(OpenPte(relu.Serialize()),
              StatusIs(kBroken, AllOf(HasSubstr("value 0: sizes[1] is -3"),
                                      HasSubstr("value 1: storage_offset is 1"))));
}

TEST(OpenProgramTest, EnforcesLimits) {
  const std::string file = Relu().Serialize();
  const auto open = [&](auto set) {
    belay::Program::Options options;
    set(options.limits);
    return OpenPte(file, options).status();
  };
  constexpr absl::StatusCode kLimit = absl::StatusCode::kResourceExhausted;
  EXPECT_THAT(open([](Limits& l) { l.file_bytes = 64; }),
              StatusIs(kLimit, HasSubstr("file_bytes")));
  EXPECT_THAT(open([](Limits& l) { l.metadata_bytes = 64; }),
              StatusIs(kLimit, HasSubstr("metadata_bytes")));
  EXPECT_THAT(open([](Limits& l) { l.methods = 0; }), StatusIs(kLimit, HasSubstr("methods")));
  EXPECT_THAT(open([](Limits& l) { l.values = 1; }), StatusIs(kLimit, HasSubstr("values")));
  EXPECT_THAT(open([](Limits& l) { l.tensors = 1; }), StatusIs(kLimit, HasSubstr("tensors")));
  EXPECT_THAT(open([](Limits& l) { l.instructions = 0; }),
              StatusIs(kLimit, HasSubstr("instructions")));
  EXPECT_THAT(open([](Limits& l) { l.operands = 2; }), StatusIs(kLimit, HasSubstr("operands")));
  EXPECT_THAT(open([](Limits& l) { l.arena_bytes = 16; }),
              StatusIs(kLimit, HasSubstr("arena_bytes")));
  EXPECT_THAT(open([](Limits& l) { l.segments = 0; }), StatusIs(kLimit, HasSubstr("segments")));
  EXPECT_THAT(open([](Limits& l) { l.nesting = 3; }), StatusIs(absl::StatusCode::kDataLoss));
}

// All methods may share one string as their name, which is checked for each.
TEST(OpenProgramTest, MethodNamesCountAsMetadata) {
  Relu relu;
  relu.method().name = std::string(2000, 'm');
  for (int i = 0; i < 9; ++i) {
    relu.program().execution_plan.push_back(std::make_unique<ExecutionPlanT>());
  }
  std::string file = relu.Serialize();
  ShareFirst(file, *GetProgram(file.data())->execution_plan());
  EXPECT_THAT(OpenPte(file), StatusIs(kBroken, HasSubstr("is a duplicate")));
  belay::Program::Options options;
  options.limits.metadata_bytes = 19'999;
  ASSERT_LT(file.size(), 10'000u);
  EXPECT_THAT(OpenPte(file, options),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("execution_plan: the methods' names have 20000 bytes")));
}

// Each list has its own limit, whatever limit most programs reach first.
TEST(OpenProgramTest, LimitsEachList) {
  const auto open = [](auto add, auto set) {
    Relu relu;
    add(relu);
    belay::Program::Options options;
    set(options.limits);
    return OpenPte(relu.Serialize(), options).status();
  };
  const auto limited = [](std::string_view what) {
    return StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(what));
  };
  const auto two = [](Limits& l) { l.values = 2; };
  EXPECT_OK(open([](Relu&) {}, two));
  EXPECT_THAT(open([](Relu& p) { p.Int(1); }, two), limited("3 values, the limit 'values' is 2"));
  EXPECT_THAT(open([](Relu& p) { p.method().non_const_buffer_sizes.push_back(0); }, two),
              limited("3 values, the limit 'values' is 2"));
  EXPECT_THAT(open([](Relu& p) { p.method().inputs.assign(3, 0); }, two),
              limited("3 inputs and 1 outputs, the limit 'values' is 2"));
  EXPECT_THAT(open([](Relu& p) { p.method().outputs.assign(3, 0); }, two),
              limited("1 inputs and 3 outputs, the limit 'values' is 2"));
  const auto one = [](Limits& l) { l.instructions = 1; };
  EXPECT_OK(open([](Relu&) {}, one));
  EXPECT_THAT(open([](Relu& p) { p.Move(p.x, p.y); }, one),
              limited("2 instructions, the limit 'instructions' is 1"));
  EXPECT_THAT(
      open([](Relu& p) { p.method().operators.push_back(std::make_unique<OperatorT>()); }, one),
      limited("2 operators, the limit 'instructions' is 1"));
  const auto elements = [](Limits& l) { l.list_elements = 3; };
  EXPECT_OK(open([](Relu& p) { p.TensorList({0, 1, 0}); }, elements));
  EXPECT_THAT(open(
                  [](Relu& p) {
                    p.TensorList({0, 1});
                    p.OptionalTensorList({0, -1});
                  },
                  elements),
              limited("4 list_elements, the limit 'list_elements' is 3"));
}

}  // namespace
}  // namespace belay::pte
