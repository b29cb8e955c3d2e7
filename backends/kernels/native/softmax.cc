// exp(x) / sum(exp(x)) of rows.
//
// plan: dtype (F32 or BF16), rows, and the elements of one.

#include <atomic>
#include <limits>
#include <memory>
#include <new>

#include "vector.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr int64_t kGroup = 4 * kFloats;  // four registers: additions wait for each other within one alone

TANGRAD_INLINE float greatest_of(const float* x, int64_t size) {
  Floats best[4] = {filled(kNothing), filled(kNothing), filled(kNothing), filled(kNothing)};
  int64_t i = 0;
  for (; i + kGroup <= size; i += kGroup)
    for (int64_t k = 0; k < 4; ++k) best[k] = greater(loaded(x + i + k * kFloats), best[k]);
  float greatest = folded(greater(greater(best[0], best[1]), greater(best[2], best[3])),
                          [](float a, float b) { return a > b ? a : b; });
  for (; i < size; ++i) greatest = x[i] > greatest ? x[i] : greatest;
  return greatest;
}

// No long chains of roundings: of each `kLong` elements by themselves.
constexpr int64_t kLong = 64 * kGroup;

TANGRAD_INLINE float sum_of(const float* x, int64_t size) {
  double sum = 0;
  int64_t i = 0;
  while (i + kGroup <= size) {
    Floats sums[4] = {};
    for (const int64_t end = std::min(size, i + kLong); i + kGroup <= end; i += kGroup)
      for (int64_t k = 0; k < 4; ++k) sums[k] += loaded(x + i + k * kFloats);
    sum += folded((sums[0] + sums[1]) + (sums[2] + sums[3]), [](float a, float b) { return a + b; });
  }
  for (; i < size; ++i) sum += x[i];
  return static_cast<float>(sum);
}

// NaN is no maximum, but makes the sum one, and so the row.
TANGRAD_WIDE void softmax_of(const float* x, float* y, int64_t size) {
  const float greatest = greatest_of(x, size);
  for (int64_t i = 0; i < size; ++i) y[i] = exponential(x[i] - greatest);
  const float share = 1 / sum_of(y, size);
  for (int64_t i = 0; i < size; ++i) y[i] *= share;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(softmax) {
  using namespace tangrad;
  const int64_t rows = plan[1], size = plan[2];
  if (plan[0] == F32) {
    in_pieces(rows, size, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        softmax_of(static_cast<const float*>(in[0]) + row * size, static_cast<float*>(out[0]) + row * size, size);
    });
    return 0;
  }
  std::atomic<bool> failed{false};
  in_pieces(rows, size, [&](int64_t begin, int64_t end) {
    std::unique_ptr<float[]> wide(new (std::nothrow) float[2 * size]);
    if (wide == nullptr) return failed.store(true);
    for (int64_t row = begin; row < end; ++row) {
      widen(static_cast<const uint16_t*>(in[0]) + row * size, wide.get(), size);
      softmax_of(wide.get(), wide.get() + size, size);
      narrow(wide.get() + size, static_cast<uint16_t*>(out[0]) + row * size, size);
    }
  });
  return failed.load() ? 1 : 0;
}
