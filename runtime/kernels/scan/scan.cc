#include "runtime/kernels/scan/scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/scan/scan.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

struct Sum {
  static HWY_INLINE double Join(double a, double b) { return a + b; }
  static HWY_INLINE int64_t Join(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Product {
  static HWY_INLINE double Join(double a, double b) { return a * b; }
  static HWY_INLINE int64_t Join(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};

template <class Op, class T, class Acc>
void Row(const T* in, size_t n, Acc& total, T* out) {
  Acc acc = total;
  for (size_t i = 0; i < n; ++i) {
    acc = Op::Join(acc, static_cast<Acc>(in[i]));
    out[i] = static_cast<T>(acc);
  }
  total = acc;
}

// Each row is a chain of dependent operations; the chains of several rows overlap.
template <class Op, class T, class Acc>
void Rows(const T* in, int64_t in_row, size_t n, Acc* totals, T* out, int64_t out_row) {
  static_assert(kScanRows == 4);
  Acc a = totals[0], b = totals[1], c = totals[2], e = totals[3];
  const T *in1 = in + in_row, *in2 = in1 + in_row, *in3 = in2 + in_row;
  T *out1 = out + out_row, *out2 = out1 + out_row, *out3 = out2 + out_row;
  for (size_t i = 0; i < n; ++i) {
    a = Op::Join(a, static_cast<Acc>(in[i]));
    b = Op::Join(b, static_cast<Acc>(in1[i]));
    c = Op::Join(c, static_cast<Acc>(in2[i]));
    e = Op::Join(e, static_cast<Acc>(in3[i]));
    out[i] = static_cast<T>(a);
    out1[i] = static_cast<T>(b);
    out2[i] = static_cast<T>(c);
    out3[i] = static_cast<T>(e);
  }
  totals[0] = a;
  totals[1] = b;
  totals[2] = c;
  totals[3] = e;
}

template <class Op, class T, class Acc>
void Step(const T* HWY_RESTRICT in, size_t n, Acc* HWY_RESTRICT totals, T* HWY_RESTRICT out) {
  for (size_t i = 0; i < n; ++i) {
    totals[i] = Op::Join(totals[i], static_cast<Acc>(in[i]));
    out[i] = static_cast<T>(totals[i]);
  }
}

template <class T, class Acc>
ScanLoops<T, Acc> LoopsOf(ScanOp op) {
  if (op == ScanOp::kSum) return {Row<Sum, T, Acc>, Rows<Sum, T, Acc>, Step<Sum, T, Acc>, Acc{0}};
  return {Row<Product, T, Acc>, Rows<Product, T, Acc>, Step<Product, T, Acc>, Acc{1}};
}

ScanLoops<float, double> FloatScanLoopsImpl(ScanOp op) { return LoopsOf<float, double>(op); }
ScanLoops<int64_t, int64_t> IntegerScanLoopsImpl(ScanOp op) {
  return LoopsOf<int64_t, int64_t>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FloatScanLoopsImpl);
HWY_EXPORT(IntegerScanLoopsImpl);
ScanLoops<float, double> FloatScanLoops(ScanOp op) {
  return HWY_DYNAMIC_DISPATCH(FloatScanLoopsImpl)(op);
}
ScanLoops<int64_t, int64_t> IntegerScanLoops(ScanOp op) {
  return HWY_DYNAMIC_DISPATCH(IntegerScanLoopsImpl)(op);
}

}  // namespace belay
#endif  // HWY_ONCE
