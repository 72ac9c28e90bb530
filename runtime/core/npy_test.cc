#include "runtime/core/npy.h"

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::Span<const std::byte> Bytes(std::string_view s) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(s.data()), s.size());
}

// Output of numpy.save for np.array([[1, 2, 3], [4, 5, 6]], dtype='<f4').
std::string NumpyFloatFile() {
  std::string file("\x93NUMPY\x01\x00v\x00", 10);
  file += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  file.resize(127, ' ');
  file += '\n';
  file += std::string("\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@\x00\x00\xc0@",
                      24);
  return file;
}

std::string File(std::string_view header, std::string_view elements, int major = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  }
  return file + std::string(header) + std::string(elements);
}

std::string Header(std::string_view descr, std::string_view shape, bool fortran = false) {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran ? "True" : "False",
                      ", 'shape': ", shape, ", }\n");
}

TEST(ReadNpyTest, ReadsNumpyFiles) {
  const std::string file = NumpyFloatFile();
  ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
  EXPECT_EQ(array.dtype, DType::kFloat32);
  EXPECT_EQ(array.sizes, Sizes({2, 3}));
  EXPECT_THAT(ToVector<float>(array.view()), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ReadNpyTest, FortranOrderBecomesRowMajor) {
  const std::string elements("\1\0\4\0\2\0\5\0\3\0\6\0", 12);
  const std::string file = File(Header("<i2", "(2, 3)", /*fortran=*/true), elements);
  ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
  EXPECT_TRUE(array.view().is_contiguous());
  EXPECT_THAT(ToVector<int16_t>(array.view()), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(ReadNpyTest, ReadsVersionsTwoAndThree) {
  for (int major : {2, 3}) {
    const std::string file = File(Header("<u2", "(2,)"), std::string("\1\0\2\0", 4), major);
    ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
    EXPECT_THAT(ToVector<uint16_t>(array.view()), ElementsAre(1, 2));
  }
}

TEST(ReadNpyTest, ScalarsHaveRankZero) {
  const std::string file = File(Header("|i1", "()"), "\x07");
  ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
  EXPECT_EQ(array.sizes.size(), 0);
  EXPECT_THAT(ToVector<int8_t>(array.view()), ElementsAre(7));
}

TEST(ReadNpyTest, EmptyArraysHaveNoElements) {
  const std::string file = File(Header("<f8", "(0, 3)"), "");
  ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
  EXPECT_EQ(array.sizes, Sizes({0, 3}));
}

TEST(ReadNpyTest, AcceptsAnyKeyOrderAndQuotes) {
  const std::string file =
      File("{\"shape\":(1,),'descr':\"|u1\", 'fortran_order':False}   \n", "\x05");
  ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
  EXPECT_THAT(ToVector<uint8_t>(array.view()), ElementsAre(5));
}

TEST(ReadNpyTest, EveryPrefixOfAFileIsAnError) {
  const std::string file = NumpyFloatFile();
  for (size_t size = 0; size < file.size(); ++size) {
    // A copy of exactly this size, so that asan detects reads past the end.
    const std::vector<char> prefix(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(ReadNpy(Bytes(std::string_view(prefix.data(), size))),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << size;
  }
}

TEST(ReadNpyTest, SurvivesCorruptedBytes) {
  const std::string file = NumpyFloatFile();
  for (size_t i = 0; i < 128; ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = file;
      changed[i] = static_cast<char>(byte);
      const absl::StatusOr<NpyArray> array = ReadNpy(Bytes(changed));
      if (array.ok()) {
        EXPECT_EQ(array->view().nbytes(), array->data.size());
      }
    }
  }
}

struct BadFile {
  std::string name;
  std::string file;
  absl::StatusCode code;
  std::string message;
};
void PrintTo(const BadFile& c, std::ostream* out) { *out << c.name; }

class BadNpyTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadNpyTest, IsRejectedWithReason) {
  EXPECT_THAT(ReadNpy(Bytes(GetParam().file)),
              StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnimplemented = absl::StatusCode::kUnimplemented;

INSTANTIATE_TEST_SUITE_P(
    Files, BadNpyTest,
    testing::Values(
        BadFile{"Magic", "\x93NUMPX\x01", kInvalid, "does not begin"},
        BadFile{"Version", File("{}", "", 4), kUnimplemented, "version 4.0"},
        BadFile{"LengthBeyondEnd", std::string("\x93NUMPY\x02\x00\xff\xff", 10), kInvalid,
                "the file ends in the length of the header"},
        BadFile{"KeyIsNotAString", File("{3: 1}", ""), kInvalid, "expected a string in the header"},
        BadFile{"NoComma", File("{'descr': '<f4' 'shape': ()}", ""), kInvalid, "expected '}'"},
        BadFile{"HeaderLength", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), kInvalid,
                "4294967295"},
        BadFile{"HeaderBeyondEnd", std::string("\x93NUMPY\x01\x00\x10\x00{", 11), kInvalid,
                "16 bytes where 1 are left"},
        BadFile{"NoDictionary", File("[]", ""), kInvalid, "expected '{'"},
        BadFile{"MissingKey", File("{'descr': '<f4', 'shape': ()}", "1234"), kInvalid, "lacks"},
        BadFile{"UnknownKey", File("{'size': 3}", ""), kInvalid, "'size'"},
        BadFile{"RepeatedKey", File("{'descr': '<f4', 'descr': '<f4'}", ""), kInvalid, "'descr'"},
        BadFile{"RepeatedOrder", File("{'fortran_order': False, 'fortran_order': False}", ""),
                kInvalid, "repeated key 'fortran_order'"},
        BadFile{"RepeatedShape", File("{'shape': (), 'shape': ()}", ""), kInvalid,
                "repeated key 'shape'"},
        BadFile{"MissingType", File("{'fortran_order': False, 'shape': ()}", ""), kInvalid,
                "lacks"},
        BadFile{"MissingShape", File("{'descr': '<f4', 'fortran_order': False}", ""), kInvalid,
                "lacks"},
        BadFile{"UnendedString", File("{'descr", ""), kInvalid, "unterminated string"},
        BadFile{"TextAfterHeader",
                File("{'descr': '|u1', 'fortran_order': False, 'shape': ()} x", "1"), kInvalid,
                "unexpected content after the header: 'x'"},
        BadFile{"Order", File("{'fortran_order': Maybe}", ""), kInvalid, "Maybe"},
        BadFile{"BigEndian", File(Header(">f4", "()"), "1234"), kUnimplemented,
                "'>f4' is big endian"},
        BadFile{"Object", File(Header("|O", "()"), ""), kUnimplemented, "'|O'"},
        BadFile{"Text", File(Header("<U5", "()"), ""), kUnimplemented, "'<U5'"},
        BadFile{"Structured",
                File("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", ""),
                kUnimplemented, "structured"},
        BadFile{"NoByteOrder", File(Header("|f4", "()"), "1234"), kInvalid, "'|f4'"},
        BadFile{"EmptyType", File(Header("", "()"), ""), kInvalid, "''"},
        BadFile{"ControlCharacters", File("{'\x1b[2J': 1}", ""), kInvalid, "'\\x1b[2J'"},
        BadFile{"ShapeIsANumber", File(Header("|u1", "(3)"), "123"), kInvalid, "not a tuple"},
        BadFile{"NegativeSize", File(Header("|u1", "(-1,)"), ""), kInvalid, "expected a size"},
        BadFile{"HugeSize", File(Header("|u1", "(9223372036854775808,)"), ""), kInvalid,
                "too large"},
        BadFile{"HugeProduct", File(Header("<f4", "(4294967296, 4294967296)"), ""), kInvalid,
                "too large"},
        BadFile{"HugeBytes", File(Header("<f8", "(2305843009213693952,)"), ""), kInvalid,
                "too large"},
        BadFile{"HugeEmpty", File(Header("<f8", "(0, 4294967296, 4294967296)"), ""), kInvalid,
                "too large"},
        BadFile{"HugeClaim", File(Header("|u1", "(1099511627776,)"), "12"), kInvalid,
                "needs 1099511627776 bytes"},
        BadFile{"Rank", File(Header("|u1", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "1"), kInvalid,
                "more than 16"},
        BadFile{"TooFewBytes", File(Header("<f4", "(2,)"), "1234567"), kInvalid,
                "f32[2] needs 8 bytes of elements, the file has 7"},
        BadFile{"TooManyBytes", File(Header("<f4", "(2,)"), "123456789"), kInvalid, "has 9"},
        BadFile{"Bool", File(Header("|b1", "(2,)"), "\x01\x02"), kInvalid, "neither 0 nor 1"}),
    [](const testing::TestParamInfo<BadFile>& info) { return info.param.name; });

TEST(NpyBytesTest, MatchesNumpyOutput) {
  const TestTensor t = TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(const std::string bytes, NpyBytes(t));
  EXPECT_EQ(bytes, NumpyFloatFile());
}

TEST(NpyBytesTest, AllNumpyTypesRoundTrip) {
  const TestTensor ones = TestTensor::Of<float>({1, 2}, {1, 0});
  int types = 0;
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    const TestTensor t = TestTensor::Zeros(dtype, {1, 2});
    const absl::StatusOr<std::string> bytes = NpyBytes(t);
    if (!bytes.ok()) {
      EXPECT_THAT(bytes, StatusIs(kUnimplemented, HasSubstr(std::string(DTypeName(dtype)))));
      continue;
    }
    ++types;
    ASSERT_OK(CopyElements(ones, t));
    ASSERT_OK_AND_ASSIGN(const std::string file, NpyBytes(t));
    EXPECT_EQ((file.size() - t.view().nbytes()) % 64, 0u);
    ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
    EXPECT_EQ(array.dtype, dtype);
    EXPECT_EQ(array.sizes, t.view().sizes);
    const TestTensor back = TestTensor::Zeros(DType::kFloat32, {1, 2});
    ASSERT_OK(CopyElements(array.view(), back));
    EXPECT_THAT(ToVector<float>(back), ElementsAre(1, 0)) << DTypeName(dtype);
  }
  EXPECT_EQ(types, 14);
}

TEST(NpyBytesTest, WritesStridedTensorsInRowMajorOrder) {
  const TestTensor t = TestTensor::Strided<int32_t>({2, 2}, {1, 2}, {1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const std::string file, NpyBytes(t));
  ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
  EXPECT_THAT(ToVector<int32_t>(array.view()), ElementsAre(1, 2, 3, 4));
}

TEST(NpyBytesTest, ScalarsAndEmptyTensorsRoundTrip) {
  for (const Sizes& sizes : {Sizes{}, Sizes{0}, Sizes{2, 0, 3}}) {
    const TestTensor t = TestTensor::Zeros(DType::kFloat64, sizes);
    ASSERT_OK_AND_ASSIGN(const std::string file, NpyBytes(t));
    ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpy(Bytes(file)));
    EXPECT_EQ(array.sizes, sizes);
  }
}

TEST(NpyBytesTest, RejectsTensorsLargerThanMemory) {
  // One element in memory, repeated by a stride of 0.
  uint8_t element = 7;
  TensorView view = TensorView::Contiguous(DType::kUint8, {int64_t{1} << 60}, &element);
  view.strides[0] = 0;
  EXPECT_THAT(NpyBytes(view), StatusIs(absl::StatusCode::kResourceExhausted,
                                       HasSubstr("no memory for the bytes of a .npy file")));
}

// NumPy also rejects it, unless the file is declared trusted.
TEST(ReadNpyTest, LimitsHeaderSize) {
  for (const size_t length : {10000, 10001}) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (), }";
    header.resize(length, ' ');
    const std::string file = std::string("\x93NUMPY\1\0", 8) + static_cast<char>(length & 0xff) +
                             static_cast<char>(length >> 8) + header + std::string(4, '\0');
    if (length <= 10000) {
      EXPECT_OK(ReadNpy(Bytes(file)).status());
    } else {
      EXPECT_THAT(ReadNpy(Bytes(file)),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           HasSubstr("a header of 10001 bytes, limit 10000")));
    }
  }
}

TEST(WriteNpyTest, WritesTheFile) {
  const std::string path = testing::TempDir() + "/write_npy_test.npy";
  ASSERT_OK(WriteNpy(path, TestTensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  EXPECT_EQ(file->bytes(), Bytes(NumpyFloatFile()));
}

TEST(WriteNpyTest, UnsupportedTypeWritesNoFile) {
  const std::string path = testing::TempDir() + "/write_npy_bfloat16.npy";
  EXPECT_THAT(WriteNpy(path, TestTensor::Zeros(DType::kBFloat16, {2})),
              StatusIs(kUnimplemented, HasSubstr("bfloat16")));
  EXPECT_THAT(MappedFile::Open(path), StatusIs(absl::StatusCode::kNotFound));
}

TEST(ReadNpyFileTest, ReadsTheFileAndNamesItInErrors) {
  const std::string path = testing::TempDir() + "/read_npy_file_test.npy";
  ASSERT_OK(WriteFileAtomically(path, {NumpyFloatFile()}));
  ASSERT_OK_AND_ASSIGN(const NpyArray array, ReadNpyFile(path));
  EXPECT_EQ(ToVector<float>(array.view()), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  ASSERT_OK(WriteFileAtomically(path, {"no array"}));
  EXPECT_THAT(ReadNpyFile(path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path + ": ")));
  EXPECT_THAT(ReadNpyFile(path + ".missing"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path + ".missing")));
}

TEST(ReadNpyTest, ErrorsEscapeControlCharacters) {
  const std::string header = "{'descr': '<\x1b[2J', 'fortran_order': False, 'shape': (), }\n";
  const std::string file =
      std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header;
  const absl::Status status =
      ReadNpy(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(file.data()), file.size()))
          .status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("\\x1b[2J"));
}

}  // namespace
}  // namespace belay
