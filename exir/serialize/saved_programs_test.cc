#include "exir/serialize/saved_programs.h"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/sha256.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

// Two methods of one weight, which the second has tied and in a delegate.
constexpr std::string_view kFirst = R"(program aten {
  constants { state "w": f32[2,3] }
  graph(%w: f32[2,3] parameter "w", %x: f32[2,3] user_input) {
    %y: f32[2,3] = aten.add.Tensor(%x, %w)  @"model.py":7
    return (%y user_output)
  }
})";
constexpr std::string_view kSecond = R"(program edge {
  constants { state "w": f32[2,3] state "t": f32[3,2]{strides=[1,3]} shares state "w" }
  graph(%w: f32[2,3] parameter "w", %t: f32[3,2]{strides=[1,3]} parameter "t",
        %x: f32[2,3] user_input) {
    %y: f32[2,3] = higher_order.executorch_call_delegate(module#0, %x)
    return (%y user_output)
  }
  module#0 backend "demo" specs ["k": "v"] {
    blob "AAEC"
    buffer "BwcH"
    data "key": buffer#0 align 16
    handles 1: [2,3]
    program edge {
      constants { state "w": f32[2,3] }
      graph(%w: f32[2,3] parameter "w", %x: f32[2,3] user_input) {
        %y: f32[2,3] = edge.aten.mul.Tensor(%x, %w)
        return (%y user_output)
      }
    }
  }
})";

class SavedProgramsTest : public TestInDirectory {
 protected:
  void SetUp() override {
    TestInDirectory::SetUp();
    ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps());
    std::vector<std::byte> bytes(24);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i + 1);
    weight_ = Storage::Own(std::move(bytes));
  }

  MethodPrograms Methods() {
    MethodPrograms methods;
    methods.emplace_back("prefill", ParseOrDie(kFirst, *ops_));
    methods.emplace_back("decode", ParseOrDie(kSecond, *ops_));
    for (auto& [name, program] : methods) Fill(program);
    return methods;
  }
  absl::StatusOr<MethodPrograms> Parse(std::string file) const {
    auto owner = std::make_shared<const std::string>(std::move(file));
    const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(owner->data()),
                                            owner->size());
    return ParseSavedPrograms(owner, bytes, *ops_);
  }

  std::unique_ptr<OpRegistry> ops_;
  Storage weight_;

 private:
  void Fill(ExportedProgram& program) {
    for (auto& [name, tensor] : program.state_dict) {
      ASSERT_OK_AND_ASSIGN(tensor, ConstantTensor::Create(tensor.dtype(), tensor.sizes(),
                                                          tensor.strides(), 0, weight_));
    }
  }
};

TEST_F(SavedProgramsTest, GraphsWeightsAndDelegatesComeBack) {
  const MethodPrograms methods = Methods();
  ASSERT_OK(WriteSavedPrograms(methods, Path("p.bir")));
  ASSERT_OK_AND_ASSIGN(const MethodPrograms read, ReadSavedPrograms(Path("p.bir"), *ops_));
  ASSERT_EQ(read.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read[i].first, methods[i].first);
    EXPECT_TRUE(Equal(read[i].second, methods[i].second)) << PrintProgram(read[i].second);
  }
  const ConstantTensor& weight = read[0].second.state_dict.at("w");
  EXPECT_EQ(weight.storage().bytes, weight_.bytes);
  // Shared with the other method.
  EXPECT_EQ(read[1].second.state_dict.at("t").storage().bytes.data(),
            weight.storage().bytes.data());
  EXPECT_EQ(read[1].second.lowered_modules[ModuleId(0)]->processed.bytes.size(), 3);
}

TEST_F(SavedProgramsTest, BytesAreStable) {
  const std::string file = SavePrograms(Methods()).ToString();
  EXPECT_EQ(file, SavePrograms(Methods()).ToString());
  ASSERT_OK_AND_ASSIGN(const MethodPrograms read, Parse(file));
  EXPECT_EQ(SavePrograms(read).ToString(), file);
}

TEST_F(SavedProgramsTest, TruncatedFilesAreErrors) {
  const std::string file = SavePrograms(Methods()).ToString();
  for (size_t size = 0; size < file.size(); size += size < 200 ? 1 : 61) {
    const absl::Status status = Parse(file.substr(0, size)).status();
    EXPECT_EQ(status.code(),
              size < 8 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss)
        << size << ": " << status;
  }
}

TEST_F(SavedProgramsTest, EveryByteCounts) {
  const std::string file = SavePrograms(Methods()).ToString();
  for (size_t i = 0; i < file.size(); i += i < 300 ? 1 : 37) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    EXPECT_FALSE(Parse(changed).ok()) << i;
  }
  EXPECT_THAT(Parse(file + "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes of storages")));
}

TEST_F(SavedProgramsTest, NewerVersionsAreRefused) {
  std::string file = SavePrograms(Methods()).ToString();
  file[8] = 2;
  EXPECT_THAT(Parse(file),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("expected version 1, got 2")));
}

TEST_F(SavedProgramsTest, ProgramsAreVerified) {
  MethodPrograms methods = Methods();
  methods[0].second.signature.inputs.pop_back();
  EXPECT_THAT(Parse(SavePrograms(methods).ToString()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("method 'prefill'")));
}

TEST_F(SavedProgramsTest, MethodsHaveNamesOfTheirOwn) {
  MethodPrograms methods = Methods();
  methods[1].first = "prefill";
  EXPECT_THAT(Parse(SavePrograms(methods).ToString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two methods 'prefill'")));
  methods[1].first = "\xff";
  EXPECT_THAT(Parse(SavePrograms(methods).ToString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in UTF-8")));
  EXPECT_THAT(Parse(SavePrograms({}).ToString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected methods")));
}

TEST_F(SavedProgramsTest, TextHasALimit) {
  const std::string file = SavePrograms(Methods()).ToString();
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(file.data()),
                                          file.size());
  EXPECT_THAT(ParseSavedPrograms(nullptr, bytes, *ops_, {.max_text_bytes = 100}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_text_bytes is 100")));
}

}  // namespace
}  // namespace belay::exir
