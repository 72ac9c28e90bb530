// Special functions against PyTorch's values in double precision.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::string_view op;
  std::vector<double> arguments, values;
};

absl::Status RunInto(std::string_view op, std::vector<EValue> arguments, const TestTensor& result) {
  static const KernelRegistry& registry = *[] {
    auto* all = new KernelRegistry;
    EXPECT_OK(AddReferenceKernels(*all));
    return all;
  }();
  EValue output(result.view());
  FixedOutputs allocator;
  return RunOperator(registry, op, std::move(arguments), {&output}, allocator);
}

// Applies the operator to scalars, as tensors of rank 0.
double Apply(std::string_view op, std::vector<EValue> arguments) {
  const TestTensor result = TestTensor::Of<double>({}, {0});
  EXPECT_OK(RunInto(op, std::move(arguments), result)) << op;
  return *result.view().as<double>();
}
double Of(std::string_view op, double x) {
  const TestTensor tensor = TestTensor::Of<double>({}, {x});
  return Apply(op, {EValue(tensor.view())});
}
double Of(std::string_view op, double x, double y) {
  const TestTensor first = TestTensor::Of<double>({}, {x}),
                   second = TestTensor::Of<double>({}, {y});
  return Apply(op, {EValue(first.view()), EValue(second.view())});
}

void ExpectClose(double got, double want, std::string_view what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << ": " << got;
  } else if (std::isinf(want)) {
    EXPECT_EQ(got, want) << what;
  } else {
    EXPECT_NEAR(got, want, 2e-12 * std::abs(want) + 1e-15) << what;
  }
}

TEST(SpecialFunctionsTest, UnaryFunctions) {
  const Row rows[] = {
      {"aten.special_erfcx.default",
       {-2, 0, 0.5, 3, 30, kNan},
       {108.94090438997797, 1, 0.6156903441929258, 0.17900115118138998, 0.018795888861416754,
        kNan}},
      {"aten.erfinv.default",
       {-0.999, -0.6, -1e-05, 0, 0.2, 0.75, 0.9999, 1, -1, 1.5},
       {-2.3267537655135246, -0.5951160814499948, -8.862269254759594e-06, 0, 0.1791434546212917,
        0.8134198475976185, 2.75106390571208, kInfinity, -kInfinity, kNan}},
      {"aten.special_ndtri.default",
       {1e-12, 0.01, 0.3, 0.5, 0.7, 0.999, 0, 1, -0.1},
       {-7.034483825301131, -2.3263478740408408, -0.5244005127080409, 0, 0.5244005127080407,
        3.090232306167813, -kInfinity, kInfinity, kNan}},
      {"aten.lgamma.default",
       {-0.5, 0.1, 1, 2.5, 40, -2},
       {1.2655121234846454, 2.252712651734206, 0, 0.2846828704729192, 106.63176026064346,
        kInfinity}},
      {"aten.digamma.default",
       {-0.5, 0.1, 1, 2.5, 40, 0, -3},
       {0.03648997397857639, -10.423754940411076, -0.5772156649015328, 0.7031566406452431,
        3.6763273740348428, -kInfinity, kNan}},
      {"aten.special_i0e.default",
       {-3, 0, 0.5, 20, 50, kInfinity},
       {0.24300035416182536, 1, 0.6450352704491501, 0.089780311884826, 0.056561626647454184, 0}},
      {"aten.special_i1e.default",
       {-3, 0, 0.5, 20, 50},
       {-0.19682671329730084, 0, 0.15642080318487173, 0.08750622218328867, 0.055993123892895395}},
      {"aten.special_modified_bessel_k0.default",
       {1e-5, 0.5, 2.5, 20, 1000, 0, -1},
       {11.628856980944362, 0.92441907122766586, 0.062347553200366186, 5.7412378153365243e-10, 0.0,
        kInfinity, kNan}},
      {"aten.special_modified_bessel_k1.default",
       {1e-5, 0.5, 2.5, 20, 1000, 0, -1},
       {99999.999939355707, 1.6564411200033009, 0.073890816347747064, 5.8830579695570382e-10, 0.0,
        kInfinity, kNan}},
      {"special.scaled_modified_bessel_k0.default",
       {1e-5, 0.5, 2.5, 20, 1000, 0, -1},
       {11.628973270095616, 1.5241093857739095, 0.75954869032809958, 0.27854487665718222,
        0.039628321600754217, kInfinity, kNan}},
      {"special.scaled_modified_bessel_k1.default",
       {1e-5, 0.5, 2.5, 20, 1000, 0, -1},
       {100000.99994435512, 2.7310097082117857, 0.90017442390787809, 0.28542549694072645,
        0.03964813081296021, kInfinity, kNan}},
      {"special.spherical_bessel_j0.default",
       {-3, 0, 0.25, 12, kInfinity},
       {0.047040002686622407, 1.0, 0.98961583701809172, -0.044714409833369581, 0.0}},
      // Values of mpmath: PyTorch's have only eight digits between -2 and -4.
      {"special.airy_ai.default",
       {-20, -7, -3, -1, 0, 0.5, 1.9, 2.1, 12, kInfinity},
       {-0.17640612707798469, 0.18428083525050564, -0.37881429367765807, 0.53556088329235212,
        0.35502805388781724, 0.23169360648083349, 0.040594420031529502, 0.029952602115866522,
        1.3931846888753608e-13, kNan}},
  };
  for (const Row& row : rows) {
    ASSERT_EQ(row.arguments.size(), row.values.size()) << row.op;
    for (size_t i = 0; i < row.arguments.size(); ++i) {
      ExpectClose(Of(row.op, row.arguments[i]), row.values[i], row.op);
    }
  }
}

TEST(SpecialFunctionsTest, BinaryFunctions) {
  const struct {
    double a, x, lower, upper;
  } gamma[] = {
      {0.5, 0.2, 0.47291074313446185, 0.5270892568655381},
      {2, 3, 0.8008517265285442, 0.1991482734714558},
      {5, 1, 0.003659846827343713, 0.9963401531726563},
      {0.3, 9, 0.9999917263039977, 8.273696002345569e-06},
      {10, 10, 0.5420702855281478, 0.4579297144718523},
      {2, 0, 0, 1},
      {0, 2, 1, 0},
      {-1, 2, kNan, kNan},
      {2, kInfinity, 1, 0},
  };
  for (const auto& row : gamma) {
    ExpectClose(Of("aten.igamma.default", row.a, row.x), row.lower, "igamma");
    ExpectClose(Of("aten.igammac.default", row.a, row.x), row.upper, "igammac");
  }
  ExpectClose(Of("aten.special_zeta.default", 1.5, 1), 2.612375348685488, "zeta");
  ExpectClose(Of("aten.special_zeta.default", 2, 0.3), 12.245364546107734, "zeta");
  ExpectClose(Of("aten.special_zeta.default", 7, 12), 7.111595356135796e-08, "zeta");
  ExpectClose(Of("aten.special_zeta.default", 1, 2), kInfinity, "zeta");
  ExpectClose(Of("aten.special_zeta.default", 0.5, 2), kNan, "zeta");
  const double places[] = {0.1, 0.5, 1, 2.5, 7, 40};
  const double first[] = {101.43329915079275, 4.93480220054468,    1.6449340668482266,
                          0.4903577561002349, 0.15354517795933756, 0.025315103841291032};
  const double second[] = {-2001.8614573783439,  -16.828796644234316,   -2.404113806319188,
                           -0.23620405164172736, -0.023530472985855234, -0.0006408202718352985};
  for (int i = 0; i < 6; ++i) {
    const TestTensor place = TestTensor::Of<double>({}, {places[i]});
    ExpectClose(Apply("aten.polygamma.default", {EValue(int64_t{1}), EValue(place.view())}),
                first[i], "polygamma");
    ExpectClose(Apply("aten.polygamma.default", {EValue(int64_t{2}), EValue(place.view())}),
                second[i], "polygamma");
  }
}

TEST(SpecialFunctionsTest, Integers) {
  const struct {
    std::string_view op;
    int64_t a, b, want;
  } rows[] = {
      {"aten.gcd.default", 12, -18, 6},
      {"aten.gcd.default", 0, 5, 5},
      {"aten.gcd.default", 0, 0, 0},
      {"aten.lcm.default", 4, 6, 12},
      {"aten.lcm.default", -4, 6, 12},
      {"aten.lcm.default", 0, 6, 0},
      {"aten.gcd.default", INT64_MIN, 6, -2},
      {"aten.gcd.default", INT64_MIN, -1, 1},
      {"aten.gcd.default", INT64_MIN, INT64_MIN, INT64_MIN},
      {"aten.lcm.default", INT64_MAX, 2, 2},
  };
  for (const auto& row : rows) {
    const TestTensor a = TestTensor::Of<int64_t>({1}, {row.a}),
                     b = TestTensor::Of<int64_t>({1}, {row.b});
    const TestTensor out = TestTensor::Of<int64_t>({1}, {-1});
    ASSERT_OK(RunInto(row.op, {EValue(a.view()), EValue(b.view())}, out));
    EXPECT_EQ(*out.view().as<int64_t>(), row.want) << row.op << " " << row.a << " " << row.b;
  }
}

template <class T>
uint16_t BitsAfter(float from, float towards) {
  const TestTensor a = TestTensor::Of<T>({1}, {T(from)}), b = TestTensor::Of<T>({1}, {T(towards)}),
                   out = TestTensor::Of<T>({1}, {T(0.0f)});
  EXPECT_OK(RunInto("aten.nextafter.default", {EValue(a.view()), EValue(b.view())}, out));
  return out.view().as<T>()->bits;
}

TEST(SpecialFunctionsTest, HalfPrecisionHasItsOwnNeighbors) {
  const float kEndless = std::numeric_limits<float>::infinity();
  EXPECT_EQ(BitsAfter<Half>(1, 2), 0x3c01);
  EXPECT_EQ(BitsAfter<Half>(0, -1), 0x8001);
  EXPECT_EQ(BitsAfter<Half>(-1, 0), 0xbbff);
  EXPECT_EQ(BitsAfter<Half>(kEndless, 0), 0x7bff);
  EXPECT_EQ(BitsAfter<Half>(65504, kEndless), 0x7c00);
  EXPECT_EQ(BitsAfter<BFloat16>(1, 2), 0x3f81);
  EXPECT_EQ(BitsAfter<BFloat16>(0, -1), 0x8001);
  EXPECT_EQ(BitsAfter<BFloat16>(-1, 0), 0xbf7f);
  EXPECT_EQ(BitsAfter<BFloat16>(kEndless, 0), 0x7f7f);
  EXPECT_EQ(BitsAfter<BFloat16>(0, -0.0f), 0x8000);
  EXPECT_GT(BitsAfter<BFloat16>(std::numeric_limits<float>::quiet_NaN(), 1) & 0x7fff, 0x7f80);
}

TEST(SpecialFunctionsTest, PolygammaRejectsNegativeOrders) {
  const TestTensor place = TestTensor::Of<double>({}, {1}), out = TestTensor::Of<double>({}, {0});
  EXPECT_THAT(RunInto("aten.polygamma.default", {EValue(int64_t{-1}), EValue(place.view())}, out),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

absl::StatusOr<double> Polynomial(int64_t family, double x, double degree) {
  const TestTensor self = TestTensor::Of<double>({}, {x}),
                   other = TestTensor::Of<double>({}, {degree}),
                   out = TestTensor::Of<double>({}, {0});
  ABSL_RETURN_IF_ERROR(RunInto("special.polynomial.default",
                               {EValue(self.view()), EValue(other.view()), EValue(family)}, out));
  return *out.view().as<double>();
}

TEST(SpecialFunctionsTest, PolynomialsOfAnyDegree) {
  // Chebyshev T, U, V, W, Hermite H, He, Laguerre, Legendre at 0.3, by torch.special.
  const double at_3[] = {-0.792, -0.984, -0.344, -1.624, -3.384, -0.873, 0.23050000000000007,
                         -0.3825};
  const double at_20[] = {0.982130131054892,    1.0413172668589779,  0.8440268141786915,
                          1.2386077195392642,   -240424854484.41797, 141288999.73527554,
                          -0.22269164885824236, 0.18028715947998047};
  for (int64_t family = 0; family < 8; ++family) {
    ExpectClose(*Polynomial(family, 0.3, 3), at_3[family], "degree 3");
    ExpectClose(*Polynomial(family, 0.3, 3.9), at_3[family], "degree 3.9");
    ExpectClose(*Polynomial(family, 0.3, 20), at_20[family], "degree 20");
    ExpectClose(*Polynomial(family, 0.3, 0), 1, "degree 0");
    ExpectClose(*Polynomial(family, 0.3, -1), 0, "degree -1");
    ExpectClose(*Polynomial(family, 0.3, kNan), 0, "degree nan");
    EXPECT_OK(Polynomial(family, 1.01, 1023).status());
    EXPECT_THAT(Polynomial(family, 0.3, 1024),
                StatusIs(absl::StatusCode::kOutOfRange,
                         testing::HasSubstr("a polynomial of degree 1024, expected at most 1023")));
  }
  ExpectClose(*Polynomial(4, 0.5, 513), kNan, "Hermite beyond the type");
  EXPECT_THAT(Polynomial(8, 0.5, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("expected 0 to 7")));
}

TEST(SpecialFunctionsTest, FmaxAndFminIgnoreNan) {
  EXPECT_EQ(Of("aten.fmax.default", kNan, 2), 2);
  EXPECT_EQ(Of("aten.fmax.default", 3, kNan), 3);
  EXPECT_EQ(Of("aten.fmin.default", 3, 2), 2);
  EXPECT_TRUE(std::isnan(Of("aten.fmin.default", kNan, kNan)));
}

}  // namespace
}  // namespace belay
