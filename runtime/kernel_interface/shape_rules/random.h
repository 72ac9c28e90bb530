// Calls of operators that use random numbers.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_RANDOM_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_RANDOM_H_

#include <cstdint>
#include <optional>

#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/shape_rules/creation.h"
#include "runtime/kernel_interface/shape_rules/index.h"

namespace belay {

// Reads the state of a method's generator: int64 [seed, count of numbers drawn].
template <class Arguments>
absl::StatusOr<typename Arguments::TensorRef> ReadRandomState(const Arguments& arguments) {
  ABSL_ASSIGN_OR_RETURN(const typename Arguments::TensorRef state,
                        arguments.Tensor("random_state", DTypeSet{DType::kInt64}));
  const auto& sizes = Arguments::SizesOf(state);
  if (sizes.size() == 1 && KnownInt(sizes[0]) == 2) return state;
  return arguments.ArgumentError("random_state",
                                 "expected the two integers of a generator's state");
}

// A call of `seeded.<op>`: the arguments of `aten.<op>`, preceded by the generator's state and the
// call's offset in the method's sequence of random numbers. Called as `aten.<op>`, without a state,
// it draws different numbers each time.
template <class Call, class Arguments>
struct SeededCall : Call {
  typename Arguments::TensorRef random_state = nullptr;
  int64_t offset = 0;

  static absl::StatusOr<SeededCall> Read(const Arguments& arguments) {
    SeededCall call;
    ABSL_ASSIGN_OR_RETURN(static_cast<Call&>(call), Call::Read(arguments));
    if (!arguments.Has("random_state")) return call;
    ABSL_ASSIGN_OR_RETURN(call.random_state, ReadRandomState(arguments));
    ABSL_ASSIGN_OR_RETURN(call.offset, arguments.StaticInt("offset"));
    return call;
  }
};

// seeded.advance: returns the state after `count` more numbers were drawn.
template <class Arguments>
struct AdvanceCall {
  typename Arguments::TensorRef random_state;
  int64_t count = 0;

  static absl::StatusOr<AdvanceCall> Read(const Arguments& arguments) {
    AdvanceCall call;
    ABSL_ASSIGN_OR_RETURN(call.random_state, ReadRandomState(arguments));
    ABSL_ASSIGN_OR_RETURN(call.count, arguments.StaticInt("count"));
    return call;
  }
};

// randint: integers in [low, high) in a tensor of any real dtype that can represent them.
template <class Arguments>
struct RandintCall {
  typename Arguments::Dim low = 0, high = 0;
  Dims<typename Arguments::Dim> sizes;
  DType dtype = DType::kInt64;

  static absl::StatusOr<RandintCall> Read(const Arguments& arguments) {
    RandintCall call;
    ABSL_ASSIGN_OR_RETURN(call.low, arguments.Int("low"));
    ABSL_ASSIGN_OR_RETURN(call.high, arguments.Int("high"));
    ABSL_ASSIGN_OR_RETURN(call.sizes, ReadSize(arguments));
    ABSL_ASSIGN_OR_RETURN(call.dtype, arguments.DtypeOr("dtype", DType::kInt64));
    if (!kRealTypes.contains(call.dtype)) {
      return arguments.ArgumentError(
          "dtype", absl::StrCat("expected a real dtype, got ", DTypeName(call.dtype)));
    }
    const std::optional<int64_t> low = KnownInt(call.low), high = KnownInt(call.high);
    if (!low.has_value() || !high.has_value()) return call;
    if (*low >= *high) {
      return arguments.ArgumentError(
          "high", absl::StrCat("expected more than low, ", *low, ", got ", *high));
    }
    for (int64_t bound : {*low, *high - 1}) {
      if (Holds(call.dtype, bound)) continue;
      return arguments.Error(absl::StrCat(DTypeName(call.dtype), " does not hold ", bound));
    }
    return call;
  }

 private:
  static bool Holds(DType dtype, int64_t number) {
    if (dtype == DType::kBool) return number >= 0 && number <= 1;
    if (dtype == DType::kUint8) return number >= 0 && number <= UINT8_MAX;
    if (dtype == DType::kFloat16) return number >= -65504 && number <= 65504;
    if (!kIntegralTypes.contains(dtype)) return true;
    const int64_t most = INT64_MAX >> (64 - 8 * DTypeSize(dtype));
    return number >= -most - 1 && number <= most;
  }
};

// poisson: rates of any floating point dtype.
template <class Arguments>
struct PoissonCall {
  typename Arguments::TensorRef self;

  static absl::StatusOr<PoissonCall> Read(const Arguments& arguments) {
    PoissonCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kFloatTypes));
    return call;
  }
};

// native_dropout -> (out, mask).
template <class Arguments>
struct DropoutCall {
  typename Arguments::TensorRef input;
  double p = 0;
  bool train = true;

  static absl::StatusOr<DropoutCall> Read(const Arguments& arguments) {
    DropoutCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input"));
    ABSL_ASSIGN_OR_RETURN(call.p, arguments.Double("p"));
    if (!arguments.IsNone("train")) {
      ABSL_ASSIGN_OR_RETURN(call.train, arguments.Bool("train"));
    }
    return call;
  }
  // For an empty input, PyTorch returns a mask of the input's dtype and checks nothing else.
  bool IsEmpty() const {
    const auto& sizes = Arguments::SizesOf(input);
    return KnownEmpty<typename Arguments::Dim>(sizes);
  }
  // Without dropping (not training, or empty input), any dtype and p are accepted.
  absl::Status CheckShapes() const {
    if (!train || IsEmpty()) return absl::OkStatus();
    if (!kFloatTypes.contains(input->dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: expected a floating point type, got ", DTypeName(input->dtype)));
    }
    if (p >= 0 && p <= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("p: expected a number from 0 to 1, got ", p));
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_RANDOM_H_
