#include "executorch/reader/delegate_conversion.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "executorch/reader/open_program.h"
#include "executorch/reader/testing/pte_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/bytes.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::HasSubstr;

constexpr char kSample[] = "executorch/reader/testdata/xnn_linear_relu.pte";

// Replaces every delegate by the blob "converted" of the backend "other".
ConvertedDelegates Converted(size_t count, std::vector<NamedDataPlan> named_data = {}) {
  auto blob = std::make_shared<const std::string>("converted");
  ConvertedDelegates converted;
  converted.delegates.assign(count, ConvertedDelegate{"other", AsBytes(*blob)});
  converted.named_data = std::move(named_data);
  converted.owner = std::move(blob);
  return converted;
}

absl::StatusOr<belay::Program> Open(DelegateConverter converter) {
  OpenOptions options;
  options.convert_delegates = std::move(converter);
  return OpenProgram(kSample, options);
}

TEST(DelegateConversionTest, ReplacesDelegates) {
  ASSERT_OK_AND_ASSIGN(
      const belay::Program program,
      Open([](absl::Span<const ForeignDelegate> delegates, const NamedDataMap&, const Limits&,
              uint64_t) { return Converted(delegates.size(), {{"new", AsBytes("data")}}); }));
  ASSERT_EQ(program.methods()[0].delegates.size(), 1u);
  EXPECT_EQ(program.methods()[0].delegates[0].backend_id, "other");
  EXPECT_EQ(AsString(program.methods()[0].delegates[0].blob), "converted");
  // No delegate uses the file's.
  ASSERT_EQ(program.named_data().size(), 1u);
  EXPECT_EQ(program.named_data()[0].key, "new");
}

TEST(DelegateConversionTest, PassesTensorsAndNamedData) {
  ASSERT_OK(Open([](absl::Span<const ForeignDelegate> delegates, const NamedDataMap& named_data,
                    const Limits&, uint64_t file_bytes) -> absl::StatusOr<ConvertedDelegates> {
              EXPECT_EQ(delegates.size(), 1u);
              const ForeignDelegate& delegate = delegates[0];
              EXPECT_EQ(delegate.method, "forward");
              EXPECT_EQ(delegate.backend_id, "XnnpackBackend");
              EXPECT_EQ(delegate.arguments.size(), 1u);
              EXPECT_EQ(delegate.arguments[0].sizes.back(), 8);
              EXPECT_EQ(delegate.outputs.size(), 1u);
              EXPECT_EQ(delegate.outputs[0].sizes.back(), 4);
              EXPECT_FALSE(delegate.outputs[0].dynamic);
              EXPECT_GT(file_bytes, delegate.payload.size());
              EXPECT_THAT(named_data.Find("no such key"),
                          StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such key")));
              return Converted(1);
            }).status());
}

TEST(DelegateConversionTest, KeepsDelegatesThatAreNotConverted) {
  ASSERT_OK_AND_ASSIGN(const belay::Program program,
                       Open([](absl::Span<const ForeignDelegate> delegates, const NamedDataMap&,
                               const Limits&, uint64_t) {
                         ConvertedDelegates converted;
                         converted.delegates.resize(delegates.size());
                         return converted;
                       }));
  EXPECT_EQ(program.methods()[0].delegates[0].backend_id, "XnnpackBackend");
}

TEST(DelegateConversionTest, ErrorsFailTheOpening) {
  EXPECT_THAT(Open([](absl::Span<const ForeignDelegate>, const NamedDataMap&, const Limits&,
                      uint64_t) -> absl::StatusOr<ConvertedDelegates> {
                return absl::UnimplementedError("node 3 (Conv2d)");
              }),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("node 3 (Conv2d)")));
}

TEST(DelegateConversionTest, RejectsOtherBytesUnderAKeyOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const belay::Program program, Open({}));
  const std::string key = program.named_data()[0].key;
  const auto open = [&](absl::Span<const std::byte> bytes) {
    return Open([&, bytes](absl::Span<const ForeignDelegate>, const NamedDataMap&, const Limits&,
                           uint64_t) {
      ConvertedDelegates converted = Converted(1, {{key, bytes}});
      converted.delegates[0].reset();
      return converted;
    });
  };
  EXPECT_THAT(open(AsBytes("other")), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(key)));
  ASSERT_OK_AND_ASSIGN(const belay::Program same, open(program.named_data()[0].bytes));
  EXPECT_EQ(same.named_data().size(), 2u);
}

// Partitions of programs with dynamic sizes receive sizes as scalars, which payloads do not use.
class ScalarArgumentsTest : public ::testing::Test {
 protected:
  // A delegate with these arguments and y as its output.
  absl::StatusOr<belay::Program> OpenWith(std::vector<int32_t> arguments,
                                          DelegateConverter converter) {
    const int32_t y = pte_.Tensor({2, 3});
    arguments.push_back(y);
    pte_.Input(x_);
    pte_.Delegate("demo", "blob", std::move(arguments));
    pte_.Output(y);
    file_ = pte_.Serialize();
    return OpenProgramBytes(nullptr, AsBytes(file_), {}, {}, converter);
  }
  static size_t Arguments(const belay::Program& program) {
    return std::get<DelegateCallPlan>(program.methods()[0].instructions[0]).operands.arguments;
  }

  PteBuilder pte_;
  const int32_t x_ = pte_.Tensor({2, 3});
  std::string file_;
};

TEST_F(ScalarArgumentsTest, ConvertedDelegatesDoNotHaveThem) {
  ASSERT_OK_AND_ASSIGN(const belay::Program program,
                       OpenWith({pte_.Int(3), x_, pte_.Double(0.5)},
                                [](absl::Span<const ForeignDelegate> delegates, const NamedDataMap&,
                                   const Limits&, uint64_t) {
                                  EXPECT_EQ(delegates[0].arguments.size(), 3u);
                                  EXPECT_TRUE(delegates[0].arguments[0].is_scalar);
                                  EXPECT_FALSE(delegates[0].arguments[1].is_scalar);
                                  EXPECT_EQ(delegates[0].arguments[1].sizes, Sizes({2, 3}));
                                  EXPECT_TRUE(delegates[0].arguments[2].is_scalar);
                                  return Converted(delegates.size());
                                }));
  EXPECT_EQ(program.methods()[0].delegates[0].backend_id, "other");
  EXPECT_EQ(Arguments(program), 1u);
}

TEST_F(ScalarArgumentsTest, OtherDelegatesKeepThem) {
  ASSERT_OK_AND_ASSIGN(
      const belay::Program program,
      OpenWith({pte_.Int(3), x_}, [](absl::Span<const ForeignDelegate> delegates,
                                     const NamedDataMap&, const Limits&, uint64_t) {
        ConvertedDelegates converted;
        converted.delegates.resize(delegates.size());
        return converted;
      }));
  EXPECT_EQ(program.methods()[0].delegates[0].backend_id, "demo");
  EXPECT_EQ(Arguments(program), 2u);
}

TEST_F(ScalarArgumentsTest, DelegatesWithListsStayWithTheirBackend) {
  ASSERT_OK_AND_ASSIGN(
      const belay::Program program,
      OpenWith({x_, pte_.TensorList({x_})},
               [](absl::Span<const ForeignDelegate> delegates, const NamedDataMap&, const Limits&,
                  uint64_t) { return Converted(delegates.size()); }));
  EXPECT_EQ(program.methods()[0].delegates[0].backend_id, "demo");
}

}  // namespace
}  // namespace belay::pte
