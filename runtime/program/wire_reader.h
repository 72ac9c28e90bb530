// Reads messages in the wire format of Protocol Buffers without making anything of them: numbers,
// text and messages stay where they are in the file. No recursion, no allocation; linear.
//
// Stricter than the format asks (file_format.md §2), so that no two readers can differ on a file: a
// field that is not repeated is there once at most, lists of numbers are packed, numbers fit their
// type, a field has the wire type of its declaration.
#ifndef BELAY_RUNTIME_PROGRAM_WIRE_READER_H_
#define BELAY_RUNTIME_PROGRAM_WIRE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/program/metadata_path.h"

namespace belay {

// A message that was found and not read yet.
struct WireMessage {
  absl::Span<const std::byte> bytes;
  uint32_t nesting = 0;  // the limit of this name
  uint32_t depth = 0;    // messages around it
};

// A packed list of numbers.
struct WireNumbers {
  absl::Span<const std::byte> bytes;
  // How many they are if all end: bytes without a continuation bit.
  uint64_t count() const;
};

// The elements of a repeated field, messages or strings, which may stand between other fields.
struct WireList {
  WireMessage in;  // from the first element to the end of the last
  uint32_t field = 0;
  uint64_t count = 0;
  uint64_t total_bytes = 0;  // of all elements
};

// The rest of a varint whose first byte has a continuation bit.
bool ReadLongVarint(const uint8_t*& at, const uint8_t* end, uint64_t& number);

// One varint at `at`, which is moved behind it. False when it does not end before `end` or has more
// than 64 bits.
inline bool ReadVarint(const uint8_t*& at, const uint8_t* end, uint64_t& number) {
  if (at == end) return false;
  number = *at;
  if (number < 0x80) [[likely]] {
    ++at;
    return true;
  }
  return ReadLongVarint(at, end, number);
}

// Goes through the fields of one message:
//
//   for (WireReader fields(message); fields.Next();) {
//     switch (fields.number()) { case 1: fields.Read(name); break; … }  // unknown ones are skipped
//   }
//   return fields.Finish(path);
//
// What is wrong ends the loop and is said by Finish().
class WireReader {
 public:
  explicit WireReader(const WireMessage& message)
      : at_(reinterpret_cast<const uint8_t*>(message.bytes.data())),
        end_(at_ + message.bytes.size()),
        nesting_(message.nesting),
        depth_(message.depth) {}

  // Moves to the next field. False at the end, and when there is no more that could be read.
  bool Next() {
    if (at_ == end_ || problem_ != nullptr) return false;
    tag_ = at_;
    const uint32_t tag = *at_;
    if (tag >= 0x80 || tag < 8) return NextOfAnyKind();
    ++at_;
    number_ = tag >> 3;
    type_ = static_cast<WireType>(tag & 7);
    if (type_ == kVarint) {
      if (ReadVarint(at_, end_, varint_)) return true;
    } else if (type_ == kBytes && at_ != end_) {
      const size_t size = *at_;
      if (size < 0x80 && size < static_cast<size_t>(end_ - at_)) {
        value_ = at_ + 1;
        size_ = size;
        at_ = value_ + size;
        return true;
      }
    }
    at_ = tag_;
    return NextOfAnyKind();
  }
  uint32_t number() const { return number_; }

  // The field as one that is not repeated.
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
  void Read(bool& value);
  void Read(double& value);
  void Read(std::string_view& text);  // UTF-8
  void Read(absl::Span<const std::byte>& value) {
    if (IsOnce(kBytes)) value = bytes();
  }
  void Read(WireNumbers& numbers) {
    if (IsOnce(kBytes)) numbers.bytes = bytes();
  }
  void Read(WireMessage& message) {
    if (!IsOnce(kBytes)) return;
    if (depth_ >= nesting_) return Fail(kTooDeep);
    message = {.bytes = bytes(), .nesting = nesting_, .depth = depth_ + 1};
  }
  // The field as one of a oneof, whose number is kept in `member`, 0 before.
  template <class T>
  void ReadMember(uint32_t& member, T& value) {
    if (member != 0 && member != number_)
      return Fail("it is there beside another one of its oneof");
    member = number_;
    Read(value);
  }
  // The field as an element of a repeated one.
  void AddMessage(WireList& list);
  void AddText(WireList& list);  // UTF-8

  // OK after the end. kDataLoss, saying what is wrong with which field of the message at `path`;
  // kResourceExhausted when messages are nested too deep.
  absl::Status Finish(const MetadataPath& path) const {
    if (problem_ == nullptr) [[likely]]
      return absl::OkStatus();
    return Error(path);
  }

 private:
  friend class WireElements;
  static const char kTooDeep[];
  enum WireType : uint32_t {
    kVarint = 0,
    kFixed64 = 1,
    kBytes = 2,
    kGroup = 3,
    kEndGroup = 4,
    kFixed32 = 5
  };

  void Fail(const char* problem) {
    if (problem_ == nullptr) problem_ = problem;
  }
  absl::Status Error(const MetadataPath& path) const;
  bool NextOfAnyKind();
  bool ReadTag(uint32_t& number, WireType& type);
  bool SkipValue(WireType type);
  bool SkipGroup(uint32_t number);
  bool Is(WireType type) {
    if (type_ == type) [[likely]]
      return true;
    Fail("it has another wire type than its declaration");
    return false;
  }
  bool IsOnce(WireType type) {
    const uint64_t bit = uint64_t{1} << number_;  // known numbers are below 64
    if ((seen_ & bit) != 0) [[unlikely]] {
      Fail("it is there twice");
      return false;
    }
    seen_ |= bit;
    return Is(type);
  }
  void Add(WireList& list);
  std::string_view text() const {
    return std::string_view(reinterpret_cast<const char*>(value_), size_);
  }
  absl::Span<const std::byte> bytes() const {
    return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(value_), size_);
  }

  const uint8_t* at_;
  const uint8_t* end_;
  const char* problem_ = nullptr;
  uint64_t seen_ = 0;  // bit n: field n was read
  uint32_t nesting_, depth_;
  // This field.
  const uint8_t* tag_;
  const uint8_t* value_;  // of a length-delimited or fixed one
  size_t size_;
  uint64_t varint_;
  uint32_t number_;
  WireType type_;
};

// The elements of a list, in order.
class WireElements {
 public:
  explicit WireElements(const WireList& list) : fields_(list.in), field_(list.field) {
    // What is found when a file that is mapped changes between the two looks at it.
    fields_.value_ = nullptr;
    fields_.size_ = 0;
  }
  // Precondition: called at most list.count times. The list was read without an error.
  WireMessage NextMessage();
  std::string_view NextText();

 private:
  void Next();
  WireReader fields_;
  uint32_t field_;
};

// Calls `take` with each number of the list until it returns false. False when one can't be read or
// has more than 32 bits; the numbers before it were taken.
template <class Take>
bool ForEachUint32(const WireNumbers& numbers, const Take& take) {
  const auto* at = reinterpret_cast<const uint8_t*>(numbers.bytes.data());
  const uint8_t* const end = at + numbers.bytes.size();
  while (at != end) {
    uint64_t number;
    if (!ReadVarint(at, end, number) || number > UINT32_MAX) return false;
    if (!take(static_cast<uint32_t>(number))) break;
  }
  return true;
}
// The same of 64 bits, in two's complement.
template <class Take>
bool ForEachInt64(const WireNumbers& numbers, const Take& take) {
  const auto* at = reinterpret_cast<const uint8_t*>(numbers.bytes.data());
  const uint8_t* const end = at + numbers.bytes.size();
  while (at != end) {
    uint64_t number;
    if (!ReadVarint(at, end, number)) return false;
    if (!take(static_cast<int64_t>(number))) break;
  }
  return true;
}

// kDataLoss: the list of numbers at `path` can't be read.
absl::Status NumbersError(const MetadataPath& path);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_WIRE_READER_H_
