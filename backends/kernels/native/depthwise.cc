// Convolutions of each feature by itself, features last: (images, height, width, features) with (rows, columns,
// features), and the gradient of the latter.
//
// plan: dtype; images, height, width, features; the result's height and width; the window's; how far it begins before
// the array, down and to the right; its strides; its dilations. What is beyond the array is zero, which is multiplied
// like all else: zero times an infinity is not a number. The order of the additions is fixed by the shape.

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "xla_handler.h"

#if defined(__GNUC__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(TANGRAD_NO_CLONES)
#define TANGRAD_FUSED_CLONES __attribute__((target_clones("fma", "default")))
#else
#define TANGRAD_FUSED_CLONES
#endif
#define TANGRAD_INLINE inline __attribute__((always_inline))

namespace tangrad {
namespace {

struct Sizes {
  int64_t images, height, width, features, out_height, out_width, rows, columns;
  int64_t top, left, down, right, row_step, column_step;

  explicit Sizes(Plan plan) { std::memcpy(this, plan + 1, sizeof(Sizes)); }
  int64_t line_of(int64_t out, int64_t row) const { return out * down + row * row_step - top; }
  int64_t column_of(int64_t out, int64_t column) const { return out * right + column * column_step - left; }
  bool has_line(int64_t line) const { return line >= 0 && line < height; }
  bool has_column(int64_t column) const { return column >= 0 && column < width; }
};

constexpr int kBytes = 32;  // of a register
constexpr int kPlaces = 4, kPair = 2, kFour = 4;

template <typename T>
struct Vector {
  typedef T Of __attribute__((vector_size(kBytes)));
  static constexpr int64_t kSize = kBytes / sizeof(T);
  static TANGRAD_INLINE Of load(const T* from) {
    Of value;
    std::memcpy(&value, from, kBytes);
    return value;
  }
  static TANGRAD_INLINE void store(const Of& value, T* to) { std::memcpy(to, &value, kBytes); }
};

// --- the convolution -------------------------------------------------------------------------------------------------

// The last features of one place of the result, which fill no registers.
template <typename T>
TANGRAD_INLINE void rest_of_place(const Sizes& s, const T* image, const T* kernel, T* out, int64_t line, int64_t place,
                                  int64_t begin) {
  for (int64_t c = begin; c < s.features; ++c) {
    T sum = 0;
    for (int64_t row = 0; row < s.rows; ++row)
      for (int64_t column = 0; column < s.columns; ++column) {
        const int64_t y = s.line_of(line, row), x = s.column_of(place, column);
        const bool is_there = s.has_line(y) && s.has_column(x);
        sum += (is_there ? image[(y * s.width + x) * s.features + c] : T(0)) *
               kernel[(row * s.columns + column) * s.features + c];
      }
    out[c] = sum;
  }
}

// Two registers of features of some neighbouring places; all of their windows are within the image, or it is asked.
template <int kPlaces, bool kWithin, typename T>
TANGRAD_INLINE void add_places(const Sizes& s, const T* image, const T* kernel, T* out, int64_t line, int64_t place) {
  using V = Vector<T>;
  typename V::Of sums[kPlaces][kPair] = {};
  for (int64_t row = 0; row < s.rows; ++row) {
    const int64_t y = s.line_of(line, row);
    for (int64_t column = 0; column < s.columns; ++column) {
      const T* number = kernel + (row * s.columns + column) * s.features;
      const typename V::Of first = V::load(number), second = V::load(number + V::kSize);
      const int64_t x = s.column_of(place, column);
      const T* from = image + (y * s.width + x) * s.features;
      const bool is_there = kWithin || (s.has_line(y) && s.has_column(x));
      for (int i = 0; i < kPlaces; ++i, from += s.right * s.features) {
        sums[i][0] += (is_there ? V::load(from) : typename V::Of{}) * first;
        sums[i][1] += (is_there ? V::load(from + V::kSize) : typename V::Of{}) * second;
      }
    }
  }
  for (int i = 0; i < kPlaces; ++i)
    for (int j = 0; j < kPair; ++j) V::store(sums[i][j], out + i * s.features + j * V::kSize);
}

template <typename T>
TANGRAD_FUSED_CLONES void convolve_line(const Sizes& s, const T* image, const T* kernel, T* out, int64_t line) {
  const int64_t block = kPair * Vector<T>::kSize, whole = s.features / block * block;
  // The places whose windows are within the image.
  int64_t begin = 0, end = s.out_width;
  while (begin < end && !s.has_column(s.column_of(begin, 0))) ++begin;
  while (begin < end && !s.has_column(s.column_of(end - 1, s.columns - 1))) --end;
  if (!s.has_line(s.line_of(line, 0)) || !s.has_line(s.line_of(line, s.rows - 1)) || end - begin < kPlaces) end = begin;
  for (int64_t place = 0; place < s.out_width;) {
    if (place < begin || place >= end) {
      for (int64_t c = 0; c < whole; c += block)
        add_places<1, false>(s, image + c, kernel + c, out + place * s.features + c, line, place);
      ++place;
      continue;
    }
    const int64_t first = std::min(place, end - kPlaces);  // the last ones may be computed twice
    for (int64_t c = 0; c < whole; c += block)
      add_places<kPlaces, true>(s, image + c, kernel + c, out + first * s.features + c, line, first);
    place = first + kPlaces;
  }
  if (whole < s.features)
    for (int64_t place = 0; place < s.out_width; ++place)
      rest_of_place(s, image, kernel, out + place * s.features, line, place, whole);
}

template <typename T>
int convolve(const Sizes& s, const void* in, const void* window, void* result) {
  const T *x = static_cast<const T*>(in), *kernel = static_cast<const T*>(window);
  T* out = static_cast<T*>(result);
  const int64_t size = s.height * s.width * s.features, line_size = s.out_width * s.features;
  in_pieces(s.images * s.out_height, line_size * s.rows * s.columns, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      convolve_line(s, x + line / s.out_height * size, kernel, out + line * line_size, line % s.out_height);
  });
  return 0;
}

// --- the gradient of the kernel: the window is as large as what the convolution gave ------------------------------------

// Adds to `sums` the products of a line of the image, from `x` on, and one of the gradient: of some registers of features.
template <int kRegisters, typename T>
TANGRAD_INLINE void add_products(const T* x, const T* y, int64_t count, int64_t step, int64_t features, double* sums) {
  using V = Vector<T>;
  typename V::Of parts[kRegisters] = {};
  for (int64_t i = 0; i < count; ++i, x += step, y += features)
    for (int j = 0; j < kRegisters; ++j) parts[j] += V::load(x + j * V::kSize) * V::load(y + j * V::kSize);
  T found[kRegisters * V::kSize];
  for (int j = 0; j < kRegisters; ++j) V::store(parts[j], found + j * V::kSize);
  for (int64_t i = 0; i < kRegisters * V::kSize; ++i) sums[i] += found[i];
}

template <typename T>
TANGRAD_FUSED_CLONES void add_line(const Sizes& s, const T* line, const T* other, int64_t place, double* sums) {
  int64_t begin = 0, end = s.columns;
  while (begin < end && !s.has_column(s.column_of(place, begin))) ++begin;
  while (begin < end && !s.has_column(s.column_of(place, end - 1))) --end;
  if (line == nullptr) begin = end = 0;
  for (int64_t column = 0; column < s.columns; ++column)
    if (column < begin || column >= end)
      for (int64_t c = 0; c < s.features; ++c) sums[c] += T(0) * other[column * s.features + c];
  if (begin == end) return;
  const T *x = line + s.column_of(place, begin) * s.features, *y = other + begin * s.features;
  const int64_t step = s.column_step * s.features, size = Vector<T>::kSize;
  int64_t c = 0;
  for (; c + kFour * size <= s.features; c += kFour * size)
    add_products<kFour>(x + c, y + c, end - begin, step, s.features, sums + c);
  for (; c + size <= s.features; c += size) add_products<1>(x + c, y + c, end - begin, step, s.features, sums + c);
  for (; c < s.features; ++c)
    for (int64_t i = 0; i < end - begin; ++i) sums[c] += x[i * step + c] * y[i * s.features + c];
}

template <typename T>
int gradient(const Sizes& s, const void* in, const void* window, void* result) {
  const T *x = static_cast<const T*>(in), *y = static_cast<const T*>(window);
  T* out = static_cast<T*>(result);
  const int64_t size = s.out_height * s.out_width * s.features;
  std::unique_ptr<double[]> all(new (std::nothrow) double[s.images * size]());
  if (all == nullptr) return 1;
  parallel(s.images, [&](int64_t number) {
    const T *image = x + number * s.height * s.width * s.features, *other = y + number * s.rows * s.columns * s.features;
    double* sums = all.get() + number * size;
    for (int64_t row = 0; row < s.rows; ++row)
      for (int64_t i = 0; i < s.out_height; ++i) {
        const int64_t line = s.line_of(i, row);
        const T* from = s.has_line(line) ? image + line * s.width * s.features : nullptr;
        for (int64_t j = 0; j < s.out_width; ++j)
          add_line(s, from, other + row * s.columns * s.features, j, sums + (i * s.out_width + j) * s.features);
      }
  });
  for (int64_t i = 0; i < size; ++i) {
    double total = 0;
    for (int64_t number = 0; number < s.images; ++number) total += all[number * size + i];
    out[i] = static_cast<T>(total);
  }
  return 0;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(depthwise) {
  using namespace tangrad;
  const Sizes sizes(plan);
  return plan[0] == F32 ? convolve<float>(sizes, in[0], in[1], out[0]) : convolve<double>(sizes, in[0], in[1], out[0]);
}

TANGRAD_KERNEL(depthwise_gradient) {
  using namespace tangrad;
  const Sizes sizes(plan);
  return plan[0] == F32 ? gradient<float>(sizes, in[0], in[1], out[0]) : gradient<double>(sizes, in[0], in[1], out[0]);
}
