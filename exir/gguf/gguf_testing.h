// Writes GGUF files, valid or not, for tests and seeds of fuzzers.
#ifndef BELAY_EXIR_GGUF_GGUF_TESTING_H_
#define BELAY_EXIR_GGUF_GGUF_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "exir/gguf/gguf_file.h"

namespace belay::exir {

// Appends keys and tensors, and returns the file.
class GgufBytes {
 public:
  template <class T>
  static std::string Raw(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  static std::string String(std::string_view text) {
    return Raw(uint64_t{text.size()}) + std::string(text);
  }

  // Appends a key with any type and any bytes.
  GgufBytes& Key(std::string_view key, uint32_t type, std::string_view value) {
    keys_ += String(key) + Raw(type) + std::string(value);
    ++key_count;
    return *this;
  }
  GgufBytes& Key(std::string_view key, GgufType type, std::string_view value) {
    return Key(key, static_cast<uint32_t>(type), value);
  }
  GgufBytes& Int(std::string_view key, uint32_t value) {
    return Key(key, GgufType::kUint32, Raw(value));
  }
  GgufBytes& Float(std::string_view key, float value) {
    return Key(key, GgufType::kFloat32, Raw(value));
  }
  GgufBytes& Bool(std::string_view key, bool value) {
    return Key(key, GgufType::kBool, Raw(uint8_t{value}));
  }
  GgufBytes& Text(std::string_view key, std::string_view value) {
    return Key(key, GgufType::kString, String(value));
  }
  GgufBytes& Array(std::string_view key, GgufType type, uint64_t count, std::string_view elements) {
    return Key(key, GgufType::kArray, Raw(type) + Raw(count) + std::string(elements));
  }
  GgufBytes& Strings(std::string_view key, const std::vector<std::string>& strings) {
    std::string elements;
    for (const std::string& text : strings) elements += String(text);
    return Array(key, GgufType::kString, strings.size(), elements);
  }
  GgufBytes& Floats(std::string_view key, const std::vector<float>& floats) {
    std::string elements;
    for (float x : floats) elements += Raw(x);
    return Array(key, GgufType::kFloat32, floats.size(), elements);
  }
  GgufBytes& Ints(std::string_view key, const std::vector<int32_t>& ints) {
    std::string elements;
    for (int32_t x : ints) elements += Raw(x);
    return Array(key, GgufType::kInt32, ints.size(), elements);
  }

  // Appends an entry with any sizes (innermost first), type and offset.
  GgufBytes& Entry(std::string_view name, const std::vector<int64_t>& sizes, uint32_t type,
                   uint64_t offset) {
    entries_ += String(name) + Raw(static_cast<uint32_t>(sizes.size()));
    for (int64_t size : sizes) entries_ += Raw(size);
    entries_ += Raw(type) + Raw(offset);
    ++tensor_count;
    return *this;
  }
  // Appends a tensor with row-major sizes and its data.
  GgufBytes& Tensor(std::string_view name, std::vector<int64_t> sizes, uint32_t type,
                    std::string_view bytes) {
    data.resize((data.size() + 31) / 32 * 32);
    Entry(name, {sizes.rbegin(), sizes.rend()}, type, data.size());
    data += bytes;
    return *this;
  }

  std::string Build() const {
    std::string file = magic + Raw(version) + Raw(tensor_count) + Raw(key_count) + keys_ + entries_;
    if (!data.empty()) file.resize((file.size() + 31) / 32 * 32);
    return file + data;
  }
  // Parses the file. The result keeps its bytes alive.
  absl::StatusOr<GgufFile> Parse() const { return ParseBytes(Build()); }
  static absl::StatusOr<GgufFile> ParseBytes(std::string bytes) {
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    const auto* first = reinterpret_cast<const std::byte*>(owner->data());
    return GgufFile::Parse(owner, {first, owner->size()});
  }

  // Fields of the file. Tests change them before Build().
  std::string magic = "GGUF", data;
  uint32_t version = 3;
  uint64_t tensor_count = 0, key_count = 0;

 private:
  std::string keys_, entries_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_GGUF_GGUF_TESTING_H_
