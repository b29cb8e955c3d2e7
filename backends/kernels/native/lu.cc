// LU decompositions of many small matrices, with exchanges of rows.
//
// plan: dtype, how many matrices, their rows and columns, both at most kMost. Results: the factors in one matrix, the row
// that each row was exchanged with, the permutation. As in LAPACK the pivot is the first of the greatest magnitude, and
// a column of zeros is left as it is.

#include <cmath>

#include "xla_handler.h"

namespace tangrad {
namespace {

constexpr int64_t kMost = 64, kStep = 8;

// row -= factor * pivot, from a column on. Both have kStep numbers more than columns, so that steps are whole.
template <typename T>
inline void eliminate(T* row, const T* pivot, T factor, int64_t from, int64_t columns) {
  for (int64_t j = from; j < columns; j += kStep)
    for (int64_t i = 0; i < kStep; ++i) row[j + i] -= factor * pivot[j + i];
}

// Rows are exchanged by their pointers.
template <typename T>
TANGRAD_CLONES void factor(T** rows, int32_t* exchanged, int32_t* order, int64_t height, int64_t columns) {
  for (int64_t k = 0; k < std::min(height, columns); ++k) {
    int64_t best = k;
    T greatest = std::abs(rows[k][k]);
    for (int64_t i = k + 1; i < height; ++i) {
      const T size = std::abs(rows[i][k]);
      if (size > greatest) {
        greatest = size;
        best = i;
      }
    }
    exchanged[k] = static_cast<int32_t>(best);
    std::swap(rows[k], rows[best]);
    std::swap(order[k], order[best]);
    const T* pivot = rows[k];
    if (pivot[k] == 0) continue;
    for (int64_t i = k + 1; i < height; ++i) {
      const T multiple = rows[i][k] /= pivot[k];
      eliminate(rows[i], pivot, multiple, k + 1, columns);
    }
  }
}

template <typename T>
int factor_all(Plan plan, Inputs in, Outputs out) {
  const int64_t count = plan[1], height = plan[2], columns = plan[3], size = height * columns;
  const T* x = static_cast<const T*>(in[0]);
  T* factors = static_cast<T*>(out[0]);
  int32_t *exchanged = static_cast<int32_t*>(out[1]), *orders = static_cast<int32_t*>(out[2]);
  in_pieces(count, size * std::min(height, columns) / 4, [=](int64_t begin, int64_t end) {
    T numbers[kMost * (kMost + kStep)], *rows[kMost];
    for (int64_t matrix = begin; matrix < end; ++matrix) {
      int32_t* order = orders + matrix * height;
      for (int64_t i = 0; i < height; ++i) {
        const T* from = x + matrix * size + i * columns;
        rows[i] = numbers + i * (columns + kStep);
        std::fill(std::copy(from, from + columns, rows[i]), rows[i] + columns + kStep, T{0});
        order[i] = static_cast<int32_t>(i);
      }
      factor(rows, exchanged + matrix * std::min(height, columns), order, height, columns);
      for (int64_t i = 0; i < height; ++i)
        std::copy(rows[i], rows[i] + columns, factors + matrix * size + i * columns);
    }
  });
  return 0;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(lu) {
  using namespace tangrad;
  return plan[0] == F32 ? factor_all<float>(plan, in, out) : factor_all<double>(plan, in, out);
}
