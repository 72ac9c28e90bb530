// Values that instructions and kernels exchange: tensors, scalars, and lists of either.
#ifndef BELAY_RUNTIME_CORE_EVALUE_H_
#define BELAY_RUNTIME_CORE_EVALUE_H_

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "absl/types/span.h"
#include "runtime/core/dtype.h"
#include "runtime/core/tensor_view.h"

namespace belay {

enum class MemoryFormat : uint8_t {
  kContiguous = 1,
  kChannelsLast = 2,
  kChannelsLast3d = 3,
  kPreserve = 4
};

struct None {
  bool operator==(const None&) const = default;
};

class EValue;

// A list of pointers to its elements' slots, so that elements computed at run time (a symbolic
// integer, a tensor) are visible through the list. The creator of the list (the Method, the
// interpreter) owns the array and the slots.
struct ListView {
  absl::Span<EValue* const> elements;
};

// A small variant that never owns memory.
class EValue {
 public:
  EValue() : value_(None{}) {}
  EValue(None) : value_(None{}) {}               // NOLINT
  EValue(int64_t v) : value_(v) {}               // NOLINT
  EValue(double v) : value_(v) {}                // NOLINT
  EValue(bool v) : value_(v) {}                  // NOLINT
  EValue(std::complex<double> v) : value_(v) {}  // NOLINT
  EValue(std::string_view v) : value_(v) {}      // NOLINT  the bytes belong to the program
  EValue(const void*) = delete;                  // a pointer would convert to bool
  EValue(const TensorView& v) : value_(v) {}     // NOLINT
  EValue(ListView v) : value_(v) {}              // NOLINT
  EValue(DType v) : value_(v) {}                 // NOLINT
  EValue(MemoryFormat v) : value_(v) {}          // NOLINT

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  bool is_none() const { return is<None>(); }
  bool is_tensor() const { return is<TensorView>(); }
  bool is_number() const {
    return is<int64_t>() || is<double>() || is<bool>() || is<std::complex<double>>();
  }

  // Returns nullptr if the value is of another kind. Use it for values whose kind is decided by a
  // file.
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&value_);
  }

  // Equal for values of the same kind.
  size_t kind() const { return value_.index(); }

  // The kind, for messages: "none", "int", "tensor f32[2,3]", ….
  std::string KindName() const;

 private:
  std::variant<None, int64_t, double, bool, std::complex<double>, std::string_view, TensorView,
               ListView, DType, MemoryFormat>
      value_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_EVALUE_H_
