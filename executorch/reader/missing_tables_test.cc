// Missing tables and vectors: FlatBuffers treats every field as optional.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executorch/reader/data_file.h"
#include "executorch/reader/open_program.h"
#include "executorch/reader/testing/pte_builder.h"
#include "executorch/reader/testing/table_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kBroken = absl::StatusCode::kInvalidArgument;

// y = relu(x) and delegate(y), with at least one of each table, and no segment.
struct Everything : Relu {
  Everything() {
    ints = IntList({});
    doubles = Add(DoubleListT());
    bools = Add(BoolListT());
    tensors = TensorList({});
    optionals = OptionalTensorList({});
    text = String("text");
    z = Tensor({2, 3});
    w = Tensor({0});
    tensor(w).data_buffer_idx = 1;
    program().mutable_data_segments.push_back(std::make_unique<SubsegmentOffsetsT>());
    program().mutable_data_segments[0]->offsets = {0, 0};
    program().named_data.push_back(std::make_unique<NamedDataT>());
    program().named_data[0]->key = "key";
    program().backend_delegate_data.push_back(std::make_unique<BackendDelegateInlineDataT>());
    program().backend_delegate_data[0]->data = {'b'};
    method().container_meta_type = std::make_unique<ContainerMetadataT>();
    method().container_meta_type->encoded_inp_str = "in";
    method().container_meta_type->encoded_out_str = "out";
    auto delegate = std::make_unique<BackendDelegateT>();
    delegate->id = "demo";
    delegate->processed = std::make_unique<BackendDelegateDataReferenceT>();
    delegate->processed->location = DataLocation::INLINE;
    delegate->compile_specs.push_back(std::make_unique<CompileSpecT>());
    delegate->compile_specs[0]->key = "k";
    delegate->compile_specs[0]->value = {'v'};
    method().delegates.push_back(std::move(delegate));
    DelegateCallT call;
    call.args = {y, z};
    auto instruction = std::make_unique<InstructionT>();
    instruction->instr_args.Set(std::move(call));
    method().chains[0]->instructions.push_back(std::move(instruction));
    auto frames = std::make_unique<FrameListT>();
    frames->items.push_back(std::make_unique<FrameT>());
    frames->items[0]->filename = "f.py";
    method().chains[0]->stacktrace.push_back(std::move(frames));
    Output(z);
  }
  template <class T>
  int32_t Add(T content) {
    method().values.push_back(std::make_unique<EValueT>());
    method().values.back()->val.Set(std::move(content));
    return static_cast<int32_t>(method().values.size() - 1);
  }
  int32_t ints, doubles, bools, tensors, optionals, text, z, w;
};

struct Case {
  std::function<const void*(const pte::Program&)> table;
  flatbuffers::voffset_t field;
  std::string message;  // "": it need not be there
};

const ExecutionPlan& PlanOf(const pte::Program& p) { return *p.execution_plan()->Get(0); }
const EValue& ValueOf(const pte::Program& p, int32_t value) {
  return *PlanOf(p).values()->Get(static_cast<flatbuffers::uoffset_t>(value));
}
const Instruction& InstructionOf(const pte::Program& p, uint32_t i) {
  return *PlanOf(p).chains()->Get(0)->instructions()->Get(i);
}
const BackendDelegate& DelegateOf(const pte::Program& p) { return *PlanOf(p).delegates()->Get(0); }

void ExpectNamed(const std::string& file, const std::vector<Case>& cases) {
  ASSERT_OK(OpenPte(file));
  for (const Case& c : cases) {
    std::string damaged = file;
    Remove(damaged, c.table(*GetProgram(damaged.data())), c.field);
    const absl::Status status = OpenPte(damaged).status();
    if (c.message.empty()) {
      EXPECT_OK(status) << &c - cases.data();
    } else {
      EXPECT_THAT(status, StatusIs(kBroken, HasSubstr(c.message))) << c.message;
    }
  }
}

TEST(MissingTablesTest, ProgramTables) {
  using P = pte::Program;
  const auto root = [](const P& p) -> const void* { return &p; };
  ExpectNamed(
      Everything().Serialize(),
      {{root, P::VT_EXECUTION_PLAN, "expected at least one method"},
       {root, P::VT_CONSTANT_SEGMENT, "constant_segment: expected at least one offset"},
       {root, P::VT_SEGMENTS, "segment 0 does not exist, there are 0"},
       {root, P::VT_MUTABLE_DATA_SEGMENTS, "mutable_data_segments[0]: entry 1 does not exist"},
       {root, P::VT_NAMED_DATA, ""},
       {root, P::VT_BACKEND_DELEGATE_DATA, "backend_delegate_data 0 does not exist, there are 0"},
       {[](const P& p) -> const void* { return p.constant_segment(); },
        SubsegmentOffsets::VT_OFFSETS, "constant_segment: expected at least one offset"},
       {[](const P& p) -> const void* { return p.mutable_data_segments()->Get(0); },
        SubsegmentOffsets::VT_OFFSETS, "mutable_data_segments[0]: entry 1 does not exist"},
       {[](const P& p) -> const void* { return p.named_data()->Get(0); }, pte::NamedData::VT_KEY,
        "named_data[0] '': the key is missing or not UTF-8"},
       {[](const P& p) -> const void* { return p.backend_delegate_data()->Get(0); },
        BackendDelegateInlineData::VT_DATA, ""}});
}

TEST(MissingTablesTest, MethodTables) {
  using P = ExecutionPlan;
  const auto plan = [](const pte::Program& p) -> const void* { return &PlanOf(p); };
  const auto specs = [](const pte::Program& p) -> const void* {
    return PlanOf(p).container_meta_type();
  };
  const auto chain = [](const pte::Program& p) -> const void* {
    return PlanOf(p).chains()->Get(0);
  };
  ExpectNamed(Everything().Serialize(),
              {{plan, P::VT_NAME, "its name is missing or not UTF-8"},
               {plan, P::VT_VALUES, "values are missing"},
               {plan, P::VT_INPUTS, "inputs are missing"},
               {plan, P::VT_OUTPUTS, "outputs are missing"},
               {plan, P::VT_CHAINS, "chains are missing"},
               {plan, P::VT_OPERATORS, "operator 0 does not exist, there are 0"},
               {plan, P::VT_DELEGATES, "delegates are missing"},
               {plan, P::VT_NON_CONST_BUFFER_SIZES, "non_const_buffer_sizes are missing"},
               {plan, P::VT_CONTAINER_META_TYPE, ""},
               {specs, ContainerMetadata::VT_ENCODED_INP_STR, ""},
               {specs, ContainerMetadata::VT_ENCODED_OUT_STR, ""},
               {chain, Chain::VT_INSTRUCTIONS, "chain 0: instructions are missing"},
               {chain, Chain::VT_STACKTRACE, ""}});
}

TEST(MissingTablesTest, ValueTables) {
  const Everything e;
  const auto content = [](int32_t value) {
    return [value](const pte::Program& p) -> const void* { return ValueOf(p, value).val(); };
  };
  const auto value = [](int32_t value) {
    return [value](const pte::Program& p) -> const void* { return &ValueOf(p, value); };
  };
  ExpectNamed(e.Serialize(),
              {{value(e.x), EValue::VT_VAL, "value 0: the Tensor is missing"},
               {value(e.ints), EValue::VT_VAL, "the IntList is missing"},
               {content(e.x), Tensor::VT_SIZES, "sizes are missing"},
               {content(e.x), Tensor::VT_DIM_ORDER, "dim_order is missing"},
               {content(e.text), String::VT_STRING_VAL, "the string is missing"},
               {content(e.ints), IntList::VT_ITEMS, "its items are missing"},
               {content(e.doubles), DoubleList::VT_ITEMS, "its items are missing"},
               {content(e.bools), BoolList::VT_ITEMS, "its items are missing"},
               {content(e.tensors), TensorList::VT_ITEMS, "its items are missing"},
               {content(e.optionals), OptionalTensorList::VT_ITEMS, "its items are missing"}});
}

TEST(MissingTablesTest, InstructionTables) {
  const auto instruction = [](const pte::Program& p) -> const void* {
    return &InstructionOf(p, 0);
  };
  const auto delegate = [](const pte::Program& p) -> const void* { return &DelegateOf(p); };
  const auto spec = [](const pte::Program& p) -> const void* {
    return DelegateOf(p).compile_specs()->Get(0);
  };
  const auto frames = [](const pte::Program& p) -> const void* {
    return PlanOf(p).chains()->Get(0)->stacktrace()->Get(0);
  };
  ExpectNamed(Everything().Serialize(),
              {{instruction, Instruction::VT_INSTR_ARGS, "its arguments are missing"},
               {[](const pte::Program& p) -> const void* { return PlanOf(p).operators()->Get(0); },
                Operator::VT_NAME, "operator 0: its name is missing"},
               {[](const pte::Program& p) -> const void* {
                  return InstructionOf(p, 0).instr_args_as_KernelCall();
                },
                KernelCall::VT_ARGS, "args are missing"},
               {[](const pte::Program& p) -> const void* {
                  return InstructionOf(p, 1).instr_args_as_DelegateCall();
                },
                DelegateCall::VT_ARGS, "args are missing"},
               {delegate, BackendDelegate::VT_ID, "delegate 0: its id is missing or not UTF-8"},
               {delegate, BackendDelegate::VT_PROCESSED, "delegate 0: processed is missing"},
               {delegate, BackendDelegate::VT_COMPILE_SPECS, ""},
               {spec, CompileSpec::VT_KEY, "compile spec 0 has no key or no value"},
               {spec, CompileSpec::VT_VALUE, "compile spec 0 has no key or no value"},
               {frames, FrameList::VT_ITEMS, ""},
               {[](const pte::Program& p) -> const void* {
                  return PlanOf(p).chains()->Get(0)->stacktrace()->Get(0)->items()->Get(0);
                },
                Frame::VT_FILENAME, ""}});
}

TEST(MissingTablesTest, OperatorWithoutOverloadUsesItsName) {
  std::string file = Relu().Serialize();
  Remove(file, PlanOf(*GetProgram(file.data())).operators()->Get(0), Operator::VT_OVERLOAD);
  EXPECT_THAT(OpenPte(file), StatusIs(absl::StatusCode::kUnimplemented,
                                      HasSubstr("'aten::relu' (chain 0, instruction 0)")));
  Relu whole;
  whole.method().operators[0]->name = "aten::relu.out";
  file = whole.Serialize();
  Remove(file, PlanOf(*GetProgram(file.data())).operators()->Get(0), Operator::VT_OVERLOAD);
  EXPECT_OK(OpenPte(file));
}

TEST(MissingTablesTest, ExternalTensorRequiresName) {
  Relu relu;
  const int32_t w = relu.External({2}, "w");
  std::string file = relu.Serialize();
  Remove(file, ValueOf(*GetProgram(file.data()), w).val_as_Tensor()->extra_tensor_info(),
         ExtraTensorInfo::VT_FULLY_QUALIFIED_NAME);
  EXPECT_THAT(OpenPte(file), StatusIs(kBroken, HasSubstr("fully_qualified_name, its key in a data "
                                                         "file, is missing")));
}

// A persistent buffer needs no name.
TEST(MissingTablesTest, BufferNameIsOptional) {
  Relu relu;
  const int32_t buffer = relu.Tensor({2});
  relu.tensor(buffer).extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
  relu.Output(buffer);
  std::string file = relu.Serialize();
  Remove(file, ValueOf(*GetProgram(file.data()), buffer).val_as_Tensor()->extra_tensor_info(),
         ExtraTensorInfo::VT_FULLY_QUALIFIED_NAME);
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(file));
  ASSERT_EQ(program.methods()[0].state.size(), 1u);
  EXPECT_EQ(program.methods()[0].state[0].name, "value 2");
}

}  // namespace
}  // namespace belay::pte
