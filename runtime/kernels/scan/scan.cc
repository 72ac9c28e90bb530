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

// Each row is a chain of dependent operations; the chains of several rows overlap. Elements are converted
// a block at a time, by vectors.
template <class Op, class T, class Acc>
void Rows(const T* in, int64_t in_row, size_t n, Acc* totals, T* out, int64_t out_row) {
  static_assert(kScanRows == 4);
  constexpr size_t kBlock = 64;
  Acc a = totals[0], b = totals[1], c = totals[2], e = totals[3];
  if (n < kBlock / 2) {  // too few elements for vectors
    for (size_t i = 0; i < n; ++i, ++in, ++out) {
      a = Op::Join(a, static_cast<Acc>(in[0]));
      b = Op::Join(b, static_cast<Acc>(in[in_row]));
      c = Op::Join(c, static_cast<Acc>(in[2 * in_row]));
      e = Op::Join(e, static_cast<Acc>(in[3 * in_row]));
      out[0] = static_cast<T>(a);
      out[out_row] = static_cast<T>(b);
      out[2 * out_row] = static_cast<T>(c);
      out[3 * out_row] = static_cast<T>(e);
    }
    totals[0] = a;
    totals[1] = b;
    totals[2] = c;
    totals[3] = e;
    return;
  }
  Acc block[kScanRows][kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    const size_t count = HWY_MIN(kBlock, n - at);
    for (int64_t r = 0; r < kScanRows; ++r) {
      const T* HWY_RESTRICT from = in + r * in_row + at;
      for (size_t i = 0; i < count; ++i) block[r][i] = static_cast<Acc>(from[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      a = Op::Join(a, block[0][i]);
      b = Op::Join(b, block[1][i]);
      c = Op::Join(c, block[2][i]);
      e = Op::Join(e, block[3][i]);
      block[0][i] = a;
      block[1][i] = b;
      block[2][i] = c;
      block[3][i] = e;
    }
    for (int64_t r = 0; r < kScanRows; ++r) {
      T* HWY_RESTRICT to = out + r * out_row + at;
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>(block[r][i]);
    }
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

#if HWY_TARGET == HWY_STATIC_TARGET
ScanLoops<double, double> DoubleScanLoopsImpl(ScanOp op) { return LoopsOf<double, double>(op); }
#endif
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
// Scans of doubles wait for memory and for their chains: the instruction sets do not differ.
ScanLoops<double, double> DoubleScanLoops(ScanOp op) {
  return HWY_STATIC_DISPATCH(DoubleScanLoopsImpl)(op);
}
ScanLoops<int64_t, int64_t> IntegerScanLoops(ScanOp op) {
  return HWY_DYNAMIC_DISPATCH(IntegerScanLoopsImpl)(op);
}

}  // namespace belay
#endif  // HWY_ONCE
