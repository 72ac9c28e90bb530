#include "runtime/kernels/select/scatter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/select/scatter.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

bool AllEqualImpl(const int64_t* HWY_RESTRICT index, size_t n, int64_t value) {
  int64_t differ = 0;
  for (size_t i = 0; i < n; ++i) differ |= index[i] ^ value;
  return differ == 0;
}

template <Update kUpdate, class T>
void Indexed(const ScatterRun& run) {
  const T* from = static_cast<const T*>(run.from);
  T* to = static_cast<T*>(run.to);
  // The compiler cannot know that `to` does not alias the run.
  const int64_t* HWY_RESTRICT const index = run.index;
  const int64_t step = run.step, rest = run.rest, from_step = run.from_step;
  const auto n = static_cast<int64_t>(run.n);
  if (step == 1 && rest == 0 && from_step == 1) {
    for (int64_t i = 0; i < n; ++i) to[index[i]] = Updated<kUpdate>(to[index[i]], from[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i, to += rest, from += from_step) {
    T& element = to[index[i] * step];
    element = Updated<kUpdate>(element, *from);
  }
}

template <Update kUpdate, class T>
void Adjacent(void* target, const void* source, int64_t from_step, size_t n) {
  const T* HWY_RESTRICT from = static_cast<const T*>(source);
  T* HWY_RESTRICT to = static_cast<T*>(target);
  if (from_step == 0) {
    const T value = *from;
    for (size_t i = 0; i < n; ++i) to[i] = Updated<kUpdate>(to[i], value);
  } else {
    for (size_t i = 0; i < n; ++i) to[i] = Updated<kUpdate>(to[i], from[i]);
  }
}

template <Update kUpdate, class T>
ScatterLoops LoopsOf() {
  return {&Indexed<kUpdate, T>, &Adjacent<kUpdate, T>};
}

template <Update kUpdate>
ScatterLoops LoopsFor(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return LoopsOf<kUpdate, float>();
    case DType::kFloat64:
      return LoopsOf<kUpdate, double>();
    case DType::kInt64:
      return LoopsOf<kUpdate, int64_t>();
    case DType::kInt32:
      return LoopsOf<kUpdate, int32_t>();
    default:
      return {};
  }
}

ScatterLoops AssignLoops(DType dtype) {
  if (dtype == DType::kBool) return {};  // any nonzero byte becomes 1
  switch (DTypeSize(dtype)) {
    case 1:
      return LoopsOf<Update::kAssign, uint8_t>();
    case 2:
      return LoopsOf<Update::kAssign, uint16_t>();
    case 4:
      return LoopsOf<Update::kAssign, uint32_t>();
    case 8:
      return LoopsOf<Update::kAssign, uint64_t>();
    default:
      return {};
  }
}

ScatterLoops FindScatterLoopsImpl(Update update, DType dtype) {
  switch (update) {
    case Update::kAssign:
      return AssignLoops(dtype);
    case Update::kAdd:
      return LoopsFor<Update::kAdd>(dtype);
    case Update::kMultiply:
      return LoopsFor<Update::kMultiply>(dtype);
    case Update::kMaximum:
      return LoopsFor<Update::kMaximum>(dtype);
    case Update::kMinimum:
      return LoopsFor<Update::kMinimum>(dtype);
  }
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(AllEqualImpl);
HWY_EXPORT(FindScatterLoopsImpl);
ScatterLoops FindScatterLoops(Update update, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(FindScatterLoopsImpl)(update, dtype);
}
bool AllEqual(const int64_t* index, size_t n, int64_t value) {
  return HWY_DYNAMIC_DISPATCH(AllEqualImpl)(index, n, value);
}

}  // namespace belay
#endif  // HWY_ONCE
