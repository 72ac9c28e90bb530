// Extremes and their positions, any and all.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/element_copy/convert_run.h"
#include "runtime/kernels/element_copy/run_source.h"
#include "runtime/kernels/operands/fold.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reduce/fold_block.h"
#include "runtime/kernels/reduce/reduce.h"
#include "runtime/kernels/reduce/reduction.h"

namespace belay {
namespace {

enum class ExtremeResult { kValue, kIndex, kBoth };

// Value type of Writer for T.
template <class T>
using Written = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

// Sets best[i] to the extremes of a block.
template <class T>
void FindBest(const Reduction& reduction, bool largest, int64_t base, int64_t width, T* best) {
  if (!reduction.columns()) {
    best[0] = Worst<T>(largest);
    reduction.ForEachRun(base, [&](const std::byte* x, int64_t n) {
      ExtremeRun(largest, reduction.type(), x, n, best);
    });
    return;
  }
  std::fill_n(best, width, Worst<T>(largest));
  const ReduceLoop loop =
      FindReduceLoop(largest ? ReduceOp::kMax : ReduceOp::kMin, reduction.type());
  reduction.ForEachRow(base, width, [&](const std::byte* x, int64_t rows, int64_t step, int64_t n) {
    loop(x, rows, step, n, best, nullptr);
  });
}

template <class T>
void ExtremesInto(const KernelContext& context, const Fold& fold, bool largest,
                  const TensorView& out) {
  const Reduction reduction(fold, out, out);
  const Writer<Written<T>> write(out);
  reduction.ForEachBlock(context,
                         [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
                           T best[kReduceBlock];
                           FindBest(reduction, largest, base, width, best);
                           if (DTypeSize(out.dtype) == sizeof(T)) {
                             T* const to = out.as<T>() + at[0];
                             for (int64_t i = 0; i < width; ++i) to[i * step[0]] = best[i];
                             return;
                           }
                           for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], best[i]);
                         });
}

template <class T>
void PlacesInto(const KernelContext& context, const Fold& fold, bool largest,
                const TensorView* values, const TensorView& places) {
  const Reduction reduction(fold, values == nullptr ? places : *values, places);
  const Writer<Written<T>> write_value(values == nullptr ? places : *values);
  const Writer<int64_t> write_place(places);
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        T best[kReduceBlock];
        int64_t place[kReduceBlock];
        std::fill_n(place, width, int64_t{0});
        if (reduction.columns()) {
          // The first row beats the worst value. If it equals the worst value, position 0 is
          // correct.
          std::fill_n(best, width, Worst<T>(largest));
          int64_t row = 0;
          reduction.ForEachRow(
              base, width, [&](const std::byte* x, int64_t rows, int64_t row_step, int64_t n) {
                ExtremeRows(largest, reduction.type(), x, rows, row_step, n, row, best, place);
                row += rows;
              });
        } else {
          FindBest(reduction, largest, base, width, best);
          int64_t seen = 0;
          bool found = false;
          reduction.ForEachRun(base, [&](const std::byte* x, int64_t n) {
            if (!found) {
              const int64_t i = FindValue(reduction.type(), x, n, best);
              found = i >= 0;
              if (found) place[0] = seen + i;
            }
            seen += n;
          });
        }
        for (int64_t i = 0; i < width; ++i) {
          if (values != nullptr) write_value(at[0] + i * step[0], best[i]);
          write_place(at[1] + i * step[1], place[i]);
        }
      });
}

template <DimsAre kDims, bool kLargest, ExtremeResult kResult>
absl::Status FindExtreme(
    KernelContext& context,
    const ExtremeCall<KernelArguments, kDims, kResult == ExtremeResult::kIndex>& call) {
  const Fold fold =
      kResult == ExtremeResult::kValue ? UnorderedFoldOf(call.fold) : FoldOf(call.fold);
  ABSL_RETURN_IF_ERROR(call.fold.CheckHasElements());
  const DType dtype = kResult == ExtremeResult::kIndex ? DType::kInt64 : fold.self->dtype;
  ABSL_ASSIGN_OR_RETURN(const TensorView* first, ResultOf(context, 0, dtype, fold));
  const TensorView* second = first;
  if (kResult == ExtremeResult::kBoth) {
    ABSL_ASSIGN_OR_RETURN(second, ResultOf(context, 1, DType::kInt64, fold));
  }
  WithLoopType(LoopType(fold.self->dtype), [&](auto zero) {
    using T = decltype(zero);
    if (kResult == ExtremeResult::kValue) {
      ExtremesInto<T>(context, fold, kLargest, *first);
    } else {
      PlacesInto<T>(context, fold, kLargest, kResult == ExtremeResult::kBoth ? first : nullptr,
                    *second);
    }
  });
  return absl::OkStatus();
}

template <class Call>
bool AcceptsAny(const KernelContext& context, const Call& call) {
  return kRunTypes.contains(call.fold.self->dtype);
}

// Whether all of n bytes are nonzero, or any of them.
bool TruthOfBytes(bool all, const uint8_t* x, int64_t n) {
  if (all) return std::memchr(x, 0, static_cast<size_t>(n)) == nullptr;
  constexpr int64_t kBlock = 256;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t end = std::min(i + kBlock, n);
    uint8_t any = 0;
    for (int64_t k = i; k < end; ++k) any |= x[k];
    if (any != 0) return true;
  }
  return false;
}

template <class T>
void TruthInto(const KernelContext& context, const Fold& fold, bool all, const TensorView& out) {
  const Reduction reduction(fold, out, out);
  const ReduceLoop loop = FindReduceLoop(all ? ReduceOp::kAll : ReduceOp::kAny, reduction.type());
  const Writer<bool> write(out);
  reduction.ForEachBlock(
      context, [&](int64_t base, int64_t width, const int64_t* at, const int64_t* step) {
        if (const uint8_t* const bytes = reduction.BytesOf(base)) {
          return write(at[0], TruthOfBytes(all, bytes, reduction.count()));
        }
        T truth[kReduceBlock];
        FoldBlock<T>(reduction, loop, base, width, all ? T{1} : T{0}, nullptr, truth,
                     [&](T a, T b) { return all ? std::min(a, b) : std::max(a, b); });
        for (int64_t i = 0; i < width; ++i) write(at[0] + i * step[0], truth[i] != T{0});
      });
}

template <DimsAre kDims, bool kAll>
absl::Status Truth(KernelContext& context, const TruthCall<KernelArguments, kDims>& call) {
  const Fold fold = UnorderedFoldOf(call.fold);
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, ResultOf(context, 0, call.dtype, fold));
  WithLoopType(LoopType(fold.self->dtype),
               [&](auto zero) { TruthInto<decltype(zero)>(context, fold, kAll, *out); });
  return absl::OkStatus();
}

constexpr KernelEngine kHighway = KernelEngine::kHighway;
constexpr ExtremeResult kValue = ExtremeResult::kValue, kIndex = ExtremeResult::kIndex,
                        kBoth = ExtremeResult::kBoth;

constexpr Kernel kKernels[] = {
    KernelRow<&FindExtreme<DimsAre::kList, true, kValue>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kList, false>>>(
        "aten.amax.default", "self dim keepdim", "AmaxSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kList, false, kValue>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kList, false>>>(
        "aten.amin.default", "self dim keepdim", "AminSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kAll, true, kValue>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kAll, false>>>(
        "aten.max.default", "self", "MaxSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kAll, false, kValue>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kAll, false>>>(
        "aten.min.default", "self", "MinSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kOne, true, kBoth>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kOne, false>>>(
        "aten.max.dim", "self dim keepdim -> 2", "MaxDimSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kOne, false, kBoth>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kOne, false>>>(
        "aten.min.dim", "self dim keepdim -> 2", "MinDimSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kOptionalOne, true, kIndex>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kOptionalOne, true>>>(
        "aten.argmax.default", "self dim keepdim", "ArgmaxSimd", kHighway),
    KernelRow<&FindExtreme<DimsAre::kOptionalOne, false, kIndex>,
              &AcceptsAny<ExtremeCall<KernelArguments, DimsAre::kOptionalOne, true>>>(
        "aten.argmin.default", "self dim keepdim", "ArgminSimd", kHighway),
    KernelRow<&Truth<DimsAre::kAll, false>, &AcceptsAny<TruthCall<KernelArguments, DimsAre::kAll>>>(
        "aten.any.default", "self", "AnySimd", kHighway),
    KernelRow<&Truth<DimsAre::kOne, false>, &AcceptsAny<TruthCall<KernelArguments, DimsAre::kOne>>>(
        "aten.any.dim", "self dim keepdim", "AnyDimSimd", kHighway),
    KernelRow<&Truth<DimsAre::kExactList, false>,
              &AcceptsAny<TruthCall<KernelArguments, DimsAre::kExactList>>>(
        "aten.any.dims", "self dim keepdim", "AnyDimsSimd", kHighway),
    KernelRow<&Truth<DimsAre::kAll, true>, &AcceptsAny<TruthCall<KernelArguments, DimsAre::kAll>>>(
        "aten.all.default", "self", "AllSimd", kHighway),
    KernelRow<&Truth<DimsAre::kOne, true>, &AcceptsAny<TruthCall<KernelArguments, DimsAre::kOne>>>(
        "aten.all.dim", "self dim keepdim", "AllDimSimd", kHighway),
    KernelRow<&Truth<DimsAre::kExactList, true>,
              &AcceptsAny<TruthCall<KernelArguments, DimsAre::kExactList>>>(
        "aten.all.dims", "self dim keepdim", "AllDimsSimd", kHighway),
};

}  // namespace

absl::Span<const Kernel> ExtremeHighwayKernels() { return kKernels; }

}  // namespace belay
