#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "exir/import/testing/archive.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/ops/standard_ops.h"
#include "fuzz/generators/byte_source.h"
#include "fuzz/generators/container_generator.h"
#include "fuzz/generators/edge_program_generator.h"
#include "fuzz/generators/operator_call_generator.h"
#include "fuzz/generators/program_generator.h"
#include "fuzz/generators/tensor_generator.h"
#include "gtest/gtest.h"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/executor/testing/program_builder.h"

namespace belay::fuzz {
namespace {

// Equal `index` gives equal bytes.
std::string RandomBytes(uint64_t index, size_t size) {
  Random random(TestSeed(), index);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Next());
  return bytes;
}

TEST(ByteSourceTest, DecodesBytes) {
  ByteSource source(
      std::string_view("\x05\x01\x02\xff\x03"
                       "abcdef",
                       11));
  EXPECT_EQ(source.Below(4), 1u);         // 5 mod 4, of one byte
  EXPECT_EQ(source.Below(1000), 0x201u);  // of two
  EXPECT_TRUE(source.Chance(1));          // the largest byte
  EXPECT_EQ(source.Text(16), "abc");      // its length first
  EXPECT_EQ(source.Bytes(2), "de");
  EXPECT_EQ(source.Rest(), "f");
  EXPECT_TRUE(source.empty());
}

TEST(ByteSourceTest, ReturnsZerosAtEnd) {
  ByteSource source("");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(source.Below(7), 0u);
    EXPECT_FALSE(source.Chance(100));
    EXPECT_EQ(source.Text(9), "");
    EXPECT_EQ(source.Between(-3, 5), -3);
  }
}

TEST(ByteSourceTest, StaysWithinBounds) {
  const std::string bytes = RandomBytes(1, 20000);
  ByteSource source(bytes);
  bool low = false, high = false;
  while (!source.empty()) {
    const int64_t number = source.Between(-2, 2);
    EXPECT_TRUE(number >= -2 && number <= 2);
    low = low || number == -2;
    high = high || number == 2;
    EXPECT_LT(source.Below(300), 300u);
    source.Between(INT64_MIN, INT64_MAX);
    source.Interesting();
  }
  EXPECT_TRUE(low && high);
}

TEST(TensorGeneratorTest, ElementsDoNotOverlap) {
  for (uint64_t index = 0; index < 500; ++index) {
    const std::string bytes = RandomBytes(index, 300);
    ByteSource source(bytes);
    const DType dtype = GenerateDType(source);
    const Sizes sizes = GenerateSizes(source, 5, 100);
    ASSERT_TRUE(NumElements(sizes).has_value());
    EXPECT_LE(*NumElements(sizes), 100);
    EXPECT_TRUE(IsPermutation(GenerateDimOrder(source, sizes.size())));
    ASSERT_OK_AND_ASSIGN(const GeneratedTensor tensor, GenerateTensor(source, dtype, sizes));
    EXPECT_EQ(tensor.view.sizes, sizes);
    std::set<int64_t> offsets;
    const auto size = static_cast<int64_t>(DTypeSize(dtype));
    for (StridedIterator<1> it(sizes, {tensor.view.strides}); !it.done(); it.Next()) {
      EXPECT_TRUE(offsets.insert(it.offset(0)).second);
      EXPECT_LE((it.offset(0) + 1) * size, static_cast<int64_t>(tensor.memory.size()));
      if (dtype == DType::kBool) EXPECT_LE(tensor.view.as<uint8_t>()[it.offset(0)], 1);
    }
  }
}

TEST(TensorGeneratorTest, RejectsLargeTensors) {
  ByteSource source("");
  EXPECT_THAT(FillTensor(source, DType::kFloat64, {1 << 20}, {1}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(FillTensor(source, DType::kFloat64, {2, 2}, {INT64_MAX, INT64_MAX}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(FillTensor(source, DType::kFloat64, {2}, {-1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(FillTensor(source, DType::kFloat64, {2}, {1, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// Enough files pass the reader, and the output depends only on the bytes.
TEST(ProgramGeneratorTest, ManyFilesAreValid) {
  const std::vector<std::string_view> operators = {"test.add.Tensor", "test.size.default"};
  std::set<std::string> different;
  int opened = 0;
  constexpr int kFiles = 2000;
  for (uint64_t index = 0; index < kFiles; ++index) {
    const std::string bytes = RandomBytes(index, 120);
    ByteSource a(bytes), b(bytes);
    const std::string file = GenerateProgramFile(a, operators);
    EXPECT_EQ(GenerateProgramFile(b, operators), file);
    different.insert(file);
    opened += OpenFileBytes(file).ok();
  }
  EXPECT_GT(different.size(), kFiles * 9 / 10u);
  EXPECT_GT(opened, kFiles / 20);
  EXPECT_LT(opened, kFiles * 9 / 10);
}

TEST(ProgramGeneratorTest, DelegatesReceiveTheirBlob) {
  int opened = 0;
  for (uint64_t index = 0; index < 500; ++index) {
    const std::string bytes = RandomBytes(index, 100);
    ByteSource source(bytes);
    const absl::StatusOr<Program> program = OpenFileBytes(GenerateDelegateFile(source, "fake"));
    EXPECT_TRUE(source.empty());
    if (!program.ok()) continue;
    ++opened;
    const DelegatePlan& delegate = program->methods()[0].delegates[0];
    EXPECT_EQ(delegate.backend_id, "fake");
    const std::string_view blob(reinterpret_cast<const char*>(delegate.blob.data()),
                                delegate.blob.size());
    EXPECT_TRUE(bytes.ends_with(blob));
  }
  EXPECT_GT(opened, 100);  // the others have names that are not UTF-8
}

TEST(ContainerGeneratorTest, SomeArchivesAreImported) {
  int imported = 0;
  std::set<std::string> errors;
  for (uint64_t index = 0; index < 1000; ++index) {
    const std::string bytes = RandomBytes(index, 300);
    ByteSource source(bytes);
    const absl::Status status = exir::ImportText(GenerateContainer(source)).status();
    imported += status.ok();
    errors.insert(std::string(status.message().substr(0, 30)));
  }
  EXPECT_GT(imported, 20);
  EXPECT_GT(errors.size(), 20u);
  ByteSource nothing("");
  EXPECT_OK(exir::ImportText(GenerateContainer(nothing)));
}

TEST(OperatorCallGeneratorTest, CallsEveryOperator) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<exir::OpRegistry> ops, exir::CreateStandardOps());
  const std::vector<const exir::OpOverload*> operators = CallableOperators(*ops);
  ASSERT_GT(operators.size(), 200u);
  std::set<std::string> called;
  int opened = 0, total = 0;
  for (size_t k = 0; k < operators.size(); ++k) {
    for (uint64_t index = 0; index < 5; ++index, ++total) {
      const std::string bytes = RandomBytes(1000 * k + index, 100);
      ByteSource source(bytes);
      const absl::StatusOr<Program> program =
          OpenFileBytes(GenerateOperatorCallFile(source, {&operators[k], 1}, TensorSizes::kSmall));
      if (!program.ok()) continue;
      ++opened;
      for (const std::string& name : program->methods()[0].operators) called.insert(name);
    }
  }
  EXPECT_GT(opened, total / 2);
  EXPECT_GT(called.size(), operators.size() * 9 / 10);
}

TEST(EdgeProgramGeneratorTest, ProgramsVerify) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<exir::OpRegistry> ops, exir::CreateStandardOps());
  std::set<std::string> different;
  for (uint64_t index = 0; index < 200; ++index) {
    const std::string bytes = RandomBytes(index, 60);
    ByteSource source(bytes);
    const exir::ExportedProgram program = GenerateEdgeProgram(source, *ops);
    EXPECT_OK(exir::Verify(program));
    different.insert(exir::PrintProgram(program));
  }
  EXPECT_GT(different.size(), 190u);
}

// A changed byte near the end changes little, so that coverage guides the fuzzer.
TEST(EdgeProgramGeneratorTest, SimilarBytesGiveSimilarPrograms) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<exir::OpRegistry> ops, exir::CreateStandardOps());
  const std::string bytes(60, '\3');
  std::string changed = bytes;
  changed[40] = '\5';
  ByteSource a(bytes), b(changed);
  // Inputs are created on demand and printed first, so sets of lines are compared, not prefixes.
  const auto lines = [&](ByteSource& source) {
    std::istringstream text(exir::PrintProgram(GenerateEdgeProgram(source, *ops)));
    std::multiset<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.insert(line);
    return lines;
  };
  const std::multiset<std::string> x = lines(a), y = lines(b);
  std::vector<std::string> same;
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(same));
  EXPECT_LT(same.size(), x.size());
  EXPECT_GT(same.size(), x.size() / 4) << same.size() << " of " << x.size();
}

}  // namespace
}  // namespace belay::fuzz
