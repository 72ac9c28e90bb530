// Modified Bessel functions as Chebyshev series of their smooth parts, computed in double precision
// for every dtype. The coefficients are those of interpolations at 60 Chebyshev nodes, to 17
// digits.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "executorch/writer/portable_decompositions.h"
#include "exir/builder/op_shorthand.h"

namespace belay::pte {
namespace {

using exir::Argument;
using exir::OpBuilder;
using exir::OpCall;

// e^-x I0(x) for x in [0, 8], in t = x / 4 - 1.
constexpr double kI0Small[] = {
    0.33839763720473804,     -0.3046826723431984,     0.17162090152220878,
    -0.094901097048047644,   0.049305284239670708,    -0.023737414805899469,
    0.010546460394594998,    -0.0043243099950505759,  0.0016394756169413358,
    -0.00057637557453858237, 0.00018850288509584166,  -5.7541950100821037e-5,
    1.6448448070728897e-5,   -4.4167383584587506e-6,  1.1173875391201037e-6,
    -2.6707938539406117e-7,  6.0469950225419189e-8,   -1.300025009986248e-8,
    2.6598237246823867e-9,   -5.1897956016352629e-10, 9.6758090353732369e-11,
    -1.7268262914415557e-11, 2.9550526631296398e-12,  -4.8564467831119295e-13,
    7.6761854986049356e-14,  -1.1685332877993452e-14, 1.715391285555133e-15,
    -2.4312798465479547e-16, 3.3307945188222381e-17,  -4.4153416464793394e-18};
// e^-x sqrt(x) I0(x) for x >= 8, in t = 16 / x - 1.
constexpr double kI0Large[] = {
    0.40224520550705442,     0.0033691164782556941,   6.889758346916824e-5,
    2.8913705208347565e-6,   2.0489185894690637e-7,   2.2666689904981781e-8,
    3.3962320257083863e-9,   4.9406023882249696e-10,  1.1889147107846438e-11,
    -3.1499165279632414e-11, -1.3215811840447713e-11, -1.7941785315068061e-12,
    7.1801244513836662e-13,  3.8527783827421427e-13,  1.5400862175214098e-14,
    -4.1505693472872221e-14, -9.5548466988283076e-15, 3.8116806693526224e-15,
    1.7725601330565264e-15,  -3.4254856196772191e-16, -2.8276239805165835e-16,
    3.4612228676974611e-17,  4.46562142029676e-17,    -4.8305044859441821e-18,
    -7.233180487874754e-18};
// e^-x I1(x) / x for x in [0, 8], in t = x / 4 - 1.
constexpr double kI1Small[] = {
    0.12629359322181683,     -0.17641651835783406,    0.1026436586898471,
    -0.052945981208094991,   0.024726449030626517,    -0.010564084894626198,
    0.0041564229443128882,   -0.0015135724506312531,  0.00051228595616857577,
    -0.00016176081582589675, 4.7815651075500542e-5,   -1.3273163656039436e-5,
    3.4702513081376785e-6,   -8.5687202646954547e-7,  2.0032947535521353e-7,
    -4.4450591287963281e-8,  9.3815373864957718e-9,   -1.8872497517228293e-9,
    3.625590281552117e-10,   -6.6634897235020277e-11, 1.1736186298890902e-11,
    -1.9839743977649437e-12, 3.2237933659455747e-13,  -5.0421855047279117e-14,
    7.6006842947354069e-15,  -1.1055969477353863e-15, 1.5536319577362005e-16,
    -2.1114212143581661e-17, 2.7779141127610464e-18};
// e^-x sqrt(x) I1(x) for x >= 8, in t = 16 / x - 1.
constexpr double kI1Large[] = {
    0.38928811750914006,     -0.0097610974913614684,  -0.00011058893876262372,
    -3.8825648088776904e-6,  -2.5122362378702089e-7,  -2.6314688468895195e-8,
    -3.835380385964237e-9,   -5.5897434621965838e-10, -1.8974958123505412e-11,
    3.2526035830154882e-11,  1.4125807436613781e-11,  2.0356285441470895e-12,
    -7.1985517762459085e-13, -4.0835511110921973e-13, -2.1015418427726643e-14,
    4.2724400167119514e-14,  1.0420276984128803e-14,  -3.8144030724370078e-15,
    -1.8803547755107824e-15, 3.3082023109209283e-16,  2.9626289976459501e-16,
    -3.209525921993424e-17,  -4.6503053684893583e-17, 4.4143483230717079e-18,
    7.5172963108421048e-18};
// K0(x) + log(x / 2) I0(x) for x in (0, 2], in t = x^2 / 2 - 1.
constexpr double kK0Small[] = {
    -0.26766369661695138,   0.34428989992462849,   0.035979936515361502,  0.0012646154114469259,
    2.2862121031194518e-5,  2.5347910790261495e-7, 1.9045163772202089e-9, 1.0349695257633625e-11,
    4.2598161427910826e-14, 1.3744654358807509e-16};
// e^x sqrt(x) K0(x) for x >= 2, in t = 4 / x - 1.
constexpr double kK0Large[] = {
    1.2201515410329777,      -0.031448101311964501,   0.0015698838857300534,
    -0.00012849549581627803, 1.3949813718876499e-5,   -1.8317555227191195e-6,
    2.7668136394450151e-7,   -4.6604898976879477e-8,  8.5740340174142261e-9,
    -1.6975345093890615e-9,  3.5773972814003284e-10,  -7.957489244477397e-11,
    1.8559491149549266e-11,  -4.5145978833745192e-12, 1.1403405882073442e-12,
    -2.9800969231481784e-13, 8.0328907750683744e-14,  -2.2275133267462964e-14,
    6.340076476276646e-15,   -1.8485933779209072e-15, 5.5120559994043334e-16,
    -1.6782311257549006e-16, 5.2103917776435541e-17,  -1.6475805939842633e-17};
// x (K1(x) - log(x / 2) I1(x)) for x in (0, 2], in t = x^2 / 2 - 1.
constexpr double kK1Small[] = {
    0.76265011366947389,     -0.35315596077654488,    -0.12261118082265715,
    -0.0069757238596398644,  -0.00017302889575130521, -2.4334061415659682e-6,
    -2.2133876307347259e-8,  -1.4114883926335278e-10, -6.666901694199329e-13,
    -2.4274498505193659e-15, -7.0238634793862876e-18};
// e^x sqrt(x) K1(x) for x >= 2, in t = 4 / x - 1.
constexpr double kK1Large[] = {
    1.3603130952422213,      0.10392373657681724,     -0.0028578168596227794,
    0.00019521551847135163,  -1.936197974166083e-5,   2.4064849478372171e-6,
    -3.5019606030878125e-7,  5.7410841254500493e-8,   -1.0345762465678097e-8,
    2.0150497551970346e-9,   -4.1903547593419256e-10, 9.2183151876053141e-11,
    -2.129967838427791e-11,  5.1396396734823435e-12,  -1.2891739609498229e-12,
    3.3484196660522431e-13,  -8.9767051820101461e-14, 2.4771544242195987e-14,
    -7.0198370892147689e-15, 2.0387031662398609e-15,  -6.0570472706430178e-16,
    1.8380935752430454e-16,  -5.6894628491936484e-17, 1.7940510478863573e-17};

// Evaluates a Chebyshev series by Clenshaw's recurrence.
Argument Chebyshev(OpBuilder& b, absl::Span<const double> coefficients, const Argument& x) {
  const auto constant = [&](double value) { return b.Call("aten.full_like.default", {x, value}); };
  const Argument twice = exir::Mul(b, x, 2.0);
  Argument last = constant(coefficients.back()), before = constant(0);
  for (size_t k = coefficients.size() - 1; k-- > 0;) {
    const Argument product = exir::Mul(b, k == 0 ? x : twice, last);
    Argument next = exir::Add(b, exir::Sub(b, product, before), coefficients[k]);
    before = std::exchange(last, std::move(next));
  }
  return last;
}

Argument Divided(OpBuilder& b, double number, const Argument& x) {
  return exir::Mul(b, exir::Unary(b, "reciprocal", x), number);
}
Argument Root(OpBuilder& b, const Argument& x) { return exir::Unary(b, "sqrt", x); }
Argument Exp(OpBuilder& b, const Argument& x) { return exir::Unary(b, "exp", x); }

// e^-x I_n(x) for x >= 0.
Argument ScaledI(OpBuilder& b, int n, const Argument& x) {
  Argument near = Chebyshev(b, n == 0 ? absl::MakeConstSpan(kI0Small) : kI1Small,
                            exir::Sub(b, exir::Mul(b, x, 0.25), 1.0));
  if (n == 1) near = exir::Mul(b, near, x);
  const Argument far = Chebyshev(b, n == 0 ? absl::MakeConstSpan(kI0Large) : kI1Large,
                                 exir::Sub(b, Divided(b, 16, x), 1.0));
  return exir::Where(b, exir::Binary(b, "le", x, 8.0), near, exir::Div(b, far, Root(b, x)));
}

// e^x K_n(x); infinity at 0, NaN for negative x.
Argument ScaledK(OpBuilder& b, int n, const Argument& x) {
  const Argument series = Chebyshev(b, n == 0 ? absl::MakeConstSpan(kK0Small) : kK1Small,
                                    exir::Sub(b, exir::Mul(b, exir::Mul(b, x, x), 0.5), 1.0));
  const Argument grown = Exp(b, x);
  // log(x / 2) I_n(x)
  const Argument pole = exir::Mul(b, exir::Unary(b, "log", exir::Mul(b, x, 0.5)),
                                  exir::Mul(b, ScaledI(b, n, x), grown));
  const Argument near =
      n == 0 ? exir::Sub(b, series, pole) : exir::Add(b, exir::Div(b, series, x), pole);
  const Argument far = exir::Div(b,
                                 Chebyshev(b, n == 0 ? absl::MakeConstSpan(kK0Large) : kK1Large,
                                           exir::Sub(b, Divided(b, 4, x), 1.0)),
                                 Root(b, x));
  const Argument value =
      exir::Where(b, exir::Binary(b, "gt", x, 2.0), far, exir::Mul(b, near, grown));
  return exir::Where(b, exir::Binary(b, "eq", x, 0.0), std::numeric_limits<double>::infinity(),
                     value);
}

template <class Fn>
std::vector<Argument> InDouble(OpBuilder& b, const Argument& x, Fn fn) {
  return {exir::Cast(b, fn(exir::Cast(b, x, DType::kFloat64)), exir::ResultFloat(b.dtype(x)))};
}

template <int kOrder, bool kScaled>
std::vector<Argument> BesselI(OpBuilder& b, const OpCall& c) {
  return InDouble(b, c.arguments()[0], [&](const Argument& x) {
    const Argument magnitude = exir::Unary(b, "abs", x);
    Argument value = ScaledI(b, kOrder, magnitude);
    if (!kScaled) value = exir::Mul(b, value, Exp(b, magnitude));
    if (kOrder == 0) return value;
    return exir::Where(b, exir::Binary(b, "lt", x, 0), exir::Unary(b, "neg", value), value);
  });
}

template <int kOrder, bool kScaled>
std::vector<Argument> BesselK(OpBuilder& b, const OpCall& c) {
  return InDouble(b, c.arguments()[0], [&](const Argument& x) {
    const Argument value = ScaledK(b, kOrder, x);
    return kScaled ? value : exir::Mul(b, value, Exp(b, exir::Unary(b, "neg", x)));
  });
}

// sin(x) / x; near 0 by its series.
std::vector<Argument> SphericalJ0(OpBuilder& b, const OpCall& c) {
  return InDouble(b, c.arguments()[0], [&](const Argument& x) {
    const Argument square = exir::Mul(b, x, x);
    Argument series = b.Call("aten.full_like.default", {x, 1.0});
    for (int k = 6; k > 0; --k) {
      const Argument term =
          exir::Mul(b, exir::Mul(b, square, series), -1.0 / (2 * k * (2 * k + 1)));
      series = exir::Add(b, term, 1.0);
    }
    const Argument quotient = exir::Div(b, exir::Unary(b, "sin", x), x);
    const Argument value =
        exir::Where(b, exir::Binary(b, "lt", exir::Unary(b, "abs", x), 0.5), series, quotient);
    return exir::Where(b, exir::Unary(b, "isinf", x), 0.0, value);
  });
}

constexpr exir::Decomposition kDecompositions[] = {
    {"aten.i0.default", BesselI<0, false>},
    {"aten.special_i0e.default", BesselI<0, true>},
    {"aten.special_i1.default", BesselI<1, false>},
    {"aten.special_i1e.default", BesselI<1, true>},
    {"aten.special_modified_bessel_i0.default", BesselI<0, false>},
    {"aten.special_modified_bessel_i1.default", BesselI<1, false>},
    {"aten.special_modified_bessel_k0.default", BesselK<0, false>},
    {"aten.special_modified_bessel_k1.default", BesselK<1, false>},
    {"special.scaled_modified_bessel_k0.default", BesselK<0, true>},
    {"special.scaled_modified_bessel_k1.default", BesselK<1, true>},
    {"special.spherical_bessel_j0.default", SphericalJ0},
};

}  // namespace

absl::Span<const exir::Decomposition> BesselDecompositions() { return kDecompositions; }

}  // namespace belay::pte
