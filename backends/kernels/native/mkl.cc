// Matrix products, factors of matrices and Fourier transforms by oneMKL, whose functions Python hands over.
//
// Arrays are row after row, LAPACK's column after column: it gets, and gives, the transposes.

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "vendor.h"
#include "xla_handler.h"

#define TANGRAD_MKL(X)                                                                                               \
  X(MKL_Set_Num_Threads_Local, int, int)                                                                             \
  X(cblas_sgemm, void, int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int) \
  X(cblas_dgemm, void, int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, \
    int)                                                                                                             \
  X(cblas_ssyrk, void, int, int, int, int, int, float, const float*, int, float, float*, int)                        \
  X(cblas_dsyrk, void, int, int, int, int, int, double, const double*, int, double, double*, int)                    \
  X(cblas_strsm, void, int, int, int, int, int, int, int, float, const float*, int, float*, int)                     \
  X(cblas_dtrsm, void, int, int, int, int, int, int, int, double, const double*, int, double*, int)                  \
  X(spotrf, void, const char*, const int*, float*, const int*, int*)                                                 \
  X(dpotrf, void, const char*, const int*, double*, const int*, int*)                                                \
  X(ssyevd, void, const char*, const char*, const int*, float*, const int*, float*, float*, const int*, int*,        \
    const int*, int*)                                                                                                \
  X(dsyevd, void, const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*,     \
    const int*, int*)                                                                                                \
  X(ssytrd, void, const char*, const int*, float*, const int*, float*, float*, float*, float*, const int*, int*)     \
  X(dsytrd, void, const char*, const int*, double*, const int*, double*, double*, double*, double*, const int*, int*) \
  X(sstedc, void, const char*, const int*, float*, float*, float*, const int*, float*, const int*, int*, const int*, \
    int*)                                                                                                            \
  X(dstedc, void, const char*, const int*, double*, double*, double*, const int*, double*, const int*, int*,         \
    const int*, int*)                                                                                                \
  X(sormtr, void, const char*, const char*, const char*, const int*, const int*, const float*, const int*,           \
    const float*, float*, const int*, float*, const int*, int*)                                                      \
  X(dormtr, void, const char*, const char*, const char*, const int*, const int*, const double*, const int*,          \
    const double*, double*, const int*, double*, const int*, int*)                                                   \
  X(sgesdd, void, const char*, const int*, const int*, float*, const int*, float*, float*, const int*, float*,       \
    const int*, float*, const int*, int*, int*)                                                                      \
  X(dgesdd, void, const char*, const int*, const int*, double*, const int*, double*, double*, const int*, double*,   \
    const int*, double*, const int*, int*, int*)                                                                     \
  X(DftiCreateDescriptor, long, void**, int, int, long, ...)                                                         \
  X(DftiSetValue, long, void*, int, ...)                                                                             \
  X(DftiCommitDescriptor, long, void*)                                                                               \
  X(DftiComputeForward, long, void*, ...)                                                                            \
  X(DftiComputeBackward, long, void*, ...)                                                                           \
  X(DftiFreeDescriptor, long, void**)

TANGRAD_VENDOR(mkl, TANGRAD_MKL)

namespace tangrad {
namespace {

// How many threads the library starts by itself within this scope.
class Threads {
 public:
  explicit Threads(int count) : lock_(team(), std::defer_lock) {
    if (count > 1) lock_.lock();
    before_ = functions.MKL_Set_Num_Threads_Local(count);
  }
  ~Threads() { functions.MKL_Set_Num_Threads_Local(before_); }

 private:
  std::unique_lock<std::mutex> lock_;
  int before_;
};

// --- products ----------------------------------------------------------------------------------------------------------

constexpr int kRowMajor = 101, kAsItIs = 111, kTransposed = 112, kUpper = 121, kLower = 122, kNoUnit = 131, kUnit = 132,
              kLeft = 141, kRight = 142;

template <typename T>
struct Blas;
template <>
struct Blas<float> {
  static constexpr auto multiply = &Functions::cblas_sgemm;
  static constexpr auto square = &Functions::cblas_ssyrk;
  static constexpr auto solve = &Functions::cblas_strsm;
};
template <>
struct Blas<double> {
  static constexpr auto multiply = &Functions::cblas_dgemm;
  static constexpr auto square = &Functions::cblas_dsyrk;
  static constexpr auto solve = &Functions::cblas_dtrsm;
};

// Matrices whose elements are apart by these numbers of elements, one of them 1.
struct Matrix {
  int64_t down, across;
  bool is_transposed() const { return across != 1; }
  int64_t leading() const { return is_transposed() ? across : down; }
  Matrix transposed() const { return {across, down}; }
};

struct Product {
  int64_t rows, columns, inner;
  Matrix x, y, out;
};

int order(const Matrix& matrix) { return matrix.is_transposed() ? kTransposed : kAsItIs; }

// plan: dtype, how many dimensions of matrices, rows, columns, what is summed over; down and across for x, y, the
// result; for each dimension of matrices how many, and how far they are apart in x, y, the result.
//
// The result is computed in parts, which depend on the shape alone: so it does not matter how many threads there are.
template <typename T>
void product(Plan plan, const T* x, const T* y, T* out) {
  const int64_t dimensions = plan[1], *matrices = plan + 11;
  Product p{plan[2], plan[3], plan[4], {plan[5], plan[6]}, {plan[7], plan[8]}, {plan[9], plan[10]}};
  const bool swapped = p.out.is_transposed();
  if (swapped) {
    std::swap(x, y);
    p = {p.columns, p.rows, p.inner, p.y.transposed(), p.x.transposed(), p.out.transposed()};
  }
  int64_t batch = 1;
  for (int64_t i = 0; i < dimensions; ++i) batch *= matrices[4 * i];
  // Rows are parted first: what is packed of x and y is then packed once. Parts of large matrices are twice as high:
  // with 128 rows, 1024 x 1024 take a quarter longer, in double precision half as long again.
  constexpr int64_t kWork = int64_t{1} << 23, kMost = 64;
  const bool is_large = p.rows >= 1024 && p.columns >= 512;
  const int64_t few = is_large ? 16 : 8, height = is_large ? 256 : 128, width = is_large ? 512 : 128;
  const int64_t wanted = std::min(kMost, (batch * p.rows * p.columns * p.inner + kWork / 2) / kWork);
  int64_t down = 1, across = 1;
  while (batch * down < wanted && p.rows / down >= 2 * height) down *= 2;
  while (batch * down * across < std::min(wanted, few) && p.columns / across >= 2 * width) across *= 2;
  const int64_t each = down * across;
  const auto start = [](int64_t i, int64_t parts, int64_t size) {
    return i == parts ? size : (size * i / parts) & ~int64_t{15};  // a line of the cache
  };
  parallel(batch * each, [&](int64_t i) {
    const Threads one(1);
    const int64_t row = i % each / across, column = i % across;
    const int64_t top = start(row, down, p.rows), left = start(column, across, p.columns);
    const int64_t rows = start(row + 1, down, p.rows) - top, columns = start(column + 1, across, p.columns) - left;
    int64_t x_at = top * p.x.down, y_at = left * p.y.across, out_at = top * p.out.down + left;
    int64_t rest = i / each;
    for (int64_t axis = dimensions - 1; axis >= 0; --axis) {
      const int64_t *of = matrices + 4 * axis, place = rest % of[0];
      rest /= of[0];
      x_at += place * of[swapped ? 2 : 1];
      y_at += place * of[swapped ? 1 : 2];
      out_at += place * of[3];
    }
    (functions.*Blas<T>::multiply)(kRowMajor, order(p.x), order(p.y), rows, columns, p.inner, 1, x + x_at, p.x.leading(),
                                   y + y_at, p.y.leading(), 0, out + out_at, p.out.down);
  });
}

// --- factors -----------------------------------------------------------------------------------------------------------

template <typename T>
struct Lapack;
template <>
struct Lapack<float> {
  static constexpr auto cholesky = &Functions::spotrf;
  static constexpr auto symmetric = &Functions::ssyevd;
  static constexpr auto to_tridiagonal = &Functions::ssytrd;
  static constexpr auto of_tridiagonal = &Functions::sstedc;
  static constexpr auto reflect = &Functions::sormtr;
  static constexpr auto singular = &Functions::sgesdd;
};
template <>
struct Lapack<double> {
  static constexpr auto cholesky = &Functions::dpotrf;
  static constexpr auto symmetric = &Functions::dsyevd;
  static constexpr auto to_tridiagonal = &Functions::dsytrd;
  static constexpr auto of_tridiagonal = &Functions::dstedc;
  static constexpr auto reflect = &Functions::dormtr;
  static constexpr auto singular = &Functions::dgesdd;
};

// Several matrices at once, each on one thread; large ones one at a time, on all: of small ones threads wait for each other
// longer than they work. `factor` returns whether there was enough memory.
constexpr int64_t kLarge = int64_t{1} << 18;

template <typename Factor>
int each_matrix(int64_t count, int64_t elements, const Factor& factor) {
  std::atomic<bool> failed{false};
  const auto body = [&](int64_t i) {
    if (!factor(i)) failed.store(true);
  };
  if (count >= thread_count() || elements <= kLarge) {
    parallel(count, [&](int64_t i) {
      const Threads one(1);
      body(i);
    });
  } else {
    const Threads all(thread_count());
    for (int64_t i = 0; i < count; ++i) body(i);
  }
  return failed.load() ? 1 : 0;
}

template <typename T>
void fill_with_nan(T* x, int64_t size) {
  std::fill(x, x + size, std::numeric_limits<T>::quiet_NaN());
}

template <typename T>
bool has_nan(const T* x, int64_t size) {
  T sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += x[i] * 0;  // NaN of infinities, too
  return sum != 0 || sum != sum;
}

// A matrix of rows of `size`, or a part of it, to where rows are `apart`; `halved`: the mean of the matrix and its transpose.
template <typename T>
void copy_part(const T* x, int64_t size, bool halved, int64_t top, int64_t left, int64_t height, int64_t width, T* to,
               int64_t apart) {
  if (!halved) {
    for (int64_t i = 0; i < height; ++i) std::copy_n(x + (top + i) * size + left, width, to + i * apart);
    return;
  }
  constexpr int64_t kBlock = 64 / sizeof(T);  // lines of the cache, of which rows that are a power of two apart share few
  for (int64_t row = 0; row < height; row += kBlock)
    for (int64_t column = 0; column < width; column += kBlock)
      for (int64_t i = row; i < std::min(height, row + kBlock); ++i) {
        const T *here = x + (top + i) * size + left, *there = x + left * size + top + i;
        for (int64_t j = column; j < std::min(width, column + kBlock); ++j)
          to[i * apart + j] = (here[j] + there[j * size]) / 2;
      }
}

template <typename T>
int factor_in_place(int size, T* x, int apart) {
  int info;
  (functions.*Lapack<T>::cholesky)("U", &size, x, &apart, &info);
  return info;
}

// Lower factors of large matrices, tile by tile: those of one column after another, from the diagonal down. Threads take
// tiles in this order, and wait for those that a tile needs, which others have begun by then. What is computed depends
// on the shape alone.
template <typename T>
class TiledFactors {
 public:
  TiledFactors(int64_t count, int64_t size, bool halved, const T* x, T* out)
      : count_(count),
        size_(size),
        tile_(size >= 2048 ? 256 : 128),
        tiles_((size + tile_ - 1) / tile_),
        halved_(halved),
        x_(x),
        out_(out),
        made_(new(std::nothrow) std::atomic<int>[count * tiles_]()),
        failed_(new(std::nothrow) std::atomic<bool>[count]()) {}

  int run() {
    if (made_ == nullptr || failed_ == nullptr) return 1;
    const int64_t each = tiles_ * (tiles_ + 1) / 2;
    std::atomic<int64_t> next{0};
    std::atomic<bool> short_of_memory{false};
    parallel(std::min<int64_t>(thread_count(), count_ * each), [&](int64_t) {
      const Threads one(1);
      std::unique_ptr<T[]> room(new (std::nothrow) T[tile_ * apart()]);
      if (room == nullptr) return short_of_memory.store(true);
      for (int64_t i; (i = next.fetch_add(1)) < count_ * each;) {
        int64_t row = i % each, column = 0;
        while (row >= tiles_ - column) row -= tiles_ - column++;
        make(i / each, row + column, column, room.get());
      }
    });
    if (short_of_memory.load()) return 1;
    for (int64_t i = 0; i < count_; ++i)
      if (failed_[i].load()) fill_with_nan(out_ + i * size_ * size_, size_ * size_);
    return 0;
  }

 private:
  int apart() const { return tile_ + 16; }  // of a tile's rows in memory: no power of two

  void make(int64_t matrix, int64_t row, int64_t column, T* tile) {
    const int64_t top = row * tile_, left = column * tile_;
    const int height = std::min<int64_t>(tile_, size_ - top), width = std::min<int64_t>(tile_, size_ - left);
    T* out = out_ + matrix * size_ * size_;
    std::atomic<int>* made = made_.get() + matrix * tiles_;  // of each row of tiles, how many
    copy_part(x_ + matrix * size_ * size_, size_, halved_, top, left, height, width, tile, apart());
    // The last product by itself on the diagonal, for which others wait.
    const int64_t parts[] = {0, row == column ? std::max<int64_t>(0, column - 1) : column, column};
    for (int part = 0; part < 2; ++part) {
      const int64_t begin = parts[part] * tile_, inner = parts[part + 1] * tile_ - begin;
      if (inner <= 0) continue;
      wait_for(made[row], parts[part + 1]);
      wait_for(made[column], parts[part + 1]);
      const T *x = out + top * size_ + begin, *y = out + left * size_ + begin;
      if (row == column)
        (functions.*Blas<T>::square)(kRowMajor, kLower, kAsItIs, height, inner, -1, x, size_, 1, tile, apart());
      else
        (functions.*Blas<T>::multiply)(kRowMajor, kAsItIs, kTransposed, height, width, inner, -1, x, size_, y, size_, 1, tile,
                                       apart());
    }
    if (row == column) {
      if (factor_in_place(width, tile, apart()) != 0) failed_[matrix].store(true);
    } else {
      wait_for(made[column], column + 1);
      (functions.*Blas<T>::solve)(kRowMajor, kRight, kLower, kTransposed, kNoUnit, height, width, 1,
                                  out + left * size_ + left, size_, tile, apart());
    }
    for (int i = 0; i < height; ++i) {
      T* to = out + (top + i) * size_ + left;
      std::copy_n(tile + i * apart(), row == column ? i + 1 : width, to);
      if (row == column) std::fill(to + i + 1, to + size_ - left, T{0});
    }
    made[row].store(column + 1, std::memory_order_release);
  }

  const int64_t count_, size_;
  const int tile_;
  const int64_t tiles_;
  const bool halved_;
  const T* x_;
  T* out_;
  const std::unique_ptr<std::atomic<int>[]> made_;
  const std::unique_ptr<std::atomic<bool>[]> failed_;
};

template <typename T>
int cholesky(int64_t count, int size, bool halved, const T* x, T* out) {
  if (size >= 1024 || (size >= 512 && count < 8)) return TiledFactors<T>(count, size, halved, x, out).run();
  const int64_t whole = int64_t{size} * size;
  parallel(count, [=](int64_t i) {
    const Threads one(1);
    T* y = out + i * whole;
    copy_part(x + i * whole, size, halved, 0, 0, size, size, y, size);
    if (factor_in_place(size, y, size) != 0) return fill_with_nan(y, whole);
    for (int64_t row = 0; row < size; ++row) std::fill(y + row * size + row + 1, y + (row + 1) * size, T{0});
  });
  return 0;
}

// plan: dtype, matrices, rows of them, how many right sides, whether they are columns (the matrix is on the left), whether
// the lower triangle is read, whether it is transposed, whether its diagonal is 1.
//
// Right sides are parted by their number alone. Of few, each is a product of a vector, since solving several takes longer.
template <typename T>
void solve_triangle(Plan plan, const T* a, const T* b, T* out) {
  const int64_t count = plan[1], size = plan[2], sides = plan[3];
  const bool left = plan[4] != 0;
  const int64_t each = sides >= 256 ? 128 : sides >= 128 ? 64 : sides <= 4 ? 1 : sides;
  const int64_t parts = std::max<int64_t>(1, sides / std::max<int64_t>(1, each));
  in_pieces(count * parts, size * std::max(size, each), [=](int64_t begin, int64_t end) {
    const Threads one(1);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t matrix = i / parts, first = i % parts * each;
      const int64_t here = (i + 1) % parts == 0 ? sides - first : each;
      const int64_t start = matrix * size * sides + first * (left ? 1 : size), apart = left ? sides : size;
      const int64_t rows = left ? size : here, columns = left ? here : size;
      for (int64_t row = 0; row < rows; ++row) std::copy_n(b + start + row * apart, columns, out + start + row * apart);
      (functions.*Blas<T>::solve)(kRowMajor, left ? kLeft : kRight, plan[5] ? kLower : kUpper,
                                  plan[6] ? kTransposed : kAsItIs, plan[7] ? kUnit : kNoUnit, rows, columns, 1,
                                  a + matrix * size * size, size, out + start, apart);
    }
  });
}

template <typename T>
void transpose_in_place(T* x, int64_t size) {
  constexpr int64_t kBlock = 32;
  for (int64_t row = 0; row < size; row += kBlock)
    for (int64_t column = 0; column <= row; column += kBlock)
      for (int64_t i = row; i < std::min(size, row + kBlock); ++i)
        for (int64_t j = column; j < std::min(i, column + kBlock); ++j) std::swap(x[i * size + j], x[j * size + i]);
}

// Of one matrix what `symmetric` does, in its three steps, of which the last is parted: eigenvectors of the tridiagonal
// matrix become those of the matrix, a few of them on each thread. The matrix is lost. Returns LAPACK's `info`, 0 for
// success, or -1 where there was not enough memory.
template <typename T>
int decompose_in_steps(const char* triangle, int size, T* matrix, T* values, T* vectors, T* work, int* numbers) {
  constexpr int kEach = 128;
  const int integers = 3 + 5 * size, length = 1 + 4 * size + size * size;
  T *beside = work, *reflectors = beside + size, *room = reflectors + size;
  // What is very small or large is brought nearer to 1, as there are squares.
  T greatest = 0;
  for (int64_t i = 0; i < int64_t{size} * size; ++i) greatest = std::max(greatest, std::abs(matrix[i]));
  const T least = std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
  const T factor = greatest > 0 && greatest < least ? least / greatest : greatest > 1 / least ? 1 / least / greatest : 1;
  if (factor != 1)
    for (int64_t i = 0; i < int64_t{size} * size; ++i) matrix[i] *= factor;
  int info;
  {
    const Threads one(1);
    (functions.*Lapack<T>::to_tridiagonal)(triangle, &size, matrix, &size, values, beside, reflectors, room, &length,
                                           &info);
    if (info == 0)
      (functions.*Lapack<T>::of_tridiagonal)("I", &size, values, beside, vectors, &size, room, &length, numbers,
                                             &integers, &info);
  }
  if (info != 0) return info;
  std::atomic<int> worst{0};
  parallel((size + kEach - 1) / kEach, [&](int64_t part) {
    const Threads one(1);
    const int first = static_cast<int>(part) * kEach, count = std::min(kEach, size - first);
    int status, enough = -1;
    T best;
    const auto reflect = [&](T* space) {
      (functions.*Lapack<T>::reflect)("L", triangle, "N", &size, &count, matrix, &size, reflectors,
                                      vectors + int64_t{first} * size, &size, space, &enough, &status);
    };
    reflect(&best);
    enough = static_cast<int>(best);
    std::unique_ptr<T[]> space(new (std::nothrow) T[enough]);
    if (space == nullptr) return worst.store(-1);
    reflect(space.get());
    if (status != 0) worst.store(status);
  });
  if (factor != 1)
    for (int i = 0; i < size; ++i) values[i] /= factor;
  return worst.load();
}

template <typename T>
void transpose(const T* x, int64_t size, T* y) {
  constexpr int64_t kBlock = 32;
  for (int64_t row = 0; row < size; row += kBlock)
    for (int64_t column = 0; column < size; column += kBlock)
      for (int64_t i = row; i < std::min(size, row + kBlock); ++i)
        for (int64_t j = column; j < std::min(size, column + kBlock); ++j) y[i * size + j] = x[j * size + i];
}

template <typename T>
int eigenvectors_of_one(int size, bool lower, bool halved, const T* x, T* vectors, T* values) {
  const int64_t whole = int64_t{size} * size, length = 1 + 6 * int64_t{size} + 2 * whole;
  std::unique_ptr<T[]> work(new (std::nothrow) T[length]);
  std::unique_ptr<int[]> numbers(new (std::nothrow) int[3 + 5 * size]);
  if (work == nullptr || numbers == nullptr) return 1;
  copy_part(x, size, halved, 0, 0, size, size, vectors, size);
  int info = 1;
  if (!has_nan(vectors, whole))
    info = decompose_in_steps(lower ? "U" : "L", size, vectors, values, work.get(), work.get() + whole, numbers.get());
  if (info == -1) return 1;
  if (info != 0) {
    fill_with_nan(vectors, whole);
    fill_with_nan(values, size);
  } else {
    transpose(work.get(), size, vectors);
  }
  return 0;
}

template <typename T>
int eigenvectors(int64_t count, int size, bool lower, bool halved, const T* x, T* vectors, T* values) {
  const int64_t whole = int64_t{size} * size;
  if (count == 1 && whole <= kLarge) return eigenvectors_of_one(size, lower, halved, x, vectors, values);
  const int length = 1 + 6 * size + 2 * whole, integers = 3 + 5 * size;
  return each_matrix(count, whole, [=](int64_t i) {
    std::unique_ptr<T[]> work(new (std::nothrow) T[length]);
    std::unique_ptr<int[]> numbers(new (std::nothrow) int[integers]);
    if (work == nullptr || numbers == nullptr) return false;
    T *v = vectors + i * whole, *w = values + i * size;
    copy_part(x + i * whole, size, halved, 0, 0, size, size, v, size);
    int info = 1;
    if (!has_nan(v, whole))
      (functions.*Lapack<T>::symmetric)("V", lower ? "U" : "L", &size, v, &size, w, work.get(), &length, numbers.get(),
                                        &integers, &info);
    if (info != 0) {
      fill_with_nan(v, whole);
      fill_with_nan(w, size);
    } else {
      transpose_in_place(v, size);
    }
    return true;
  });
}

// The transpose of u diag(s) vh is vh^T diag(s) u^T, so what LAPACK calls u is vh here.
template <typename T>
int singular_values(int64_t count, int rows, int columns, bool full, bool vectors, const T* x, T* values, T* u, T* vh) {
  const int least = std::min(rows, columns), u_columns = full ? rows : least, vh_rows = full ? columns : least;
  const int64_t whole = int64_t{rows} * columns;
  const char* mode = !vectors ? "N" : full ? "A" : "S";
  return each_matrix(count, whole, [=](int64_t i) {
    std::unique_ptr<T[]> matrix(new (std::nothrow) T[whole]);
    std::unique_ptr<int[]> numbers(new (std::nothrow) int[8 * least]);
    if (matrix == nullptr || numbers == nullptr) return false;
    std::memcpy(matrix.get(), x + i * whole, whole * sizeof(T));
    T *s = values + i * least, *left = nullptr, *right = nullptr, best;
    if (vectors) left = u + i * rows * u_columns, right = vh + i * vh_rows * columns;
    int info = 1, length = -1;
    const auto decompose = [&](T* work) {
      (functions.*Lapack<T>::singular)(mode, &columns, &rows, matrix.get(), &columns, s, right, &columns, left,
                                       &u_columns, work, &length, numbers.get(), &info);
    };
    if (!has_nan(matrix.get(), whole)) {
      decompose(&best);
      length = static_cast<int>(best);
      std::unique_ptr<T[]> work(new (std::nothrow) T[length]);
      if (work == nullptr) return false;
      decompose(work.get());
    }
    if (info != 0) {
      fill_with_nan(s, least);
      if (vectors) {
        fill_with_nan(left, int64_t{rows} * u_columns);
        fill_with_nan(right, int64_t{vh_rows} * columns);
      }
    }
    return true;
  });
}

// --- transforms --------------------------------------------------------------------------------------------------------

enum Kind : int64_t { kForward, kBackward, kOfReal, kToReal };  // as tangrad.extend.fft.FftType

struct Transform {
  void* descriptor = nullptr;
  ~Transform() {
    if (descriptor != nullptr) functions.DftiFreeDescriptor(&descriptor);
  }
};

// plan: dtype, kind, transforms, how many axes, and their lengths as they are in the real or the larger array.
std::shared_ptr<Transform> prepared(Plan plan) {
  constexpr int kComplex = 32, kReal = 33, kSingle = 35, kDouble = 36, kComplexComplex = 39, kNotInPlace = 44;
  constexpr int kScale = 5, kNumber = 7, kConjugateEven = 10, kPlacement = 11, kInputStrides = 12, kOutputStrides = 13,
                kInputDistance = 14, kOutputDistance = 15, kThreads = 27;
  const int64_t kind = plan[1], count = plan[2], rank = plan[3];
  const int64_t* lengths = plan + 4;
  const bool real = kind == kOfReal || kind == kToReal;
  long sizes[3], strides[4] = {0}, halved[4] = {0};
  int64_t size = 1, half = 1;
  for (int64_t i = rank - 1; i >= 0; --i) {
    sizes[i] = lengths[i];
    strides[i + 1] = size;
    halved[i + 1] = half;
    size *= lengths[i];
    half *= i == rank - 1 ? lengths[i] / 2 + 1 : lengths[i];
  }
  const auto made = std::make_shared<Transform>();
  const int precision = plan[0] == F32 ? kSingle : kDouble;
  long status = rank == 1 ? functions.DftiCreateDescriptor(&made->descriptor, precision, real ? kReal : kComplex, 1, sizes[0])
                          : functions.DftiCreateDescriptor(&made->descriptor, precision, real ? kReal : kComplex, rank, sizes);
  if (status != 0) return nullptr;
  const auto set = [&](int what, auto value) { status |= functions.DftiSetValue(made->descriptor, what, value); };
  set(kPlacement, kNotInPlace);
  set(kNumber, static_cast<long>(count));
  set(kThreads, static_cast<long>(thread_count()));
  if (kind == kBackward || kind == kToReal) set(kScale, 1.0 / static_cast<double>(size));
  if (real) {
    set(kConjugateEven, kComplexComplex);
    set(kInputStrides, kind == kOfReal ? strides : halved);
    set(kOutputStrides, kind == kOfReal ? halved : strides);
  }
  set(kInputDistance, static_cast<long>(kind == kToReal ? half : size));
  set(kOutputDistance, static_cast<long>(kind == kOfReal ? half : size));
  if (status != 0 || functions.DftiCommitDescriptor(made->descriptor) != 0) return nullptr;
  return made;
}

}  // namespace
}  // namespace tangrad

TANGRAD_KERNEL(product) {
  using namespace tangrad;
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    product(plan, static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out[0]));
    return 0;
  };
  return plan[0] == F32 ? run(0.0f) : run(0.0);
}

// plan: dtype, matrices, rows, whether it is of the mean of each matrix and its transpose.
TANGRAD_KERNEL(cholesky) {
  using namespace tangrad;
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    return cholesky(plan[1], static_cast<int>(plan[2]), plan[3] != 0, static_cast<const T*>(in[0]), static_cast<T*>(out[0]));
  };
  return plan[0] == F32 ? run(0.0f) : run(0.0);
}

TANGRAD_KERNEL(triangular_solve) {
  using namespace tangrad;
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    solve_triangle(plan, static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out[0]));
    return 0;
  };
  return plan[0] == F32 ? run(0.0f) : run(0.0);
}

// plan: dtype, matrices, rows, whether the lower triangle is read, whether it is of the mean of each matrix and its transpose.
TANGRAD_KERNEL(eigh) {
  using namespace tangrad;
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    return eigenvectors(plan[1], static_cast<int>(plan[2]), plan[3] != 0, plan[4] != 0, static_cast<const T*>(in[0]),
                        static_cast<T*>(out[0]), static_cast<T*>(out[1]));
  };
  return plan[0] == F32 ? run(0.0f) : run(0.0);
}

// plan: dtype, matrices, rows, columns, whether all vectors are wanted, whether any are.
TANGRAD_KERNEL(svd) {
  using namespace tangrad;
  const int rows = static_cast<int>(plan[2]), columns = static_cast<int>(plan[3]);
  const bool full = plan[4] != 0, vectors = plan[5] != 0;
  // Values only, or as the equation has them: u, values, vh.
  const int at = vectors ? 1 : 0;
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    return singular_values(plan[1], rows, columns, full, vectors, static_cast<const T*>(in[0]),
                           static_cast<T*>(out[at]), vectors ? static_cast<T*>(out[0]) : nullptr,
                           vectors ? static_cast<T*>(out[2]) : nullptr);
  };
  return plan[0] == F32 ? run(0.0f) : run(0.0);
}

TANGRAD_KERNEL(fft) {
  using namespace tangrad;
  static auto* kept = new Kept<Transform>;
  const std::shared_ptr<Transform> transform = kept->get(plan, 4 + plan[3], [&] { return prepared(plan); });
  if (transform == nullptr) return 1;
  const Threads all(thread_count());
  void* x = const_cast<void*>(in[0]);
  const bool back = plan[1] == kBackward || plan[1] == kToReal;
  return (back ? functions.DftiComputeBackward : functions.DftiComputeForward)(transform->descriptor, x, out[0]) != 0;
}
