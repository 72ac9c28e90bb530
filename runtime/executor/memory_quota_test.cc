// Opening and loading with too little memory fails without leaks, whichever allocation fails. A
// separate binary, since memory_quota.h replaces the allocator.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "runtime/core/arena.h"
#include "runtime/core/testing.h"
#include "runtime/executor/method.h"
#include "runtime/executor/shared_state.h"
#include "runtime/executor/testing/fake_backend.h"
#include "runtime/executor/testing/memory_quota.h"
#include "runtime/executor/testing/program_builder.h"
#include "runtime/executor/testing/sample_program.h"
#include "runtime/executor/testing/test_kernels.h"
#include "runtime/program/program_parts.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

class MemoryQuotaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kHasMemoryQuota) GTEST_SKIP() << "the sanitizer has its own allocator";
    ASSERT_OK(kernels_.Add(TestKernels()));
    ASSERT_OK(backends_.Add(&fake_));
    // Programs of any size may use large arenas in this test.
    options_.limits.arena_bytes = 1 << 30;
  }

  void SetFile(const std::string& file, size_t misalignment = 0) {
    file_ = AlignedBuffer::Create(file.size() + 8).value();
    std::byte* const data = file_.data() + misalignment;
    std::copy_n(reinterpret_cast<const std::byte*>(file.data()), file.size(), data);
    bytes_ = absl::MakeConstSpan(data, file.size());
  }

  // Opens the file and loads all of its methods. Checks that small allocations stay within the
  // bound checked beforehand.
  absl::Status OpenAndLoad() {
    const absl::StatusOr<Program> program = Program::OpenBytes(nullptr, bytes_, options_);
    CheckBound("Program::OpenBytes");
    if (!program.ok()) return program.status();
    for (const MethodPlan& plan : program->methods()) {
      const int64_t before = memory_quota.live_objects;
      memory_quota.peak_objects = before;
      memory_quota.largest_block = 0;
      const absl::StatusOr<Method> method = Method::Load(*program, plan.name, kernels_, backends_);
      memory_quota.peak_objects -= before;
      CheckBound("Method::Load");
      if (!method.ok()) return method.status();
    }
    return absl::OkStatus();
  }

  void CheckBound(const char* what) {
    if (memory_quota.peak_objects <= memory_quota.largest_block) return;
    const bool on = std::exchange(memory_quota.on, false);
    // Before the first memory check: a file without valid metadata.
    if (memory_quota.largest_block > 0 || memory_quota.peak_objects > 4096) {
      ADD_FAILURE() << what << " held " << memory_quota.peak_objects << " bytes and had asked for "
                    << memory_quota.largest_block << " " << label_;
    }
    memory_quota.on = on;
  }

  FakeBackend fake_;
  KernelRegistry kernels_;
  BackendRegistry backends_;
  Program::Options options_;
  AlignedBuffer file_;
  absl::Span<const std::byte> bytes_;
  std::string label_;
};

std::string SampleFile() {
  TestProgram sample = SampleProgram();
  // Large enough to fail when the tables did not.
  sample.metadata().mutable_methods(0)->set_arena_bytes(4 << 20);
  sample.metadata().mutable_methods(0)->set_state_bytes(2 << 20);
  std::string file = sample.Serialize();
  file.replace(file.rfind("blob"), 4, "add1");
  return file;
}

TEST_F(MemoryQuotaTest, EveryFailingAllocationIsAnErrorWithoutLeaks) {
  SetFile(SampleFile());
  ASSERT_OK(OpenAndLoad());  // warms up the fake backend's own memory
  const std::set<std::string> messages = FailEachAllocation([this] { return OpenAndLoad(); });
  EXPECT_GT(memory_quota.steps, 50u);
  EXPECT_THAT(messages, ::testing::Contains(HasSubstr("bytes of metadata")));
  EXPECT_THAT(messages, ::testing::Contains("no memory for 4194304 bytes"));
  EXPECT_THAT(messages, ::testing::Contains("no memory for 2097152 bytes"));
}

// Method::Load only, which needs less.
TEST_F(MemoryQuotaTest, MethodLoadFailsWithoutLeaks) {
  SetFile(SampleFile());
  ASSERT_OK(OpenAndLoad());
  ASSERT_OK_AND_ASSIGN(const Program program, Program::OpenBytes(nullptr, bytes_, options_));
  const std::set<std::string> messages = FailEachAllocation(
      [&] { return Method::Load(program, "forward", kernels_, backends_).status(); });
  EXPECT_THAT(messages, ::testing::Contains(::testing::StartsWith(
                            "no memory for the tables of method 'forward', which")));
}

// Copies of small inputs and of constants, which are checked before the arena is allocated. Copies of
// large inputs are mapped (arena_test).
TEST_F(MemoryQuotaTest, FailingCopiesAreErrors) {
  TestProgram made;
  TestMethod method = made.AddMethod("forward");
  method.Input("x", DType::kFloat32, {1 << 13});
  method.Constant(made.AddConstant(std::vector<float>(1 << 19)), DType::kFloat32, {1 << 19});
  SetFile(made.Serialize(), /*misalignment=*/2);
  ASSERT_OK_AND_ASSIGN(const Program program, Program::OpenBytes(nullptr, bytes_, options_));
  const std::set<std::string> messages = FailEachAllocation(
      [&] { return Method::Load(program, "forward", kernels_, backends_).status(); });
  EXPECT_THAT(messages, ::testing::Contains("no memory for 32768 bytes"));
  EXPECT_THAT(messages, ::testing::Contains("no memory for 2097152 bytes"));
}

TEST_F(MemoryQuotaTest, SharedStateFailsWithoutLeaks) {
  TestProgram made;
  made.AddMethod("forward").State("s", DType::kFloat32, {1 << 18});
  SetFile(made.Serialize());
  ASSERT_OK_AND_ASSIGN(const Program program, Program::OpenBytes(nullptr, bytes_, options_));
  const std::set<std::string> messages =
      FailEachAllocation([&] { return SharedState::Create(program).status(); });
  // The buffers are mapped, not allocated (arena_test).
  EXPECT_THAT(messages, ::testing::Contains(
                            ::testing::StartsWith("no memory for the tables of shared state")));
}

// Input of readers of other formats.
TEST_F(MemoryQuotaTest, ProgramPartsFailWithoutLeaks) {
  TestProgram made;
  TestMethod method = made.AddMethod("forward");
  for (int i = 0; i < 1000; ++i) method.Int(i);
  const std::string metadata = made.metadata().SerializeAsString();
  const std::set<std::string> messages = FailEachAllocation([&] {
    ProgramParts parts;
    parts.metadata =
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(metadata.data()), metadata.size());
    return Program::FromParts(std::move(parts), Limits()).status();
  });
  EXPECT_THAT(messages, ::testing::Contains(HasSubstr("no memory for the content of ")));
}

// Returns an otherwise valid file with this metadata.
std::string FileOf(const std::string& metadata) {
  std::string file = TestProgram().Serialize();
  file.resize(kHeaderBytes);
  file += metadata;
  const uint64_t size = metadata.size();
  for (int i = 0; i < 8; ++i) {
    file[static_cast<size_t>(16 + i)] = static_cast<char>(size >> (8 * i));
    file[static_cast<size_t>(24 + i)] = 0;
  }
  FixHeader(file);
  return file;
}

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7) text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}
std::string Field(int number, const std::string& content) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(content.size()) + content;
}
std::string Repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

// The most expensive content per byte for the parser and the validators.
TEST_F(MemoryQuotaTest, MemoryStaysWithinCheckedBound) {
  constexpr int kMany = 20'000;
  const auto method = [](const std::string& content) { return Field(5, Field(1, "m") + content); };
  std::vector<std::pair<std::string, std::string>> cases;
  const auto add = [&](std::string label, std::string metadata) {
    cases.emplace_back(std::move(label), std::move(metadata));
  };
  for (int field = 1; field <= 8; ++field) {
    const std::string name = std::to_string(field);
    add("empty fields " + name, Repeat(Field(field, ""), kMany));
    add("long fields " + name, Repeat(Field(field, std::string(100, '\x08')), kMany / 20));
    for (int inner = 1; inner <= 13; ++inner) {
      const std::string path = name + "." + std::to_string(inner);
      add("fields in one " + path, Field(field, Repeat(Field(inner, ""), kMany)));
      add("fields in each " + path, Repeat(Field(field, Field(inner, "")), kMany));
      for (int leaf = 1; field == 5 && leaf <= 12; ++leaf) {
        const std::string at = path + "." + std::to_string(leaf);
        add("leaves in one " + at, method(Field(inner, Repeat(Field(leaf, ""), kMany))));
        add("leaves in each " + at, method(Repeat(Field(inner, Field(leaf, "")), kMany)));
        add("numbers in " + at, method(Field(inner, Field(leaf, std::string(kMany, '\x01')))));
        add("numbers one by one in " + at,
            method(Field(inner, Repeat(Varint(static_cast<uint64_t>(leaf) << 3) + '\x01', kMany))));
      }
    }
  }
  // Values that replace each other: a oneof keeps the last; the arena has all.
  add("values that replace each other",
      method(Field(2, Repeat(Field(6, "") + Field(7, "") + Field(10, "") + Field(11, ""), kMany))));
  // Groups are unknown, including their content.
  add("groups", Repeat(std::string("\x7b\x7c", 2), kMany) + Repeat(method(""), kMany / 10));
  add("strings", method(Repeat(Field(5, std::string(17, 'x')), kMany)));
  // A long list that is used repeatedly, as an argument and as an output.
  const std::string values = Repeat(Field(2, Field(11, std::string("\x08\x01", 2))), 3000);
  std::string elements;
  for (int i = 0; i < 3000; ++i) elements += Varint(static_cast<uint64_t>(i));
  const std::string list = Field(2, Field(7, Field(1, elements)));
  for (const int operands : {2, 3}) {
    add("a list as operand",
        method(values + list + Field(5, "op") +
               Field(7, Field(1, Field(operands, Repeat(Varint(3000), 2000))))));
  }
  const google::protobuf::LogSilencer quiet;
  for (const auto& [label, metadata] : cases) {
    SetFile(FileOf(metadata));
    label_ = "(" + label + ")";
    memory_quota.Start(INT64_MAX);
    absl::Status status = OpenAndLoad();
    status = absl::OkStatus();
    EXPECT_EQ(memory_quota.Stop(), 0) << label;
  }
}

TEST_F(MemoryQuotaTest, DamagedProgramsStayWithinCheckedBound) {
  const std::string valid = SampleFile();
  SetFile(valid);
  ASSERT_OK(OpenAndLoad());  // warms up the fake backend's own memory
  const size_t metadata = static_cast<uint8_t>(valid[16]) + 256 * static_cast<uint8_t>(valid[17]);
  std::mt19937_64 random(TestSeed());
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const google::protobuf::LogSilencer quiet;
  int loaded = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string file = valid;
    for (size_t flips = 1 + below(3); flips > 0; --flips) {
      file[kHeaderBytes + below(metadata)] = static_cast<char>(below(2) ? random() : below(24));
    }
    FixHeader(file);
    SetFile(file);
    label_ = "(damage " + std::to_string(i) + ")";
    memory_quota.Start(INT64_MAX);
    absl::Status status = OpenAndLoad();
    loaded += status.ok();
    status = absl::OkStatus();
    EXPECT_EQ(memory_quota.Stop(), 0) << i;
  }
  EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace belay
