// Element types of tensors, and the three external numberings of them.
//
// Source: docs/pt2-format.md §7. A PT2 archive, c10 (used by `.pte` files and debug output) and
// Belay's own program file number the same types differently. Each numbering has its own C++ type,
// so that they can't be mixed up. The functions below are the only conversions.
#ifndef BELAY_RUNTIME_CORE_DTYPE_H_
#define BELAY_RUNTIME_CORE_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>

namespace belay {

// Values are those of the program file (runtime/schema/program.proto) and never change.
enum class DType : uint8_t {
  kUint8 = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kComplex32 = 9,
  kComplex64 = 10,
  kComplex128 = 11,
  kBool = 12,
  kBFloat16 = 13,
  kUint16 = 14,
  kUint32 = 15,
  kUint64 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E5M2 = 18,
  kFloat8E4M3FNUZ = 19,
  kFloat8E5M2FNUZ = 20,
  kFloat8E8M0FNU = 21,
};
inline constexpr int kNumDTypes = 22;  // One more than the largest value; 0 is never a type.

// `ScalarType` of torch/_export/serde/schema.py: the values in a PT2 archive's JSON.
struct Pt2ScalarType {
  int64_t value;
};
// c10::ScalarType: the values in `.pte` files.
struct C10ScalarType {
  int64_t value;
};

// nullopt if Belay does not know the type.
std::optional<DType> DTypeFromPt2(Pt2ScalarType type);
std::optional<DType> DTypeFromC10(C10ScalarType type);
std::optional<DType> DTypeFromProgramFile(uint32_t value);
// nullopt if the numbering does not contain `dtype`.
std::optional<Pt2ScalarType> DTypeToPt2(DType dtype);
std::optional<C10ScalarType> DTypeToC10(DType dtype);

// PyTorch's name without the prefix: "float32", "bfloat16", "bool", "float8_e4m3fn", ….
std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);
// The short name of the text form: "f32", "bf16", "i64", "u8", "b8" (bool), "c64", "f8e4m3fn", ….
std::string_view DTypeShortName(DType dtype);
std::optional<DType> DTypeFromShortName(std::string_view name);

// Bytes of one element: 1, 2, 4, 8 or 16. Also the alignment for typed access (half of it for
// complex types). Inline: called for every instruction.
constexpr size_t DTypeSize(DType dtype) {
  // Indexed by DType; 0 is not a type.
  constexpr uint8_t kSizes[] = {0, 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 2, 2, 4, 8, 1, 1, 1, 1, 1};
  static_assert(std::size(kSizes) == kNumDTypes);
  const auto i = static_cast<size_t>(dtype);
  return i < std::size(kSizes) ? kSizes[i] : 0;
}

bool IsFloatingPoint(DType dtype);  // float16, bfloat16, float32, float64 and all float8 types
bool IsComplex(DType dtype);
bool IsIntegral(DType dtype, bool include_bool);

// Returns the dtype of the real and imaginary parts; `dtype` itself if it is not complex.
DType RealPart(DType dtype);

// torch.promote_types: the smallest type to which both convert under PyTorch's rules. float8
// promotes only with itself. Unsigned 16/32/64-bit integers promote with themselves and, as in
// PyTorch, with floating point types. nullopt otherwise.
std::optional<DType> PromoteTypes(DType a, DType b);

// A set of dtypes, stored in one word.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> types) {
    for (DType t : types) bits_ |= uint32_t{1} << static_cast<int>(t);
  }
  constexpr bool contains(DType t) const { return (bits_ >> static_cast<int>(t)) & 1; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr DTypeSet operator|(DTypeSet o) const { return DTypeSet(bits_ | o.bits_); }
  constexpr DTypeSet operator&(DTypeSet o) const { return DTypeSet(bits_ & o.bits_); }
  constexpr bool operator==(const DTypeSet&) const = default;

  // Public because types of template arguments (DispatchDType) can't have private members.
  uint32_t bits_ = 0;

 private:
  explicit constexpr DTypeSet(uint32_t bits) : bits_(bits) {}
};

inline constexpr DTypeSet kBoolType = {DType::kBool};
inline constexpr DTypeSet kIntegralTypes = {DType::kUint8, DType::kInt8, DType::kInt16,
                                            DType::kInt32, DType::kInt64};
inline constexpr DTypeSet kFloatTypes = {DType::kFloat16, DType::kBFloat16, DType::kFloat32,
                                         DType::kFloat64};
inline constexpr DTypeSet kComplexTypes = {DType::kComplex64, DType::kComplex128};
inline constexpr DTypeSet kUnsignedWideTypes = {DType::kUint16, DType::kUint32, DType::kUint64};
inline constexpr DTypeSet kFloat8Types = {DType::kFloat8E4M3FN, DType::kFloat8E5M2,
                                          DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2FNUZ,
                                          DType::kFloat8E8M0FNU};
inline constexpr DTypeSet kRealTypes = kBoolType | kIntegralTypes | kFloatTypes;
inline constexpr DTypeSet kAllTypes =
    kRealTypes | kComplexTypes | kUnsignedWideTypes | kFloat8Types | DTypeSet{DType::kComplex32};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_DTYPE_H_
