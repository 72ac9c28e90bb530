#include "exir/quantize/observer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

namespace belay::exir {
namespace {

constexpr int kBins = 2048;
constexpr int kLevels = 256;
constexpr int kUpsampling = 16;
constexpr float kAveraging = 0.01F;
constexpr int kPointsOfBin = 4;

// Counts the values in kBins equal bins. Equal bounds are widened by 1 to both sides.
std::vector<double> Histogram(absl::Span<const float> values, double low, double high) {
  std::vector<double> bins(kBins);
  if (low == high) {
    low -= 1;
    high += 1;
  }
  const double factor = kBins / (high - low);
  for (float x : values) {
    if (!(x >= low && x <= high)) continue;
    ++bins[static_cast<size_t>(std::min<double>((x - low) * factor, kBins - 1))];
  }
  return bins;
}

// Distributes a histogram over [low, high] to bins over the wider [new_low, new_high].
std::vector<double> Widened(const std::vector<double>& bins, double low, double high,
                            double new_low, double new_high) {
  std::vector<double> wider(kBins);
  const double width = (high - low) / (kBins * kUpsampling);
  const double factor = kBins / (new_high - new_low);
  for (int i = 0; i < kBins * kUpsampling; ++i) {
    const double count = bins[static_cast<size_t>(i / kUpsampling)];
    if (count == 0) continue;
    const double middle = low + (i + 0.5) * width;
    const double bin = std::clamp<double>((middle - new_low) * factor, 0, kBins - 1);
    wider[static_cast<size_t>(bin)] += count / kUpsampling;
  }
  return wider;
}

}  // namespace

void Observer::Observe(absl::Span<const float> values) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (float x : values) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  if (low > high) return;
  if (has_histogram()) {
    AddToHistogram(values, low, high);
  } else if (!any_) {
    low_ = low;
    high_ = high;
  } else if (kind_ == ObserverKind::kMinMax) {
    low_ = std::min(low_, low);
    high_ = std::max(high_, high);
  } else {
    low_ += kAveraging * (low - low_);
    high_ += kAveraging * (high - high_);
  }
  any_ = true;
}

void Observer::AddToHistogram(absl::Span<const float> values, float low, float high) {
  const float new_low = any_ ? std::min(low, low_) : low;
  const float new_high = any_ ? std::max(high, high_) : high;
  std::vector<double> bins = Histogram(values, new_low, new_high);
  if (any_) {
    std::vector<double> before = std::move(histogram_);
    if (low_ == high_ && new_low < new_high) {
      const double count = std::accumulate(before.begin(), before.end(), 0.0);
      before = Histogram(absl::MakeConstSpan(&low_, 1), new_low, new_high);
      for (double& bin : before) bin *= count;
    } else if (new_low != low_ || new_high != high_) {
      before = Widened(before, low_, high_, new_low, new_high);
    }
    for (size_t i = 0; i < kBins; ++i) bins[i] += before[i];
  }
  histogram_ = std::move(bins);
  low_ = new_low;
  high_ = new_high;
}

float Observer::Point(int i) const {
  return static_cast<float>(low_ + (i + 0.5) * BinWidth() / kPointsOfBin);
}

std::vector<float> Observer::Points() const {
  std::vector<float> points;
  if (kind_ != ObserverKind::kLeastError || !any_ || low_ == high_) return points;
  for (int i = 0; i < kBins * kPointsOfBin; ++i) points.push_back(Point(i));
  return points;
}

std::optional<std::pair<float, float>> Observer::Range(absl::Span<const float> results) const {
  if (!any_) return std::nullopt;
  if (low_ == high_) return std::pair(low_, high_);
  switch (kind_) {
    case ObserverKind::kHistogram:
      return RangeOfBins(TorchaoSearch());
    case ObserverKind::kLeastError:
      return results.empty() ? LeastErrorOf(Points(), false) : LeastErrorOf(results, true);
    case ObserverKind::kPercentile:
      return Percentiles();
    default:
      return std::pair(low_, high_);
  }
}

Distribution Observer::Observed() const {
  Distribution result;
  if (histogram_.empty()) return result;
  result.low = low_;
  result.high = high_;
  result.before.resize(Distribution::kBins);
  constexpr size_t kEach = kBins / Distribution::kBins;
  for (size_t bin = 0; bin < Distribution::kBins; ++bin) {
    const auto* first = histogram_.data() + bin * kEach;
    result.before[bin] =
        static_cast<uint64_t>(std::llround(std::accumulate(first, first + kEach, 0.0)));
  }
  return result;
}

QuantizationLoss Observer::LossOf(std::pair<float, float> range) const {
  const AffineParameters p = ChooseAffine(range.first, range.second, false, {0, kLevels - 1});
  QuantizationLoss loss;
  double elements = 0, clamped = 0;
  for (size_t bin = 0; bin < histogram_.size(); ++bin) {
    if (histogram_[bin] == 0) continue;
    const double count = histogram_[bin] / kPointsOfBin;
    for (int i = 0; i < kPointsOfBin; ++i) {
      const double x = low_ == high_ ? low_ : Point(static_cast<int>(bin) * kPointsOfBin + i);
      const auto q = QuantizeNumber(static_cast<float>(x), p, {0, kLevels - 1});
      const double error = std::abs(x - DequantizeNumber(q, p));
      loss.signal += count * x * x;
      loss.noise += count * error * error;
      loss.max_error = std::max(loss.max_error, error);
      elements += count;
      // Elements between two levels differ by at most half a step.
      if (error > 0.5001 * double{p.scale}) clamped += count;
    }
  }
  loss.elements = static_cast<uint64_t>(std::llround(elements));
  loss.clamped = static_cast<uint64_t>(std::llround(clamped));
  return loss;
}

double Observer::BinWidth() const { return (double{high_} - double{low_}) / kBins; }

std::pair<float, float> Observer::RangeOfBins(Bins bins) const {
  const auto [start, end] = bins;
  const double width = BinWidth();
  return {static_cast<float>(low_ + width * start), static_cast<float>(low_ + width * (end + 1))};
}

// Squared error of quantizing the bins' elements, uniformly distributed in their bins, to kLevels
// levels over the bins from `start` to `end`.
double Observer::ErrorOf(Bins bins) const {
  const auto [start, end] = bins;
  const double width = BinWidth();
  const double level = width * (end - start + 1) / kLevels;
  if (level == 0) return 0;
  const auto integral = [](double from, double to) {
    return (to * to * to - from * from * from) / 3;
  };
  const double whole = integral(-level / 2, level / 2);
  double error = 0;
  for (int i = 0; i < kBins; ++i) {
    const double density = histogram_[static_cast<size_t>(i)] / width;
    if (density == 0) continue;
    const double begin = (i - start) * width, finish = begin + width;
    const double first = std::clamp<double>(std::floor(begin / level), 0, kLevels - 1);
    const double last = std::clamp<double>(std::floor(finish / level), 0, kLevels - 1);
    error +=
        density * (integral(begin - (first + 0.5) * level, level / 2) + (last - first - 1) * whole +
                   integral(-level / 2, finish - (last + 0.5) * level));
  }
  return error;
}

Observer::Bins Observer::TorchaoSearch() const {
  constexpr double kStep = 1e-5;
  std::vector<double> sums(kBins);
  std::partial_sum(histogram_.begin(), histogram_.end(), sums.begin());
  const double total = sums.back();
  double alpha = 0, beta = 1, least = std::numeric_limits<double>::infinity();
  int start = 0, end = kBins - 1;
  while (alpha < beta) {
    const double next_alpha = alpha + kStep, next_beta = beta - kStep;
    int left = start, right = end;
    while (left < end && sums[static_cast<size_t>(left)] < next_alpha * total) ++left;
    while (right > start && sums[static_cast<size_t>(right)] > next_beta * total) --right;
    int next_start = start, next_end = end;
    if (left - start > end - right) {
      next_start = left;
      alpha = next_alpha;
    } else {
      next_end = right;
      beta = next_beta;
    }
    if (next_start == start && next_end == end) continue;
    const double error = ErrorOf({next_start, next_end});
    if (error > least) break;
    least = error;
    start = next_start;
    end = next_end;
  }
  return {start, end};
}

double Observer::ErrorOf(Bins bins, absl::Span<const float> results, bool is_function) const {
  const auto [low, high] = RangeOfBins(bins);
  const AffineParameters p = ChooseAffine(low, high, false, {0, kLevels - 1});
  const double distance = BinWidth() / kPointsOfBin;
  // f of each level, interpolated.
  std::array<double, kLevels> levels;
  for (int q = 0; q < kLevels; ++q) {
    const double last = static_cast<double>(results.size() - 1);
    const double at =
        std::clamp((DequantizeNumber(q, p) - double{low_}) / distance - 0.5, 0.0, last);
    const auto left = static_cast<size_t>(std::min(at, last - 1));
    const double part = at - static_cast<double>(left);
    levels[static_cast<size_t>(q)] = (1 - part) * results[left] + part * results[left + 1];
  }
  double error = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const double count = histogram_[i / kPointsOfBin];
    if (count == 0) continue;
    const int32_t q = QuantizeNumber(Point(static_cast<int>(i)), p, {0, kLevels - 1});
    const double difference = levels[static_cast<size_t>(q)] - results[i];
    const double square = difference * difference;
    error += count * (is_function ? square : square * std::sqrt(std::sqrt(std::abs(difference))));
  }
  return error;
}

// Moves the bounds by steps that become smaller, while the error decreases.
std::pair<float, float> Observer::LeastErrorOf(absl::Span<const float> results,
                                               bool is_function) const {
  Bins best = {0, kBins - 1};
  double least = std::numeric_limits<double>::infinity();
  for (Bins bins : {Bins{0, kBins - 1}, TorchaoSearch()}) {
    double error = ErrorOf(bins, results, is_function);
    const auto move = [&](int left, int right) {
      const Bins next = {bins.first + left, bins.second + right};
      if (next.first < 0 || next.second >= kBins || next.first >= next.second) return false;
      const double next_error = ErrorOf(next, results, is_function);
      if (next_error >= error) return false;
      error = next_error;
      bins = next;
      return true;
    };
    for (int step = kBins / 4; step > 0; step /= 2) {
      bool moved = true;
      while (moved) {
        moved = false;
        for (int direction : {step, -step}) {
          moved = move(direction, 0) || moved;
          moved = move(0, -direction) || moved;
        }
      }
    }
    if (error < least) {
      least = error;
      best = bins;
    }
  }
  return RangeOfBins(best);
}

std::pair<float, float> Observer::Percentiles() const {
  const double total = std::accumulate(histogram_.begin(), histogram_.end(), 0.0);
  const double cut = total * (1 - percentile_ / 100) / 2;
  int start = 0, end = kBins - 1;
  double below = 0, above = 0;
  while (start < end && below + histogram_[static_cast<size_t>(start)] <= cut) {
    below += histogram_[static_cast<size_t>(start++)];
  }
  while (end > start && above + histogram_[static_cast<size_t>(end)] <= cut) {
    above += histogram_[static_cast<size_t>(end--)];
  }
  return RangeOfBins({start, end});
}

}  // namespace belay::exir
