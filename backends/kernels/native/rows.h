// Sums and maxima of rows, in four registers at a time, and softmax.

#pragma once

#include <limits>
#include <type_traits>

#include "vector.h"

namespace tangrad {

// Of the terms that begin at an index, or of one. `kLong` terms are added by themselves: no long chain of roundings.
template <typename T, typename Terms, typename Term>
TANGRAD_INLINE T sum_of_terms(int64_t size, const Terms& terms, const Term& term) {
  using Lanes = typename Vector<T>::Type;
  constexpr int64_t kLanes = Vector<T>::kSize, kGroup = 4 * kLanes, kLong = 64 * kGroup;
  double sum = 0;
  int64_t i = 0;
  while (i + kGroup <= size) {
    Lanes sums[4] = {};
    for (const int64_t end = std::min(size, i + kLong); i + kGroup <= end; i += kGroup)
      for (int64_t k = 0; k < 4; ++k) sums[k] += terms(i + k * kLanes);
    sum += folded((sums[0] + sums[1]) + (sums[2] + sums[3]), [](T a, T b) { return a + b; });
  }
  for (; i < size; ++i) sum += term(i);
  return static_cast<T>(sum);
}

template <typename T>
TANGRAD_INLINE T sum_of(const T* x, int64_t size) {
  return sum_of_terms<T>(size, [=](int64_t i) { return loaded(x + i); }, [=](int64_t i) { return x[i]; });
}

template <typename T>
TANGRAD_INLINE T sum_of_products(const T* x, const T* z, int64_t size) {
  return sum_of_terms<T>(
      size, [=](int64_t i) { return loaded(x + i) * loaded(z + i); }, [=](int64_t i) { return x[i] * z[i]; });
}

// The greatest element that is no NaN.
template <typename T>
TANGRAD_INLINE T greatest_of(const T* x, int64_t size) {
  using Lanes = typename Vector<T>::Type;
  constexpr int64_t kLanes = Vector<T>::kSize, kGroup = 4 * kLanes;
  constexpr T kLeast = -std::numeric_limits<T>::infinity();
  Lanes best[4] = {kLeast - Lanes{}, kLeast - Lanes{}, kLeast - Lanes{}, kLeast - Lanes{}};
  int64_t i = 0;
  for (; i + kGroup <= size; i += kGroup)
    for (int64_t k = 0; k < 4; ++k) best[k] = greater(loaded(x + i + k * kLanes), best[k]);
  T found = folded(greater(greater(best[0], best[1]), greater(best[2], best[3])),
                   [](T a, T b) { return a > b ? a : b; });
  for (; i < size; ++i) found = x[i] > found ? x[i] : found;
  return found;
}

// Whether there is a NaN: the bits of one, but for the sign, are above those of infinity.
template <typename T>
TANGRAD_INLINE bool any_nan(const T* x, int64_t size) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  Bits most = 0;
  for (int64_t i = 0; i < size; ++i) {
    const Bits bits = bits_as<Bits>(x[i]) & std::numeric_limits<Bits>::max();
    most = bits > most ? bits : most;
  }
  return most > bits_as<Bits>(std::numeric_limits<T>::infinity());
}

// exp(x) / sum(exp(x)). NaN is no maximum, but makes the sum one, and so the row.
TANGRAD_INLINE void softmax_row(const float* x, float* y, int64_t size) {
  const float greatest = greatest_of(x, size);
  for (int64_t i = 0; i < size; ++i) y[i] = exponential(x[i] - greatest);
  const float share = 1 / sum_of(y, size);
  for (int64_t i = 0; i < size; ++i) y[i] *= share;
}

}  // namespace tangrad
