// Parses Protocol Buffers messages in place: scalars are decoded; strings and nested messages refer
// to the file. No recursion, no allocation; linear time.
//
// Stricter than the wire format (runtime/schema/file_format.md §2), so that two readers can't
// interpret a file differently. A field that is not repeated occurs at most once, lists of integers
// are packed, integers fit their type, and a field has the wire type of its declaration.
#ifndef BELAY_RUNTIME_PROGRAM_WIRE_READER_H_
#define BELAY_RUNTIME_PROGRAM_WIRE_READER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/bytes.h"
#include "runtime/core/utf8.h"
#include "runtime/program/metadata_path.h"

// Without inlining, the reader's state is in memory and reading takes twice as long. Code for small
// devices is compiled for size.
#ifdef __OPTIMIZE_SIZE__
#define BELAY_WIRE_READER_INLINE
#else
#define BELAY_WIRE_READER_INLINE ABSL_ATTRIBUTE_ALWAYS_INLINE
#endif

namespace belay {

// A message that was located but not parsed.
struct WireMessage {
  absl::Span<const std::byte> bytes;
  uint32_t nesting = 0;  // Limits::nesting
  uint32_t depth = 0;    // number of enclosing messages
  // Whether the field was present; the message may be empty.
  bool found() const { return bytes.data() != nullptr; }
};

// Number of packed varints, if all are terminated: counts bytes without a continuation bit.
uint64_t CountNumbers(absl::Span<const std::byte> bytes);

// A packed list of integers: uint32_t, or int64_t in two's complement.
template <class T>
struct WireNumbers {
  absl::Span<const std::byte> bytes;
  uint64_t count() const { return CountNumbers(bytes); }
};

// The elements of a repeated field (messages or strings), possibly interleaved with other fields.
struct WireList {
  WireMessage in;  // from the first element to the end of the last
  uint32_t field = 0;
  uint64_t count = 0;
  uint64_t total_bytes = 0;  // of all elements
};
struct WireMessages : WireList {};
struct WireStrings : WireList {};

// A oneof: at most one member is present.
struct WireOneof {
  uint32_t field = 0;   // field number of the member, 0 for none
  uint64_t number = 0;  // an integer, a bool, or the bits of a double
  WireMessage message;  // a message, or the bytes of a string

  // Returns the member in its C++ type. 0 or empty if another member is present.
  template <class T>
  T as() const {
    if constexpr (std::is_same_v<T, WireMessage>) {
      return message;
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      return AsString(message.bytes);
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<double>(number);
    } else {
      return static_cast<T>(number);
    }
  }
};

// A decoded varint and the position after it.
struct Varint {
  const uint8_t* end = nullptr;  // null if it is unterminated or has more than 64 bits
  uint64_t number = 0;
};

// Decodes a varint at `at` of more than one byte: its first byte has a continuation bit.
Varint ReadLongVarint(const uint8_t* at, const uint8_t* end);

// Decodes the varint at `at`, which must end before `end`.
inline Varint ReadVarint(const uint8_t* at, const uint8_t* end) {
  if (at == end) return {};
  if (*at < 0x80) [[likely]]
    return {.end = at + 1, .number = *at};
  if (end - at > 1 && at[1] < 0x80) {
    return {.end = at + 2, .number = (at[0] & 0x7fu) | static_cast<uint64_t>(at[1]) << 7};
  }
  return ReadLongVarint(at, end);
}

// Iterates over the fields of one message:
//
//   for (WireReader fields(message); fields.Next();) {
//     switch (fields.number()) { case 1: fields.Read(name); break; … }  // unknown ones are skipped
//   }
//   return fields.Finish(path);
//
// An error ends the loop and is returned by Finish().
class WireReader {
 public:
  explicit WireReader(const WireMessage& message)
      : at_(reinterpret_cast<const uint8_t*>(message.bytes.data())),
        end_(at_ + message.bytes.size()),
        nesting_(message.nesting),
        depth_(message.depth) {}

  // Moves to the next field. Returns false at the end, and if the rest can't be parsed.
  BELAY_WIRE_READER_INLINE bool Next() {
    if (at_ == end_ || problem_ != nullptr) return false;
    tag_ = at_;
    const uint32_t tag = *at_;
    if (tag < 0x80 && tag >= 8) [[likely]] {
      number_ = tag >> 3;
      type_ = static_cast<WireType>(tag & 7);
      if (type_ == kVarint || type_ == kBytes) [[likely]] {
        const Varint varint = ReadVarint(at_ + 1, end_);
        if (type_ == kVarint && varint.end != nullptr) {
          varint_ = varint.number;
          at_ = varint.end;
          return true;
        }
        if (type_ == kBytes && varint.end != nullptr &&
            varint.number <= static_cast<uint64_t>(end_ - varint.end)) {
          value_ = varint.end;
          size_ = static_cast<size_t>(varint.number);
          at_ = value_ + size_;
          return true;
        }
      }
    }
    const Field field = ReadField(at_, end_, nesting_ - depth_);
    at_ = field.at;
    number_ = field.number;
    type_ = field.type;
    varint_ = field.varint;
    value_ = field.value;
    size_ = field.size;
    problem_ = field.problem;
    return problem_ == nullptr;
  }
  uint32_t number() const { return number_; }

  // Reads the field as a field that is not repeated.
  void Read(uint32_t& value) {
    if (!IsOnce(kVarint)) return;
    if (varint_ > UINT32_MAX) return Fail("the number has more than 32 bits");
    value = static_cast<uint32_t>(varint_);
  }
  void Read(uint64_t& value) {
    if (IsOnce(kVarint)) value = varint_;
  }
  void Read(int64_t& value) {
    if (IsOnce(kVarint)) value = static_cast<int64_t>(varint_);
  }
  void Read(bool& value) {
    if (!IsOnce(kVarint)) return;
    if (varint_ > 1) return Fail("a bool is 0 or 1");
    value = varint_ == 1;
  }
  void Read(double& value) {
    if (IsOnce(kFixed64)) value = Double(value_);
  }
  void Read(std::string_view& value) {  // UTF-8
    if (!IsOnce(kBytes)) return;
    if (!IsUtf8(text())) return Fail(kNotUtf8);
    value = text();
  }
  void Read(absl::Span<const std::byte>& value) {
    if (IsOnce(kBytes)) value = bytes();
  }
  template <class T>
  void Read(WireNumbers<T>& numbers) {
    if (IsOnce(kBytes)) numbers.bytes = bytes();
  }
  void Read(WireMessage& message) {
    if (!IsOnce(kBytes)) return;
    if (depth_ >= nesting_) return Fail(kTooDeep);
    message = {.bytes = bytes(), .nesting = nesting_, .depth = depth_ + 1};
  }
  // Reads the field as the member of a oneof of this type.
  template <class T>
  void ReadMember(WireOneof& oneof) {
    if (oneof.field != 0 && oneof.field != number_)
      return Fail("another member of its oneof is present");
    oneof.field = number_;
    T value{};
    Read(value);
    if constexpr (std::is_same_v<T, WireMessage>) {
      oneof.message = value;
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      oneof.message.bytes = bytes();
    } else if constexpr (std::is_same_v<T, double>) {
      oneof.number = std::bit_cast<uint64_t>(value);
    } else {
      oneof.number = static_cast<uint64_t>(value);
    }
  }
  // Reads the field as an element of a repeated field.
  void Read(WireMessages& list) {
    if (depth_ >= nesting_) return Fail(kTooDeep);
    Add(list);
  }
  void Read(WireStrings& list) {  // UTF-8
    if (type_ == kBytes && !IsUtf8(text())) return Fail(kNotUtf8);
    Add(list);
  }

  // OK if the whole message was parsed. kDataLoss, naming the error and the field of the message at
  // `path`; kResourceExhausted if messages are nested too deep.
  absl::Status Finish(const MetadataPath& path) const {
    if (problem_ == nullptr) [[likely]]
      return absl::OkStatus();
    return Error(problem_, number_, nesting_, path);
  }

 private:
  friend class WireElements;
  static const char kTooDeep[];
  static constexpr char kNotUtf8[] = "the string is not UTF-8";
  enum WireType : uint32_t {
    kVarint = 0,
    kFixed64 = 1,
    kBytes = 2,
    kGroup = 3,
    kEndGroup = 4,
    kFixed32 = 5
  };

  // Called at most once: an error ends the iteration.
  void Fail(const char* problem) { problem_ = problem; }
  static absl::Status Error(const char* problem, uint32_t number, uint32_t nesting,
                            const MetadataPath& path);
  // A field of any wire type. Functions that are not inlined take and return values: a reader whose
  // address does not escape stays in registers.
  struct Field {
    const uint8_t* at = nullptr;  // past the field
    uint32_t number = 0;
    WireType type = kVarint;
    uint64_t varint = 0;
    const uint8_t* value = nullptr;  // of a length-delimited or fixed-size field
    size_t size = 0;
    const char* problem = nullptr;
    bool ReadTag(const uint8_t* end);
    bool ReadValue(const uint8_t* end);  // all types except groups
    bool ReadGroup(const uint8_t* end, uint32_t nesting);
    bool Fail(const char* what) {
      problem = what;
      return false;
    }
  };
  // `nesting` is the depth allowed for groups.
  static Field ReadField(const uint8_t* at, const uint8_t* end, uint32_t nesting);
  bool Is(WireType type) {
    if (type_ == type) [[likely]]
      return true;
    Fail("it has another wire type than its declaration");
    return false;
  }
  bool IsOnce(WireType type) {
    const uint64_t bit = uint64_t{1} << number_;  // known field numbers are below 64
    if ((seen_ & bit) != 0) [[unlikely]] {
      Fail("it occurs twice");
      return false;
    }
    seen_ |= bit;
    return Is(type);
  }
  void Add(WireList& list) {
    if (!Is(kBytes)) return;
    const auto* tag = reinterpret_cast<const std::byte*>(tag_);
    const auto* end = reinterpret_cast<const std::byte*>(at_);
    const std::byte* begin = list.count == 0 ? tag : list.in.bytes.data();
    list.in = {.bytes = absl::MakeConstSpan(begin, static_cast<size_t>(end - begin)),
               .nesting = nesting_,
               .depth = depth_};
    list.field = number_;
    ++list.count;
    list.total_bytes += size_;  // at most the file size
  }
  static double Double(const uint8_t* value);
  std::string_view text() const { return AsString(bytes()); }
  absl::Span<const std::byte> bytes() const {
    return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(value_), size_);
  }

  const uint8_t* at_;
  const uint8_t* end_;
  const char* problem_ = nullptr;
  uint64_t seen_ = 0;  // bit n: field n was read
  uint32_t nesting_, depth_;
  // The current field.
  const uint8_t* tag_ = nullptr;
  const uint8_t* value_ = nullptr;
  size_t size_ = 0;
  uint64_t varint_ = 0;
  uint32_t number_ = 0;
  WireType type_ = kVarint;
};

// Iterates over the elements of a list, in order.
class WireElements {
 public:
  explicit WireElements(const WireList& list) : fields_(list.in), field_(list.field) {}
  // Precondition: called at most list.count times, and the list was parsed without an error.
  BELAY_WIRE_READER_INLINE WireMessage NextMessage() {
    Next();
    return {.bytes = fields_.bytes(), .nesting = fields_.nesting_, .depth = fields_.depth_ + 1};
  }
  std::string_view NextString() {
    Next();
    return fields_.text();
  }

 private:
  BELAY_WIRE_READER_INLINE void Next() {
    // Debug information may be in a file that changed since the list was parsed: the search
    // terminates anyway.
    while (fields_.Next() && fields_.number() != field_) {
    }
  }
  WireReader fields_;
  uint32_t field_;
};

// Calls `take` with each integer of the list until it returns false. Returns false if one can't be
// decoded or does not fit in T; `take` was called for those before it.
template <class T, class Take>
bool ForEachNumber(const WireNumbers<T>& numbers, const Take& take) {
  const auto* at = reinterpret_cast<const uint8_t*>(numbers.bytes.data());
  const uint8_t* const end = at + numbers.bytes.size();
  while (at != end) {
    const Varint varint = ReadVarint(at, end);
    if (varint.end == nullptr) return false;
    if (std::is_same_v<T, uint32_t> && varint.number > UINT32_MAX) return false;
    if (!take(static_cast<T>(varint.number))) break;
    at = varint.end;
  }
  return true;
}

// kDataLoss: the list of integers at `path` can't be decoded.
absl::Status NumbersError(const MetadataPath& path);

}  // namespace belay

#undef BELAY_WIRE_READER_INLINE

#endif  // BELAY_RUNTIME_PROGRAM_WIRE_READER_H_
