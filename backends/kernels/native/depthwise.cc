// Convolutions of each feature by itself, and arrays on another grid.
//
// The convolutions have their features last: (images, height, width, features) with (rows, columns,
// features), and the gradient of the latter.
//
// plan: dtype; images, height, width, features; the result's height and width; the window's; how far it begins before
// the array, down and to the right; its strides; its dilations. What is beyond the array is zero, which is multiplied
// like all else: zero times an infinity is not a number. The order of the additions is fixed by the shape.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

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

// --- arrays on another grid -------------------------------------------------------------------------------------------

template <typename T>
struct Term {
  int64_t start, step;
  bool has_all;
  const T* weights;
};

// y = x w, or y + x w; a step of 0 repeats the one weight.
#define TANGRAD_WEIGHTED(T)                                                                                       \
  TANGRAD_WIDE static void weighted(const T* x, const T* w, int64_t w_step, bool first, T* y, int64_t size) {     \
    const T one = *w;                                                                                             \
    if (w_step == 0 && first)                                                                                     \
      for (int64_t i = 0; i < size; ++i) y[i] = x[i] * one;                                                       \
    else if (w_step == 0)                                                                                         \
      for (int64_t i = 0; i < size; ++i) y[i] += x[i] * one;                                                      \
    else if (first)                                                                                               \
      for (int64_t i = 0; i < size; ++i) y[i] = x[i] * w[i];                                                      \
    else                                                                                                          \
      for (int64_t i = 0; i < size; ++i) y[i] += x[i] * w[i];                                                     \
  }
TANGRAD_WEIGHTED(float)
TANGRAD_WEIGHTED(double)

// Elements of one phase to where they are in the result: `kSize` together, or so many as are given.
template <int kSize, typename T>
void interleave(const T* x, int64_t count, int64_t step, int64_t size, T* y) {
  if (kSize > 0) size = kSize;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < size; ++k) y[i * step + k] = x[i * size + k];
}

template <typename T>
class Resampling {
 public:
  Resampling(Plan plan, Inputs in, Outputs out)
      : arrays_(plan[1]), length_(plan[2]), inner_(plan[3]), whole_(plan[4]), phases_(plan[5]), counts_(plan + 6) {
    const int64_t* at = counts_ + phases_;
    for (int64_t phase = 0; phase < phases_; ++phase)
      for (int64_t i = 0; i < counts_[phase]; ++i, at += 3)
        terms_.push_back({at[0], at[1], at[2] != 0, static_cast<const T*>(in[terms_.size() + 1])});
    x_ = static_cast<const T*>(in[0]);
    y_ = static_cast<T*>(out[0]);
  }

  int run() {
    bool flat = inner_ < kNarrow;
    for (const Term<T>& term : terms_) flat = flat && term.has_all && term.step == 1;
    const int64_t terms = terms_.size();
    if (!flat) {
      in_pieces(arrays_ * length_, inner_ * terms, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) line(i / length_, i % length_);
      });
      return 0;
    }
    std::atomic<bool> failed{false};
    in_pieces(arrays_, length_ * inner_ * terms, [&](int64_t begin, int64_t end) {
      std::unique_ptr<T[]> sums(new (std::nothrow) T[length_ * inner_]);
      if (sums == nullptr) return failed.store(true);
      for (int64_t i = begin; i < end; ++i) array(i, sums.get());
    });
    return failed.load() ? 1 : 0;
  }

 private:
  static constexpr int64_t kNarrow = 16;  // elements: fewer are no loop by themselves

  // All phases at one place along the axis.
  void line(int64_t array, int64_t place) {
    T* y = y_ + (array * length_ + place) * phases_ * inner_;
    const Term<T>* term = terms_.data();
    for (int64_t phase = 0; phase < phases_; ++phase, y += inner_)
      for (int64_t i = 0; i < counts_[phase]; ++i, ++term)
        weighted(x_ + (array * whole_ + term->start + place * term->step) * inner_,
                 term->weights + (term->has_all ? place * inner_ : place), term->has_all, i == 0, y, inner_);
  }

  // A whole array, one phase after another.
  void array(int64_t array, T* sums) {
    const Term<T>* term = terms_.data();
    const int64_t size = length_ * inner_, step = phases_ * inner_;
    for (int64_t phase = 0; phase < phases_; ++phase) {
      for (int64_t i = 0; i < counts_[phase]; ++i, ++term)
        weighted(x_ + (array * whole_ + term->start) * inner_, term->weights, 1, i == 0, sums, size);
      T* y = y_ + array * size * phases_ + phase * inner_;
      (inner_ == 1   ? interleave<1, T>
       : inner_ == 2 ? interleave<2, T>
       : inner_ == 3 ? interleave<3, T>
       : inner_ == 4 ? interleave<4, T>
                     : interleave<0, T>)(sums, length_, step, inner_, y);
    }
  }

  const int64_t arrays_, length_, inner_, whole_, phases_, *counts_;
  std::vector<Term<T>> terms_;
  const T* x_;
  T* y_;
};

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

// The result has at each place along an axis several phases, each a sum of products of weights and of the operand's
// elements some places along that axis, which is as long as those are. in: the operand, the weights of each term.
// plan: dtype; arrays before the axis, its length in the result, elements behind it, its length in the operand; phases,
// of each its number of terms; of each term the first place, the step between places, and whether weights are for all
// elements behind the axis, or one for each place.
TANGRAD_KERNEL(resample) {
  using namespace tangrad;
  return plan[0] == F32 ? Resampling<float>(plan, in, out).run() : Resampling<double>(plan, in, out).run();
}
