// Transform matrices of winograd.h, for plain loops. Source: Lavin and Gray, 2016, section 4.3.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_MATRICES_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_MATRICES_H_

namespace belay {

// B^T for pixels, G for filters, A^T for sums.
inline constexpr double kWinogradB[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0},
                                            {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                            {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
inline constexpr double kWinogradG[6][3] = {{1.0 / 4, 0, 0},
                                            {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                            {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                            {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                            {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                            {0, 0, 1}};
inline constexpr double kWinogradA[4][6] = {
    {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WINOGRAD_MATRICES_H_
