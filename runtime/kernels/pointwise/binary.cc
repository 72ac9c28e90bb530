#include "runtime/kernels/pointwise/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/binary.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The three forms that matter have loops of their own; steps of zero repeat one value.
template <class Op>
HWY_INLINE void Loop(const float* x, size_t x_step, const float* y, size_t y_step, size_t n,
                     float* out, const Op& op) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto run = [&](const auto& load_x, const auto& load_y) HWY_ATTR {
    size_t i = 0;
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(op(d, load_x(i, lanes), load_y(i, lanes)), d, out + i);
    if (i < n) hn::StoreN(op(d, load_x(i, n - i), load_y(i, n - i)), d, out + i, n - i);
  };
  const auto run_of = [&](const float* p) {
    return [&d, p](size_t i, size_t left) HWY_ATTR {
      return left >= hn::Lanes(d) ? hn::LoadU(d, p + i) : hn::LoadN(d, p + i, left);
    };
  };
  const auto one = [&](const float* p) {
    return [v = hn::Set(d, *p)](size_t, size_t) HWY_ATTR { return v; };
  };
  if (n == 0) return;
  if (x_step != 0 && y_step != 0) {
    run(run_of(x), run_of(y));
  } else if (x_step != 0) {
    run(run_of(x), one(y));
  } else if (y_step != 0) {
    run(one(x), run_of(y));
  } else {
    run(one(x), one(y));
  }
}

#define BELAY_DEFINE(name, expression)                                                    \
  void name##Impl(const float* x, size_t x_step, const float* y, size_t y_step, size_t n, \
                  [[maybe_unused]] float alpha, float* out) {                             \
    Loop(x, x_step, y, y_step, n, out,                                                    \
         [&]([[maybe_unused]] auto d, auto a, auto b) HWY_ATTR { return expression; });   \
  }
// Multiplied and added separately, so that all instruction sets give the same bits.
BELAY_DEFINE(AddF32, hn::Add(a, hn::Mul(hn::Set(d, alpha), b)))
BELAY_DEFINE(DivF32, hn::Div(a, b))
BELAY_DEFINE(MaximumF32,
             hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b))))
BELAY_DEFINE(MinimumF32,
             hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Min(a, b))))
BELAY_DEFINE(MulF32, hn::Mul(a, b))
BELAY_DEFINE(SubF32, hn::Sub(a, hn::Mul(hn::Set(d, alpha), b)))
#undef BELAY_DEFINE

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

#define BELAY_BINARY(fn)                                                                       \
  HWY_EXPORT(fn##Impl);                                                                        \
  void fn(const float* x, size_t x_step, const float* y, size_t y_step, size_t n, float alpha, \
          float* out) {                                                                        \
    HWY_DYNAMIC_DISPATCH(fn##Impl)(x, x_step, y, y_step, n, alpha, out);                       \
  }
BELAY_BINARY(AddF32)
BELAY_BINARY(DivF32)
BELAY_BINARY(MaximumF32)
BELAY_BINARY(MinimumF32)
BELAY_BINARY(MulF32)
BELAY_BINARY(SubF32)
#undef BELAY_BINARY

}  // namespace belay
#endif  // HWY_ONCE
