#include "runtime/core/npy.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/first_bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/memory_check.h"
#include "runtime/core/status_macros.h"

namespace belay {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
// NumPy itself rejects headers above 10000 bytes unless the file is declared trusted.
constexpr uint32_t kMaxHeaderSize = 10000;
constexpr size_t kAlignment = 64;

struct NpyType {
  std::string_view code;  // without the byte order
  DType dtype;
};
constexpr NpyType kNpyTypes[] = {
    {"b1", DType::kBool},      {"i1", DType::kInt8},        {"i2", DType::kInt16},
    {"i4", DType::kInt32},     {"i8", DType::kInt64},       {"u1", DType::kUint8},
    {"u2", DType::kUint16},    {"u4", DType::kUint32},      {"u8", DType::kUint64},
    {"f2", DType::kFloat16},   {"f4", DType::kFloat32},     {"f8", DType::kFloat64},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed .npy: ", what));
}

// Truncates and strips control characters of a string from a file, for messages.
std::string Quoted(std::string_view s) {
  constexpr size_t kMaxQuoted = 40;
  return absl::StrCat("'", absl::CHexEscape(ToAbsl(s.substr(0, kMaxQuoted))),
                      s.size() > kMaxQuoted ? "…'" : "'");
}

struct NpyHeader {
  std::string_view descr;
  bool fortran_order = false;
  Sizes sizes;
};

// Parses the header: a Python dictionary literal with exactly the keys 'descr', 'fortran_order' and
// 'shape'.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  absl::StatusOr<NpyHeader> Parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    ABSL_RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      ABSL_ASSIGN_OR_RETURN(const std::string_view key, String());
      ABSL_RETURN_IF_ERROR(Expect(':'));
      if (key == "descr" && !has_descr) {
        has_descr = true;
        if (SkipSpace(); !rest_.empty() && rest_[0] == '[') {
          return absl::UnimplementedError("unsupported .npy: a structured type");
        }
        ABSL_ASSIGN_OR_RETURN(header.descr, String());
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        ABSL_ASSIGN_OR_RETURN(header.fortran_order, Bool());
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        ABSL_ASSIGN_OR_RETURN(header.sizes, Shape());
      } else {
        return Malformed(absl::StrCat("unknown or repeated key ", Quoted(key)));
      }
      if (!Take(',')) {
        ABSL_RETURN_IF_ERROR(Expect('}'));
        break;
      }
    }
    SkipSpace();
    if (!rest_.empty())
      return Malformed(absl::StrCat("unexpected content after the header: ", Quoted(rest_)));
    if (!has_descr || !has_order || !has_shape) {
      return Malformed("header lacks descr, fortran_order or shape");
    }
    return header;
  }

 private:
  void SkipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool Take(char c) {
    SkipSpace();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  absl::Status Expect(char c) {
    if (Take(c)) return absl::OkStatus();
    return Malformed(
        absl::StrCat("expected '", std::string_view(&c, 1), "' in the header at ", Quoted(rest_)));
  }
  // No escapes: names of types and keys contain none.
  absl::StatusOr<std::string_view> String() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) {
      return Malformed(absl::StrCat("expected a string in the header at ", Quoted(rest_)));
    }
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return Malformed("unterminated string in the header");
    const std::string_view value = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return value;
  }
  absl::StatusOr<bool> Bool() {
    SkipSpace();
    for (const bool value : {false, true}) {
      const std::string_view name = value ? "True" : "False";
      if (rest_.substr(0, name.size()) == name) {
        rest_.remove_prefix(name.size());
        return value;
      }
    }
    return Malformed(absl::StrCat("expected True or False in the header at ", Quoted(rest_)));
  }
  absl::StatusOr<int64_t> Size() {
    SkipSpace();
    int64_t value = 0;
    size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      const CheckedInt next = CheckedInt(value) * 10 + (rest_[digits] - '0');
      if (!next.ok()) return Malformed(absl::StrCat("size is too large: ", Quoted(rest_)));
      value = next.value();
    }
    if (digits == 0) return Malformed(absl::StrCat("expected a size at ", Quoted(rest_)));
    rest_.remove_prefix(digits);
    return value;
  }
  absl::StatusOr<Sizes> Shape() {
    Sizes sizes;
    ABSL_RETURN_IF_ERROR(Expect('('));
    while (!Take(')')) {
      ABSL_ASSIGN_OR_RETURN(const int64_t size, Size());
      if (sizes.size() == kMaxRank) {
        return Malformed(absl::StrCat("more than ", kMaxRank, " dimensions"));
      }
      sizes.push_back(size);
      if (Take(',')) continue;
      // "(3)" is an integer in Python; a tuple of one element has a comma.
      if (sizes.size() == 1) return Malformed("shape is not a tuple");
      ABSL_RETURN_IF_ERROR(Expect(')'));
      break;
    }
    return sizes;
  }

  std::string_view rest_;
};

absl::StatusOr<DType> DTypeFromDescr(std::string_view descr) {
  if (descr.size() < 2) return Malformed(absl::StrCat("type ", Quoted(descr)));
  const char order = descr[0];
  for (const NpyType& type : kNpyTypes) {
    if (descr.substr(1) != type.code) continue;
    if (order == '<') return type.dtype;
    if (order == '|' && DTypeSize(type.dtype) == 1) return type.dtype;
    if (order == '>') {
      return absl::UnimplementedError(
          absl::StrCat("unsupported .npy: type ", Quoted(descr), " is big endian"));
    }
    return Malformed(absl::StrCat("type ", Quoted(descr), " has no byte order"));
  }
  return absl::UnimplementedError(absl::StrCat("unsupported .npy: type ", Quoted(descr)));
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = (value << 8) | static_cast<uint8_t>(bytes[i]);
  return value;
}

// Removes the magic, the version and the header from `file`, which leaves the elements.
absl::StatusOr<std::string_view> TakeHeader(std::string_view& file) {
  if (!file.starts_with(kMagic)) {
    return Malformed(absl::StrCat("the file does not begin with \\x93NUMPY, ",
                                  DescribeFirstBytes(AsBytes(file))));
  }
  file.remove_prefix(kMagic.size());
  if (file.size() < 2) return Malformed("the file ends in the version");
  const int major = static_cast<uint8_t>(file[0]), minor = static_cast<uint8_t>(file[1]);
  if (major < 1 || major > 3 || minor != 0) {
    return absl::UnimplementedError(absl::StrCat("unsupported .npy: version ", major, ".", minor));
  }
  file.remove_prefix(2);
  const size_t length_size = major == 1 ? 2 : 4;
  if (file.size() < length_size) return Malformed("the file ends in the length of the header");
  const uint32_t length = LittleEndian(file.substr(0, length_size));
  file.remove_prefix(length_size);
  if (length > kMaxHeaderSize) {
    return Malformed(absl::StrCat("a header of ", length, " bytes, limit ", kMaxHeaderSize));
  }
  if (length > file.size()) {
    return Malformed(
        absl::StrCat("a header of ", length, " bytes where ", file.size(), " are left"));
  }
  const std::string_view header = file.substr(0, length);
  file.remove_prefix(length);
  return header;
}

}  // namespace

absl::StatusOr<NpyArray> ReadNpy(absl::Span<const std::byte> bytes) {
  std::string_view file = AsString(bytes);
  ABSL_ASSIGN_OR_RETURN(const std::string_view text, TakeHeader(file));
  ABSL_ASSIGN_OR_RETURN(const NpyHeader header, HeaderParser(text).Parse());
  NpyArray array;
  ABSL_ASSIGN_OR_RETURN(array.dtype, DTypeFromDescr(header.descr));
  array.sizes = header.sizes;
  const CheckedInt needed = CheckedInt(NumElements(array.sizes).value_or(-1)) *
                            static_cast<int64_t>(DTypeSize(array.dtype));
  if (!needed.ok() || needed.value() < 0) {
    return Malformed(absl::StrCat("shape ", FormatSizes(array.sizes), " is too large"));
  }
  if (static_cast<uint64_t>(needed.value()) != file.size()) {
    return Malformed(absl::StrCat(DTypeShortName(array.dtype), FormatSizes(array.sizes), " needs ",
                                  needed.value(), " bytes of elements, the file has ",
                                  file.size()));
  }
  if (array.dtype == DType::kBool) {
    for (char c : file) {
      if (c != 0 && c != 1) return Malformed("a bool that is neither 0 nor 1");
    }
  }
  ABSL_ASSIGN_OR_RETURN(array.data, AlignedBuffer::Create(file.size()));
  TensorView source = array.view();
  // Only used for reading: a view carries no write permission.
  source.data = const_cast<char*>(file.data());
  if (header.fortran_order) {
    DimOrder order;
    for (int d = array.sizes.size() - 1; d >= 0; --d) order.push_back(static_cast<uint8_t>(d));
    source.strides = DenseStrides(array.sizes, order);
  }
  ABSL_RETURN_IF_ERROR(CopyElements(source, array.view()));
  return array;
}

absl::StatusOr<NpyArray> ReadNpyFile(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  absl::StatusOr<NpyArray> array = ReadNpy(file->bytes());
  if (!array.ok()) return Annotate(array.status(), path);
  return array;
}

absl::StatusOr<std::string> NpyBytes(const TensorView& tensor) {
  std::string descr;
  for (const NpyType& type : kNpyTypes) {
    if (type.dtype == tensor.dtype) {
      descr = absl::StrCat(DTypeSize(type.dtype) == 1 ? "|" : "<", type.code);
    }
  }
  if (descr.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("NumPy has no type for ", DTypeName(tensor.dtype)));
  }
  std::string header =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(tensor.sizes.span(), ", "), tensor.rank() == 1 ? ",), }" : "), }");
  const size_t prefix = kMagic.size() + 4;
  header.resize((prefix + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - prefix,
                ' ');
  header.back() = '\n';
  std::string bytes(kMagic);
  bytes +=
      {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  const size_t begin = bytes.size();
  MemoryBound bound;
  bound.Add(1, begin);
  bound.Add(1, tensor.nbytes());
  bound.Add(1, 1);  // terminating zero of the string
  ABSL_RETURN_IF_ERROR(CheckMemory(bound.bytes(), "the bytes of a .npy file"));
  bytes.resize(begin + tensor.nbytes());
  ABSL_RETURN_IF_ERROR(CopyElements(
      tensor, TensorView::Contiguous(tensor.dtype, tensor.sizes, bytes.data() + begin)));
  return bytes;
}

absl::Status WriteNpy(const std::string& path, const TensorView& tensor) {
  ABSL_ASSIGN_OR_RETURN(const std::string bytes, NpyBytes(tensor));
  return WriteFileAtomically(path, {bytes});
}

}  // namespace belay
