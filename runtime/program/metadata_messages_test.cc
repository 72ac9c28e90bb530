// Compares the table of fields with program.proto, and each row with the output of Protocol
// Buffers.
#include "runtime/program/metadata_messages.h"

#include <fstream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// program.proto.
const google::protobuf::DescriptorPool& Schema() {
  static const auto* const pool = [] {
    std::ifstream file("runtime/schema/program_proto-descriptor-set.proto.bin", std::ios::binary);
    google::protobuf::FileDescriptorSet files;
    auto* const made = new google::protobuf::DescriptorPool;
    EXPECT_TRUE(files.ParseFromIstream(&file) && files.file_size() == 1);
    EXPECT_NE(made->BuildFile(files.file(0)), nullptr);
    return made;
  }();
  return *pool;
}

const Descriptor& SchemaOf(const std::string& message) {
  const Descriptor* found = Schema().FindMessageTypeByName("belay.schema." + message);
  if (found == nullptr) ADD_FAILURE() << "program.proto has no message " << message;
  return found == nullptr ? *google::protobuf::DescriptorProto::descriptor() : *found;
}

// --- The rows ---

struct Row {
  std::string kind, name, oneof;
  bool operator==(const Row&) const = default;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.kind << " " << row.name << " " << row.oneof;
}
using Rows = std::map<int, Row>;  // by field number

struct Table {
  std::map<std::string, Rows> messages;
  std::set<std::pair<std::string, int>> unread;
};

// The table of metadata_messages.inc. Duplicates are failures.
Table TableOfReader() {
  Table table;
  const auto add = [](Rows& rows, int number, Row row) {
    EXPECT_TRUE(rows.emplace(number, row).second) << row.name << ": the number occurs twice";
  };
#define BELAY_MESSAGE(message)       \
  {                                  \
    const std::string in = #message; \
    Rows& rows = table.messages[in]; \
    EXPECT_TRUE(rows.empty()) << in << " occurs twice";
#define BELAY_FIELD(number, kind, name) add(rows, number, {#kind, #name, ""});
#define BELAY_ONEOF(oneof)
#define BELAY_MEMBER(number, kind, name, oneof, constant) add(rows, number, {#kind, #name, #oneof});
#define BELAY_UNREAD(number, kind, name) \
  add(rows, number, {#kind, #name, ""}); \
  table.unread.insert({in, number});
#define BELAY_END(message) }
#include "runtime/program/metadata_messages.inc"
  return table;
}

std::string KindOf(const FieldDescriptor& field) {
  std::string kind;
  switch (field.type()) {
    case FieldDescriptor::TYPE_BOOL:
      kind = "Bool";
      break;
    case FieldDescriptor::TYPE_UINT32:
      kind = "Uint32";
      break;
    case FieldDescriptor::TYPE_UINT64:
      kind = "Uint64";
      break;
    case FieldDescriptor::TYPE_INT64:
      kind = "Int64";
      break;
    case FieldDescriptor::TYPE_DOUBLE:
      kind = "Double";
      break;
    case FieldDescriptor::TYPE_ENUM:
      kind = "Enum";
      break;
    case FieldDescriptor::TYPE_STRING:
      kind = "Text";
      break;
    case FieldDescriptor::TYPE_BYTES:
      kind = "Bytes";
      break;
    case FieldDescriptor::TYPE_MESSAGE:
      kind = "Message";
      break;
    default:
      kind = field.type_name();
  }
  return kind + (field.is_repeated() ? "s" : "");
}

Rows RowsOf(const Descriptor& message) {
  Rows rows;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const auto* oneof = field.real_containing_oneof();
    const std::string name(field.name());
    rows[field.number()] = {KindOf(field), name == "operator" ? "operator_" : name,
                            oneof == nullptr ? "" : std::string(oneof->name())};
  }
  return rows;
}

TEST(MetadataMessagesTest, TableMatchesSchema) {
  const Table table = TableOfReader();
  // Exactly the messages reachable through fields that are read.
  std::set<std::string> reached = {"Program", "DebugInfo"};
  std::vector<std::string> pending(reached.begin(), reached.end());
  std::set<std::string> with_fields;
  while (!pending.empty()) {
    const std::string name = pending.back();
    pending.pop_back();
    const Descriptor& message = SchemaOf(name);
    if (message.field_count() == 0) continue;
    with_fields.insert(name);
    const auto rows = table.messages.find(name);
    EXPECT_EQ(rows == table.messages.end() ? Rows() : rows->second, RowsOf(message)) << name;
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (field.message_type() == nullptr) continue;
      if (table.unread.contains({name, field.number()})) continue;
      const std::string inner(field.message_type()->name());
      if (reached.insert(inner).second) pending.push_back(inner);
    }
  }
  std::set<std::string> in_table;
  for (const auto& [name, rows] : table.messages) in_table.insert(name);
  EXPECT_EQ(in_table, with_fields);
}

// --- Parsed content ---

// A value as a string, one per element.
using Elements = std::vector<std::string>;
absl::Span<const std::byte> BytesOf(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}
std::string Bytes(absl::Span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}
template <class T>
Elements Of(const T& number) {
  return {absl::StrCat(number)};
}
Elements Of(const std::string_view& text) { return {std::string(text)}; }
Elements Of(const absl::Span<const std::byte>& bytes) { return {Bytes(bytes)}; }
Elements Of(const WireMessage& message) {
  return message.found() ? Elements{Bytes(message.bytes)} : Elements{};
}
template <class T>
Elements Of(const WireNumbers<T>& numbers) {
  Elements all;
  EXPECT_TRUE(ForEachNumber(numbers, [&](T n) {
    all.push_back(absl::StrCat(n));
    return true;
  }));
  return all;
}
Elements Of(const WireMessages& list) {
  Elements all;
  WireElements elements(list);
  for (uint64_t i = 0; i < list.count; ++i) all.push_back(Bytes(elements.NextMessage().bytes));
  return all;
}
Elements Of(const WireStrings& list) {
  Elements all;
  WireElements elements(list);
  for (uint64_t i = 0; i < list.count; ++i) all.emplace_back(elements.NextString());
  return all;
}

// A message written by Protocol Buffers: a different value in each field, three in each repeated
// field.
class Sample {
 public:
  explicit Sample(const std::string& name)
      : descriptor_(SchemaOf(name)), message_(factory_.GetPrototype(&descriptor_)->New()) {}

  // Sets every field outside of oneofs.
  void SetAll() {
    for (int i = 0; i < descriptor_.field_count(); ++i) {
      if (descriptor_.field(i)->containing_oneof() == nullptr) Set(descriptor_.field(i)->number());
    }
  }
  // Sets the field, and the elements that parsing must return.
  void Set(int number) {
    const FieldDescriptor* field = descriptor_.FindFieldByNumber(number);
    ASSERT_NE(field, nullptr) << number;
    Elements& elements = elements_[number];
    elements.clear();
    for (int i = 0; i < (field->is_repeated() ? 3 : 1); ++i) {
      elements.push_back(SetElement(*field, 1000 * number + 300 * i));
    }
  }
  Elements operator[](int number) const { return elements_.at(number); }

  // Parses the message with the runtime; the result refers to this object.
  template <class Struct>
  Struct Read() {
    bytes_ = message_->SerializeAsString();
    Struct read;
    EXPECT_OK(
        belay::Read({.bytes = BytesOf(bytes_), .nesting = 20, .depth = 0}, MetadataPath(), read));
    return read;
  }

 private:
  std::string SetElement(const FieldDescriptor& field, int seed) {
    const google::protobuf::Reflection& reflection = *message_->GetReflection();
    const auto set = [&](auto value, auto setter, auto adder) {
      field.is_repeated() ? (reflection.*adder)(message_.get(), &field, value)
                          : (reflection.*setter)(message_.get(), &field, value);
      return absl::StrCat(value);
    };
    using R = google::protobuf::Reflection;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return set(true, &R::SetBool, &R::AddBool);
      case FieldDescriptor::CPPTYPE_UINT32:
        return set(UINT32_MAX - static_cast<uint32_t>(seed), &R::SetUInt32, &R::AddUInt32);
      case FieldDescriptor::CPPTYPE_UINT64:
        return set(UINT64_MAX - static_cast<uint64_t>(seed), &R::SetUInt64, &R::AddUInt64);
      case FieldDescriptor::CPPTYPE_INT64:
        return set(int64_t{-seed}, &R::SetInt64, &R::AddInt64);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return set(seed + 0.5, &R::SetDouble, &R::AddDouble);
      case FieldDescriptor::CPPTYPE_ENUM:
        return set(seed, &R::SetEnumValue, &R::AddEnumValue);
      case FieldDescriptor::CPPTYPE_STRING: {
        // Bytes need not be UTF-8.
        const std::string text =
            absl::StrCat(field.type() == FieldDescriptor::TYPE_BYTES ? "\xff" : "t", seed);
        field.is_repeated() ? reflection.AddString(message_.get(), &field, text)
                            : reflection.SetString(message_.get(), &field, text);
        return text;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        google::protobuf::Message* inside = field.is_repeated()
                                                ? reflection.AddMessage(message_.get(), &field)
                                                : reflection.MutableMessage(message_.get(), &field);
        inside->GetReflection()->MutableUnknownFields(inside)->AddVarint(100, seed);
        return inside->SerializeAsString();
      }
      default:
        ADD_FAILURE() << "no value for " << field.full_name();
        return "";
    }
  }

  const Descriptor& descriptor_;
  google::protobuf::DynamicMessageFactory factory_;
  std::unique_ptr<google::protobuf::Message> message_;
  std::map<int, Elements> elements_;
  std::string bytes_;
};

// "kMemoryFormat" for "memory_format".
bool IsConstantOf(std::string constant, std::string name) {
  std::erase(name, '_');
  return absl::EqualsIgnoreCase(constant, "k" + name);
}

// One test per message: fields that are written are read, others keep their defaults.
#define BELAY_MESSAGE(message)                        \
  TEST(MetadataMessagesTest, Reads##message) {        \
    using Struct = message##Message;                  \
    const std::string in = #message;                  \
    const Struct nothing = Sample(in).Read<Struct>(); \
    Sample all(in);                                   \
    all.SetAll();                                     \
    [[maybe_unused]] const Struct everything = all.Read<Struct>();
#define BELAY_FIELD(number, kind, name)          \
  EXPECT_EQ(Of(nothing.name), Of(wire::kind{})); \
  EXPECT_EQ(Of(everything.name), all[number]) << #name;
#define BELAY_ONEOF(oneof) EXPECT_EQ(nothing.oneof.field, 0u);
#define BELAY_MEMBER(number, kind, name, oneof, constant)              \
  {                                                                    \
    Sample one(in);                                                    \
    one.Set(number);                                                   \
    const Struct read = one.Read<Struct>();                            \
    EXPECT_EQ(read.oneof.field, Struct::constant);                     \
    EXPECT_EQ(Of(read.oneof.as<wire::kind>()), one[number]) << #name;  \
    EXPECT_TRUE(IsConstantOf(#constant, #name)) << #constant << #name; \
  }
#define BELAY_UNREAD(number, kind, name)
#define BELAY_END(message) }
#include "runtime/program/metadata_messages.inc"

TEST(MetadataMessagesTest, EmptyNestedMessageIsFound) {
  const std::string bytes("\x32\0", 2);
  NamedDataMessage data;
  EXPECT_FALSE(data.layout.found());
  ASSERT_OK(Read({.bytes = BytesOf(bytes), .nesting = 20, .depth = 0}, MetadataPath(), data));
  EXPECT_TRUE(data.layout.found());
  EXPECT_TRUE(data.layout.bytes.empty());
}

}  // namespace
}  // namespace belay
