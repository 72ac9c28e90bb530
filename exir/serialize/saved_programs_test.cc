#include "exir/serialize/saved_programs.h"

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/serialize/saved_programs.pb.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/sha256.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

// Two methods that share a weight; the second uses it as a tied weight and in a delegate.
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

TEST_F(SavedProgramsTest, GraphsWeightsAndDelegatesRoundTrip) {
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

TEST_F(SavedProgramsTest, LoweringOptionsRoundTrip) {
  SavedLoweringOptions options;
  options.named_data = {{"tokenizer", Storage::Own(std::vector<std::byte>(3, std::byte{7}))}};
  options.constant_methods = {{"get_max_seq_len", 512}};
  options.write_state_in_place = true;
  ASSERT_OK(WriteSavedPrograms(Methods(), Path("p.bir"), options));
  ASSERT_OK_AND_ASSIGN(const SavedLoweringOptions read, ReadSavedLoweringOptions(Path("p.bir")));
  ASSERT_EQ(read.named_data.size(), 1);
  EXPECT_EQ(read.named_data[0].first, "tokenizer");
  EXPECT_EQ(read.named_data[0].second.bytes, options.named_data[0].second.bytes);
  EXPECT_EQ(read.constant_methods, options.constant_methods);
  EXPECT_TRUE(read.write_state_in_place);
  ASSERT_OK_AND_ASSIGN(const MethodPrograms methods, ReadSavedPrograms(Path("p.bir"), *ops_));
  EXPECT_EQ(methods.size(), 2);
  ASSERT_OK(WriteSavedPrograms(Methods(), Path("q.bir")));
  ASSERT_OK_AND_ASSIGN(const SavedLoweringOptions none, ReadSavedLoweringOptions(Path("q.bir")));
  EXPECT_TRUE(none.named_data.empty() && none.constant_methods.empty());
  EXPECT_FALSE(none.write_state_in_place);
}

TEST_F(SavedProgramsTest, RejectsTruncatedFiles) {
  const std::string file = SavePrograms(Methods()).ToString();
  for (size_t size = 0; size < file.size(); size += size < 200 ? 1 : 61) {
    const absl::Status status = Parse(file.substr(0, size)).status();
    EXPECT_EQ(status.code(),
              size < 8 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss)
        << size << ": " << status;
  }
  EXPECT_THAT(Parse(file.substr(0, 64)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes after the header, got 0")));
}

TEST_F(SavedProgramsTest, DetectsAnyChangedByte) {
  const std::string file = SavePrograms(Methods()).ToString();
  for (size_t i = 0; i < file.size(); i += i < 300 ? 1 : 37) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    EXPECT_FALSE(Parse(changed).ok()) << i;
  }
  EXPECT_THAT(Parse(file + "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes of storages")));
}

TEST_F(SavedProgramsTest, RejectsNewerVersions) {
  std::string file = SavePrograms(Methods()).ToString();
  file[8] = 2;
  EXPECT_THAT(Parse(file),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("expected version 1, got 2")));
}

TEST_F(SavedProgramsTest, VerifiesPrograms) {
  MethodPrograms methods = Methods();
  methods[0].second.signature.inputs.pop_back();
  EXPECT_THAT(Parse(SavePrograms(methods).ToString()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("method 'prefill'")));
}

TEST_F(SavedProgramsTest, RejectsDuplicateMethodNames) {
  MethodPrograms methods = Methods();
  methods[1].first = "prefill";
  EXPECT_THAT(
      Parse(SavePrograms(methods).ToString()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("duplicate method 'prefill'")));
  methods[1].first = "\xff";
  EXPECT_THAT(Parse(SavePrograms(methods).ToString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in UTF-8")));
  EXPECT_THAT(Parse(SavePrograms({}).ToString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected methods")));
}

TEST_F(SavedProgramsTest, LimitsTextSize) {
  const std::string file = SavePrograms(Methods()).ToString();
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(file.data()),
                                          file.size());
  EXPECT_THAT(ParseSavedPrograms(nullptr, bytes, *ops_, {.max_text_bytes = 100}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("max_text_bytes is 100")));
}

// A file with this message, a correct digest, and these bytes after it.
std::string FileOf(const std::string& message, std::string_view data = "") {
  std::string file = "BIRBELAY";
  const auto put = [&](auto number) {
    file.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  put(uint32_t{1});
  put(uint32_t{0});
  put(uint64_t{message.size()});
  file += Sha256(message);
  put(uint64_t{0});
  file += message;
  if (!data.empty()) file.resize((file.size() + 4095) / 4096 * 4096);
  return file + std::string(data);
}

// Files with correct digests and invalid contents.
TEST_F(SavedProgramsTest, RejectsMalformedMessages) {
  const auto message = [](const std::string& name, const std::string& text, int storages = 0,
                          uint64_t size = 4, uint64_t offset = 0) {
    schema::SavedPrograms programs;
    programs.add_methods()->set_name(name);
    programs.mutable_methods(0)->set_text(text);
    for (int i = 0; i < storages; ++i) {
      schema::SavedPrograms::Storage& storage = *programs.add_storages();
      storage.set_size(size);
      storage.set_offset(offset);
      storage.set_sha256(Sha256("1234"));
    }
    return programs.SerializeAsString();
  };
  const std::string text =
      "program aten { graph(%x: f32[2] user_input) { return (%x user_output) } }";
  EXPECT_OK(Parse(FileOf(message("m", text))).status());
  EXPECT_OK(Parse(FileOf(message("m", text, 1), "1234")).status());
  const struct {
    std::string file;
    std::string_view problem;
  } kCases[] = {
      {FileOf("\xff\xff"), "the message does not parse"},
      {FileOf(message("", text)), "expected method names in UTF-8"},
      {FileOf(message("m", "program nothing")), "method 'm'"},
      {FileOf(message("m", text, 1, 0), "1234"), "storage#0: expected bytes, got none"},
      {FileOf(message("m", text, 1, 4, 64), "1234"), "storage#0: expected the offset 0, got 64"},
      {FileOf(message("m", text, 2), "1234"), "storage#1: expected the offset 64, got 0"},
  };
  for (const auto& [file, problem] : kCases) {
    EXPECT_THAT(Parse(file),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(problem))));
  }
}

TEST_F(SavedProgramsTest, RejectsMalformedLoweringOptions) {
  const auto error = [&](const std::vector<std::pair<std::string, uint32_t>>& data,
                         const std::vector<std::string>& constant_methods) {
    schema::SavedPrograms programs;
    programs.add_methods()->set_name("m");
    programs.mutable_methods(0)->set_text(
        "program aten { graph(%x: f32[2] user_input) { return (%x user_output) } }");
    schema::SavedPrograms::Storage& storage = *programs.add_storages();
    storage.set_size(4);
    storage.set_sha256(Sha256("1234"));
    for (const auto& [key, index] : data) {
      schema::SavedPrograms::NamedData& named = *programs.add_named_data();
      named.set_key(key);
      named.set_storage(index);
    }
    for (const std::string& name : constant_methods) {
      programs.add_constant_methods()->set_name(name);
    }
    return Parse(FileOf(programs.SerializeAsString(), "1234")).status();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_OK(error({{"a", 0}, {"b", 0}}, {"n"}));
  EXPECT_THAT(error({{"a", 1}}, {}),
              StatusIs(kInvalid, HasSubstr("named data 'a': expected a storage below 1, got 1")));
  for (const char* key : {"", "\xff", "a"}) {
    EXPECT_THAT(error({{"a", 0}, {key, 0}}, {}), StatusIs(kInvalid, HasSubstr("distinct keys")));
  }
  for (const char* name : {"", "\xff", "n", "m"}) {
    EXPECT_THAT(error({}, {"n", name}), StatusIs(kInvalid, HasSubstr("distinct names")));
  }
}

TEST_F(SavedProgramsTest, InspectsFilesWithoutParsingPrograms) {
  const MethodPrograms methods = Methods();
  ASSERT_OK(WriteSavedPrograms(methods, Path("p.bir")));
  ASSERT_OK_AND_ASSIGN(const SavedProgramsInfo info, InspectSavedPrograms(Path("p.bir")));
  EXPECT_EQ(info.file_bytes, SavePrograms(methods).ToString().size());
  ASSERT_EQ(info.methods.size(), 2u);
  EXPECT_EQ(info.methods[0].first, "prefill");
  EXPECT_GT(info.methods[0].second, 0u);
  EXPECT_EQ(info.methods[1].first, "decode");
  ASSERT_FALSE(info.storages.empty());
  EXPECT_EQ(info.storages[0], 24u);
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, SavedMethodNames(Path("p.bir")));
  EXPECT_EQ(names, (std::vector<std::string>{"prefill", "decode"}));
}

TEST_F(SavedProgramsTest, ErrorsNameTheFile) {
  const auto each = [&](const std::string& path) {
    return std::vector<absl::Status>{ReadSavedPrograms(path, *ops_).status(),
                                     InspectSavedPrograms(path).status(),
                                     SavedMethodNames(path).status()};
  };
  for (const absl::Status& status : each(Path("missing.bir"))) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing.bir")));
  }
  std::ofstream(Path("short.bir"), std::ios::binary) << "BIRBELAY";
  for (const absl::Status& status : each(Path("short.bir"))) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("short.bir")));
  }
  // A damaged storage is detected when the programs are read, but not when only names are read.
  std::string file = SavePrograms(Methods()).ToString();
  file.back() = static_cast<char>(file.back() ^ 1);
  std::ofstream(Path("damaged.bir"), std::ios::binary) << file;
  EXPECT_THAT(InspectSavedPrograms(Path("damaged.bir")).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("does not match its SHA-256")));
  EXPECT_OK(SavedMethodNames(Path("damaged.bir")).status());
}

}  // namespace
}  // namespace belay::exir
