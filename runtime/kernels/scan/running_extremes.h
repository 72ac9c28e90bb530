// Loops of cummax and cummin: running extremes and their positions. Of equal elements the last one
// counts. NaN replaces every number, and the last NaN counts. Results have the bits of the reference
// kernels.
#ifndef BELAY_RUNTIME_KERNELS_SCAN_RUNNING_EXTREMES_H_
#define BELAY_RUNTIME_KERNELS_SCAN_RUNNING_EXTREMES_H_

#include <cstddef>
#include <cstdint>

namespace belay {

// The extreme of the elements so far, and its position.
template <class T>
struct RunningExtreme {
  T value;
  int64_t index = 0;
};

template <class T>
struct RunningExtremeLoops {
  // One row: sets best[i] and index[i] to the extreme of `state` and in[0..i], i < n. Element i has
  // position start + i. `state` is updated.
  void (*row)(const T* in, int64_t n, T* best, int64_t* index, int64_t start,
              RunningExtreme<T>& state);
  // One step of n adjacent rows: element `position` of each. best and index, the extremes so far, are
  // updated and copied to out and out_index.
  void (*step)(const T* in, size_t n, int64_t position, T* best, int64_t* index, T* out,
               int64_t* out_index);
  T start;  // the extreme of no elements, which every element replaces
};
RunningExtremeLoops<float> FloatExtremeLoops(bool largest);
RunningExtremeLoops<double> DoubleExtremeLoops(bool largest);
RunningExtremeLoops<int64_t> IntegerExtremeLoops(bool largest);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SCAN_RUNNING_EXTREMES_H_
