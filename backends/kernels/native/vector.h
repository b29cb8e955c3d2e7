// Functions of one number, written so that compilers make loops of them that take many at a time: no branches, no calls.
//
// The polynomials are the best ones of their degree for the relative error (Remez's exchange, in 60 digits). Errors, in
// units in the last place, of all arguments: sin, cos 0.6 (float64: 0.8), exp 1.1, tanh 1.8; tests/kernels/test_vector.py
// measures them.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernel.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast")
#endif

namespace tangrad {

template <typename To, typename From>
TANGRAD_INLINE To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  std::memcpy(&y, &x, sizeof(y));
  return y;
}

// Of a double below 2^51 in size: the nearest integer, of two the even one, and its last 32 bits.
TANGRAD_INLINE double nearest(double x, int32_t& last) {
  constexpr double kShift = 0x1.8p52;
  const double shifted = x + kShift;
  last = static_cast<int32_t>(bits_as<int64_t>(shifted));
  return shifted - kShift;
}

TANGRAD_INLINE float nearest(float x, int32_t& last) {  // below 2^22
  constexpr float kShift = 0x1.8p23f;
  const float shifted = x + kShift;
  last = static_cast<int32_t>(bits_as<uint32_t>(shifted) - bits_as<uint32_t>(kShift));
  return shifted - kShift;
}

// --- sin, cos ---------------------------------------------------------------------------------------------------------
//
// x = k pi/2 + r, with pi/2 in parts of 33 bits, whose products with k are exact: so as long as k has 20 bits. Greater
// numbers, infinities and NaN are for the library of C.

constexpr double kGreatestAngle = 1 << 20;

constexpr double kTwoOverPi = 0.63661977236758134308;
constexpr double kHalfPi1 = 0x1.921fb544p0;
constexpr double kHalfPi2 = 0x1.0b4611a6p-34;
constexpr double kHalfPi3 = 0x1.3198a2ep-69;
constexpr double kHalfPi4 = 0x1.b839a252049c1p-104;

// sin (kQuarter: 0) or cos (1) of r, which k quarters of a turn are to be added to.
template <int kQuarter>
TANGRAD_INLINE float of_remainder(float r, int32_t quarters) {
  const float z = r * r;
  const float odd = ((2.7179131545991146e-6f * z - 1.9839294234906641e-4f) * z + 8.3333292652895266e-3f) * z - 0.16666667f;
  const float even = (-2.7207862872918374e-7f * z + 2.4799494956921716e-5f) * z - 1.3888883677384195e-3f;
  const float sine = r + (r * z) * odd;
  const float cosine = (1 - 0.5f * z) + (z * z) * (even * z + 4.1666666622261189e-2f);
  const uint32_t k = static_cast<uint32_t>(quarters) + kQuarter;
  const float y = (k & 1) != 0 ? cosine : sine;
  return bits_as<float>(bits_as<uint32_t>(y) ^ ((k & 2) << 30));
}

template <int kQuarter>
TANGRAD_INLINE float turned(float x) {
  int32_t k;
  const double wide = x, turns = nearest(wide * kTwoOverPi, k);
  return of_remainder<kQuarter>(static_cast<float>((wide - turns * kHalfPi1) - turns * (kHalfPi2 + kHalfPi3)), k);
}

// The same for numbers up to kQuick, without doubles: pi/2 in parts of 12 bits, and k has no more.
constexpr float kQuick = 6000;

template <int kQuarter>
TANGRAD_INLINE float quickly_turned(float x) {
  int32_t k;
  const float turns = nearest(x * static_cast<float>(kTwoOverPi), k);
  const float second = (x - turns * 0x1.92p0f) - turns * 0x1.fb4p-12f;
  const float p3 = turns * 0x1.444p-24f, third = second - p3;
  const float r = third + (((second - third) - p3) - turns * 0x1.68c234p-39f);
  const float found = of_remainder<kQuarter>(r, k);
  return kQuarter == 0 && x == 0 ? x : found;  // with the sign of a zero
}

template <int kQuarter>
TANGRAD_INLINE double turned(double x) {
  int32_t quarters;
  const double turns = nearest(x * kTwoOverPi, quarters);
  const double first = x - turns * kHalfPi1;
  const double p2 = turns * kHalfPi2, second = first - p2;
  const double p3 = turns * kHalfPi3, third = second - p3;
  const double lost = ((first - second) - p2) + ((second - third) - p3) - turns * kHalfPi4;
  const double r = third + lost, rest = (third - r) + lost, z = r * r, half = 0.5 * z;
  double odd = 1.5895121460362331e-10 * z - 2.5050730558401745e-8;
  odd = ((odd * z + 2.7557313525805091e-6) * z - 1.9841269829363573e-4) * z + 8.3333333333219146e-3;
  odd = odd * z - 0.16666666666666630;
  double even = -1.1359944637872909e-11 * z + 2.0875732796784539e-9;
  even = ((even * z - 2.7557314456442572e-7) * z + 2.4801587289991391e-5) * z - 1.3888888888875254e-3;
  even = even * z + 4.1666666666666609e-2;
  const double sine = r + ((r * z) * odd + rest * (1 - half));
  const double whole = 1 - half;
  const double cosine = whole + (((1 - whole) - half) + ((z * z) * even - r * rest));
  const uint32_t k = static_cast<uint32_t>(quarters) + kQuarter;
  const double y = (k & 1) != 0 ? cosine : sine;
  const double found = bits_as<double>(bits_as<uint64_t>(y) ^ (static_cast<uint64_t>(k & 2) << 62));
  return kQuarter == 0 && x == 0 ? x : found;
}

// --- exp, tanh --------------------------------------------------------------------------------------------------------

// 2^n for n from -126 to 127.
TANGRAD_INLINE float power_of_two(int32_t n) { return bits_as<float>(static_cast<uint32_t>(n + 127) << 23); }

// exp(r + n log(2)) / 2^n for the n that is nearest.
TANGRAD_INLINE float reduced_power(float x, int32_t& n) {
  const float turns = nearest(x * 1.44269504088896340736f, n);
  const float r = (x - turns * 0.693145751953125f) - turns * 1.428606820309417232e-6f;
  float sum = 1.395084505052159202e-3f * r + 8.3691086875779421e-3f;
  sum = (sum * r + 4.1666201317191508e-2f) * r + 0.16666517180347358f;
  sum = sum * r + 0.50000000959991330f;
  return (sum * (r * r) + r) + 1;
}

TANGRAD_INLINE float exponential(float x) {
  constexpr float kMost = 89, kLeast = -104;  // infinity and 0
  const bool vanishes = x < kLeast;           // a product that does takes processors a hundred times as long
  int32_t n;
  const float y = reduced_power(x > kMost ? kMost : vanishes ? 0 : x, n);
  n = x == x ? n : 0;
  const int32_t half = n >> 1;  // in two steps: subnormal numbers, and what is one bit too great
  const float power = y * power_of_two(half) * power_of_two(n - half);
  return vanishes ? 0 : power;
}

TANGRAD_INLINE float hyperbolic_tangent(float x) {
  constexpr float kMost = 10;  // where it is 1
  const float size = std::fabs(x), z = x * x;
  float small = -5.6653308983963628e-3f * z + 2.0606705889758348e-2f;
  small = ((small * z - 5.3730940599023113e-2f) * z + 0.13331354372058362f) * z - 0.33333279567963477f;
  const float near = size + (size * z) * small;
  int32_t n;
  const float within = size > kMost ? kMost : size, power = reduced_power(within + within, n);
  const float far = 1 - 2 / (1 + power * power_of_two(n & 31));  // NaN has any n
  const float y = size < 0.625f ? near : far;
  return bits_as<float>(bits_as<uint32_t>(y) | (bits_as<uint32_t>(x) & 0x80000000u));
}

// Of double precision there are C's own.
TANGRAD_INLINE double exponential(double x) { return std::exp(x); }
TANGRAD_INLINE double hyperbolic_tangent(double x) { return std::tanh(x); }

// --- many at once ------------------------------------------------------------------------------------------------------

// 64 bytes, in registers as wide as there are: sums and extrema of rows, which compilers must not put in another order.
typedef float Floats __attribute__((vector_size(64)));
typedef double Doubles __attribute__((vector_size(64)));

template <typename T>
struct Vector;
template <>
struct Vector<float> {
  using Type = Floats;
  static constexpr int64_t kSize = 16;
};
template <>
struct Vector<double> {
  using Type = Doubles;
  static constexpr int64_t kSize = 8;
};

template <typename T>
TANGRAD_INLINE typename Vector<T>::Type loaded(const T* x) {
  typename Vector<T>::Type found;
  std::memcpy(&found, x, sizeof(found));
  return found;
}

template <typename Lanes>
TANGRAD_INLINE Lanes greater(Lanes x, Lanes y) {
  return x > y ? x : y;
}

// Of all lanes: halves of them together, and so on.
template <typename Lanes, typename Combine>
TANGRAD_INLINE auto folded(Lanes x, const Combine& combine) {
  using T = std::remove_reference_t<decltype(x[0])>;
  constexpr int64_t kSize = sizeof(Lanes) / sizeof(T);
  T parts[kSize];
  std::memcpy(parts, &x, sizeof(x));
  for (int64_t half = kSize / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i) parts[i] = combine(parts[i], parts[i + half]);
  return parts[0];
}

// --- bfloat16 ---------------------------------------------------------------------------------------------------------

TANGRAD_INLINE float widened(uint16_t x) { return bits_as<float>(static_cast<uint32_t>(x) << 16); }

TANGRAD_INLINE uint16_t narrowed(float x) {  // to the nearest, of two to the even one
  const uint32_t pattern = bits_as<uint32_t>(x);
  const uint32_t rounded = (pattern + 0x7fff + ((pattern >> 16) & 1)) >> 16;
  return static_cast<uint16_t>(x != x ? (pattern >> 16) | 0x40 : rounded);
}

TANGRAD_CLONES static void widen(const uint16_t* x, float* y, int64_t size) {
  for (int64_t i = 0; i < size; ++i) y[i] = widened(x[i]);
}

TANGRAD_CLONES static void narrow(const float* x, uint16_t* y, int64_t size) {
  for (int64_t i = 0; i < size; ++i) y[i] = narrowed(x[i]);
}

}  // namespace tangrad
