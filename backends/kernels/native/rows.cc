// A small program over rows: sums, products and functions of elements, sums, maxima and softmax of rows, sums of columns.
// Rows go through all of it block by block, so that what is between stays in the nearest cache.
//
// Arrays are seen as (rows, columns). Each has a kind: all elements, one number for each row, one for each column, or
// one at all. plan:
//   dtype (F32 or F64), rows, columns, how many operands, temporary arrays, results, instructions;
//   the kind of each operand, temporary array and result, in this order, by which instructions number them;
//   instructions: operation, what it writes, what it reads (three: what an operation has fewer of is there again).
// Temporary arrays have a number for each element or each row. No instruction writes what it reads. Sums of columns are
// results, which no instruction reads. Softmax is of F32. What is multiplied and added, x z + w, and what is multiplied
// and summed, has an x, and for sums a z, with a number for each element or each column. What is selected, z where x is
// not 0 and else w, has an operand x of bytes, one for each element or each column. What is placed, z at the column x of
// each row and else 0, has an operand x of I32, one for each row; those that are no columns have no place.
//
// Blocks, and parts of the rows whose columns are added up by themselves, depend on the shape alone.

#include <atomic>
#include <cmath>
#include <memory>
#include <new>

#include "rows.h"
#include "xla_handler.h"

namespace tangrad {
namespace {

enum Kind : int64_t { kAll, kOfRow, kOfColumn, kOne };
enum Operation : int64_t {
  kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum, kNegate, kRoot, kExp, kTanh, kRowSum, kRowMaximum, kColumnSum,
  kLog, kInverseRoot, kSoftmax, kRowProduct, kColumnProduct, kMultiplyAdd, kSelect, kPlace
};

constexpr int64_t kBlock = 2048;   // elements of a temporary array, or one row
constexpr int64_t kChain = 256;    // of so many roundings in a row a sum may be made
constexpr int64_t kAlign = 64;     // bytes

// --- instructions: for each type a function, that is compiled for several processors ----------------------------------

// y = x OPERATION z; a step of 0 repeats the one number.
#define TANGRAD_BINARY(NAME, T, EXPRESSION)                                                            \
  TANGRAD_WIDE static void NAME(const T* x, int64_t x_step, const T* z, int64_t z_step, T* y, int64_t size) { \
    if (x_step != 0 && z_step != 0) {                                                                  \
      for (int64_t i = 0; i < size; ++i) {                                                             \
        const T a = x[i], b = z[i];                                                                    \
        y[i] = EXPRESSION;                                                                             \
      }                                                                                                \
    } else if (x_step != 0) {                                                                          \
      const T b = *z;                                                                                  \
      for (int64_t i = 0; i < size; ++i) {                                                             \
        const T a = x[i];                                                                              \
        y[i] = EXPRESSION;                                                                             \
      }                                                                                                \
    } else if (z_step != 0) {                                                                          \
      const T a = *x;                                                                                  \
      for (int64_t i = 0; i < size; ++i) {                                                             \
        const T b = z[i];                                                                              \
        y[i] = EXPRESSION;                                                                             \
      }                                                                                                \
    } else {                                                                                           \
      const T a = *x, b = *z;                                                                          \
      std::fill_n(y, size, static_cast<T>(EXPRESSION));                                                \
    }                                                                                                  \
  }

#define TANGRAD_FOR_EACH_OPERATION(T)                  \
  TANGRAD_BINARY(add, T, a + b)                        \
  TANGRAD_BINARY(subtract, T, a - b)                   \
  TANGRAD_BINARY(multiply, T, a* b)                    \
  TANGRAD_BINARY(divide, T, a / b)                     \
  TANGRAD_BINARY(maximum, T, (a > b) | (a != a) ? a : b) \
  TANGRAD_BINARY(minimum, T, (a < b) | (a != a) ? a : b) \
  TANGRAD_BINARY(negate, T, -a)                        \
  TANGRAD_BINARY(root, T, std::sqrt(a))                \
  TANGRAD_BINARY(power, T, exponential(a))             \
  TANGRAD_BINARY(tangent, T, hyperbolic_tangent(a))    \
  TANGRAD_BINARY(logarithm, T, std::log(a))            \
  TANGRAD_BINARY(inverse_root, T, 1 / std::sqrt(a))

TANGRAD_FOR_EACH_OPERATION(float)
TANGRAD_FOR_EACH_OPERATION(double)

// y = x z + w; a step of 0 repeats the one number.
#define TANGRAD_ROWS(T)                                                                                           \
  TANGRAD_WIDE static void multiply_add(const T* x, const T* z, int64_t z_step, const T* w, int64_t w_step, T* y, \
                                        int64_t size) {                                                           \
    if (z_step != 0 && w_step != 0) {                                                                             \
      for (int64_t i = 0; i < size; ++i) y[i] = x[i] * z[i] + w[i];                                               \
    } else if (z_step != 0) {                                                                                     \
      const T c = *w;                                                                                             \
      for (int64_t i = 0; i < size; ++i) y[i] = x[i] * z[i] + c;                                                  \
    } else if (w_step != 0) {                                                                                     \
      const T b = *z;                                                                                             \
      for (int64_t i = 0; i < size; ++i) y[i] = x[i] * b + w[i];                                                  \
    } else {                                                                                                      \
      const T b = *z, c = *w;                                                                                     \
      for (int64_t i = 0; i < size; ++i) y[i] = x[i] * b + c;                                                     \
    }                                                                                                             \
  }                                                                                                               \
  TANGRAD_WIDE static void select(const uint8_t* mask, const T* z, int64_t z_step, const T* w, int64_t w_step, T* y, \
                                  int64_t size) {                                                                 \
    if (z_step != 0 && w_step != 0) {                                                                             \
      for (int64_t i = 0; i < size; ++i) y[i] = mask[i] != 0 ? z[i] : w[i];                                       \
    } else if (z_step != 0) {                                                                                     \
      const T c = *w;                                                                                             \
      for (int64_t i = 0; i < size; ++i) y[i] = mask[i] != 0 ? z[i] : c;                                          \
    } else if (w_step != 0) {                                                                                     \
      const T b = *z;                                                                                             \
      for (int64_t i = 0; i < size; ++i) y[i] = mask[i] != 0 ? b : w[i];                                          \
    } else {                                                                                                      \
      const T b = *z, c = *w;                                                                                     \
      for (int64_t i = 0; i < size; ++i) y[i] = mask[i] != 0 ? b : c;                                             \
    }                                                                                                             \
  }                                                                                                               \
  TANGRAD_WIDE static void add_to(T* total, const T* x, int64_t size) {                                           \
    for (int64_t i = 0; i < size; ++i) total[i] += x[i];                                                          \
  }                                                                                                               \
  TANGRAD_WIDE static void add_product_to(T* total, const T* x, const T* z, int64_t size) {                       \
    for (int64_t i = 0; i < size; ++i) total[i] += x[i] * z[i];                                                   \
  }                                                                                                               \
  TANGRAD_WIDE static T row_sum(const T* x, int64_t size) { return sum_of(x, size); }                             \
  TANGRAD_WIDE static T row_product(const T* x, const T* z, int64_t size) { return sum_of_products(x, z, size); } \
  TANGRAD_WIDE static T row_maximum(const T* x, int64_t size) {                                                   \
    return any_nan(x, size) ? std::numeric_limits<T>::quiet_NaN() : greatest_of(x, size);                         \
  }

TANGRAD_ROWS(float)
TANGRAD_ROWS(double)

TANGRAD_WIDE static void softmax_of(const float* x, float* y, int64_t size) { softmax_row(x, y, size); }
static void softmax_of(const double*, double*, int64_t) {}  // which no plan has

// --- programs ----------------------------------------------------------------------------------------------------------

struct Shape {
  int64_t rows, columns;
};

template <typename T>
struct Place {  // where an operand is, and the steps from row to row and from element to element
  T* data;
  int64_t row, element;
};

template <typename T>
void compute(int64_t operation, Place<T> x, Place<T> z, T* y, int64_t size) {
  switch (operation) {
    case kAdd:
      return add(x.data, x.element, z.data, z.element, y, size);
    case kSubtract:
      return subtract(x.data, x.element, z.data, z.element, y, size);
    case kMultiply:
      return multiply(x.data, x.element, z.data, z.element, y, size);
    case kDivide:
      return divide(x.data, x.element, z.data, z.element, y, size);
    case kMaximum:
      return maximum(x.data, x.element, z.data, z.element, y, size);
    case kMinimum:
      return minimum(x.data, x.element, z.data, z.element, y, size);
    case kNegate:
      return negate(x.data, x.element, z.data, z.element, y, size);
    case kRoot:
      return root(x.data, x.element, z.data, z.element, y, size);
    case kExp:
      return power(x.data, x.element, z.data, z.element, y, size);
    case kLog:
      return logarithm(x.data, x.element, z.data, z.element, y, size);
    case kInverseRoot:
      return inverse_root(x.data, x.element, z.data, z.element, y, size);
    default:
      return tangent(x.data, x.element, z.data, z.element, y, size);
  }
}

template <typename T>
class Program {
 public:
  Program(Plan plan, Inputs in, Outputs out)
      : shape_{plan[1], plan[2]},
        operands_(plan[3]),
        temporaries_(plan[4]),
        results_(plan[5]),
        instructions_(plan[6]),
        kinds_(plan + 7),
        code_(kinds_ + operands_ + temporaries_ + results_),
        in_(in),
        out_(out),
        height_(std::max<int64_t>(1, kBlock / std::max<int64_t>(1, shape_.columns))),
        part_(std::max(height_, kLittle / std::max<int64_t>(1, shape_.columns))) {}

  int run() {
    const int64_t parts = std::max<int64_t>(1, (shape_.rows + part_ - 1) / part_), sums = column_sums();
    std::unique_ptr<T[]> totals(new (std::nothrow) T[std::max<int64_t>(1, parts * sums * shape_.columns)]());
    if (totals == nullptr) return 1;
    std::atomic<bool> failed{false};
    parallel(parts, [&](int64_t part) {
      if (!run_part(part, totals.get() + part * sums * shape_.columns)) failed.store(true);
    });
    if (failed.load()) return 1;
    const int64_t width = sums * shape_.columns;
    for (int64_t step = 1; step < parts; step *= 2)
      for (int64_t part = 0; part + step < parts; part += 2 * step)
        add_to(totals.get() + part * width, totals.get() + (part + step) * width, width);
    int64_t found = 0;
    for (int64_t i = 0; i < results_; ++i)
      if (kinds_[operands_ + temporaries_ + i] == kOfColumn)
        std::copy_n(totals.get() + found++ * shape_.columns, shape_.columns, static_cast<T*>(out_[i]));
    return 0;
  }

 private:
  int64_t column_sums() const {
    int64_t count = 0;
    for (int64_t i = 0; i < results_; ++i) count += kinds_[operands_ + temporaries_ + i] == kOfColumn;
    return count;
  }

  // Which of the sums of columns a result is.
  int64_t sum_number(int64_t number) const {
    int64_t before = 0;
    for (int64_t i = operands_ + temporaries_; i < number; ++i) before += kinds_[i] == kOfColumn;
    return before;
  }

  bool run_part(int64_t part, T* totals) {
    const int64_t begin = part * part_, end = std::min(shape_.rows, begin + part_);
    const int64_t room = (height_ * shape_.columns * sizeof(T) + kAlign - 1) / kAlign * kAlign / sizeof(T);
    std::unique_ptr<T[]> memory(new (std::nothrow) T[temporaries_ * room + shape_.columns + kAlign]);
    if (memory == nullptr) return false;
    T* aligned = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory.get()) + kAlign - 1) / kAlign * kAlign);
    T* columns = aligned + temporaries_ * room;
    for (int64_t row = begin; row < end; row += height_) {
      const int64_t height = std::min(height_, end - row);
      for (int64_t i = 0; i < instructions_; ++i) execute(code_ + 5 * i, row, height, aligned, room, columns, totals);
    }
    return true;
  }

  Place<T> place(int64_t number, int64_t row, T* memory, int64_t room) const {
    const int64_t kind = kinds_[number];
    T* data;
    int64_t first = row;
    if (number < operands_) {
      data = static_cast<T*>(const_cast<void*>(in_[number]));
    } else if (number < operands_ + temporaries_) {
      data = memory + (number - operands_) * room;
      first = 0;
    } else {
      data = static_cast<T*>(out_[number - operands_ - temporaries_]);
    }
    switch (kind) {
      case kAll:
        return {data + first * shape_.columns, shape_.columns, 1};
      case kOfRow:
        return {data + first, 1, 0};
      case kOfColumn:
        return {data, 0, 1};
      default:
        return {data, 0, 0};
    }
  }

  void execute(const int64_t* code, int64_t row, int64_t height, T* memory, int64_t room, T* columns, T* totals) {
    const int64_t operation = code[0];
    if (operation == kSelect) return choose(code, row, height, memory, room);
    if (operation == kPlace) return put(code, row, height, memory, room);
    const Place<T> x = place(code[2], row, memory, room);
    const Place<T> z = place(code[3], row, memory, room);
    if (operation == kColumnSum || operation == kColumnProduct)
      return add_columns(operation, x, z, height, columns, totals + sum_number(code[1]) * shape_.columns);
    const Place<T> y = place(code[1], row, memory, room);
    if (operation == kRowSum || operation == kRowMaximum || operation == kRowProduct) {
      for (int64_t i = 0; i < height; ++i) {
        const T* values = x.data + i * x.row;
        y.data[i] = operation == kRowSum       ? row_sum(values, shape_.columns)
                    : operation == kRowMaximum ? row_maximum(values, shape_.columns)
                                               : row_product(values, z.data + i * z.row, shape_.columns);
      }
      return;
    }
    if (operation == kSoftmax) {
      for (int64_t i = 0; i < height; ++i) softmax_of(x.data + i * x.row, y.data + i * y.row, shape_.columns);
      return;
    }
    if (y.element == 0) return compute(operation, {x.data, 0, x.row}, {z.data, 0, z.row}, y.data, height);
    const bool is_flat = (x.row != 0) == (x.element != 0) && (z.row != 0) == (z.element != 0);
    if (operation == kMultiplyAdd) {
      const Place<T> w = place(code[4], row, memory, room);
      if (is_flat && (w.row != 0) == (w.element != 0))
        return multiply_add(x.data, z.data, z.element, w.data, w.element, y.data, height * shape_.columns);
      for (int64_t i = 0; i < height; ++i)
        multiply_add(x.data + i * x.row, z.data + i * z.row, z.element, w.data + i * w.row, w.element,
                     y.data + i * y.row, shape_.columns);
      return;
    }
    if (is_flat) return compute(operation, x, z, y.data, height * shape_.columns);
    for (int64_t i = 0; i < height; ++i)
      compute(operation, {x.data + i * x.row, 0, x.element}, {z.data + i * z.row, 0, z.element}, y.data + i * y.row,
              shape_.columns);
  }

  void choose(const int64_t* code, int64_t row, int64_t height, T* memory, int64_t room) const {
    const uint8_t* mask = static_cast<const uint8_t*>(in_[code[2]]);
    const int64_t step = kinds_[code[2]] == kAll ? shape_.columns : 0;
    const Place<T> z = place(code[3], row, memory, room), w = place(code[4], row, memory, room);
    const Place<T> y = place(code[1], row, memory, room);
    for (int64_t i = 0; i < height; ++i)
      select(mask + (row + i) * step, z.data + i * z.row, z.element, w.data + i * w.row, w.element, y.data + i * y.row,
             shape_.columns);
  }

  void put(const int64_t* code, int64_t row, int64_t height, T* memory, int64_t room) const {
    const int32_t* columns = static_cast<const int32_t*>(in_[code[2]]) + row;
    const Place<T> z = place(code[3], row, memory, room), y = place(code[1], row, memory, room);
    std::fill_n(y.data, height * shape_.columns, T(0));
    for (int64_t i = 0; i < height; ++i)
      if (columns[i] >= 0 && columns[i] < shape_.columns) y.data[i * y.row + columns[i]] = T(0) + z.data[i * z.row];
  }

  // Of a block, or of two multiplied, onto the total of a part: directly where that is of few rows.
  void add_columns(int64_t operation, Place<T> x, Place<T> z, int64_t height, T* columns, T* total) {
    T* sums = part_ <= kChain ? total : columns;
    if (sums == columns) std::fill_n(columns, shape_.columns, T(0));
    for (int64_t i = 0; i < height; ++i) {
      if (operation == kColumnSum)
        add_to(sums, x.data + i * x.row, shape_.columns);
      else
        add_product_to(sums, x.data + i * x.row, z.data + i * z.row, shape_.columns);
    }
    if (sums == columns) add_to(total, columns, shape_.columns);
  }

  const Shape shape_;
  const int64_t operands_, temporaries_, results_, instructions_;
  const int64_t *kinds_, *code_;
  Inputs in_;
  Outputs out_;
  const int64_t height_, part_;
};

// --- operations of matrices of which one is transposed -----------------------------------------------------------------

constexpr int64_t kTall = 128, kWide = 128;  // a tile

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define TANGRAD_SHUFFLES
#endif
#endif

#if defined(TANGRAD_SHUFFLES)
typedef float Eight __attribute__((vector_size(32)));
typedef double Four __attribute__((vector_size(32)));

// Exchanges the off-diagonal blocks of 1, 2, 4 elements in turn.
TANGRAD_INLINE void transpose_block(const float* x, int64_t x_step, float* y, int64_t y_step) {
  Eight v[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&v[i], x + i * x_step, sizeof(Eight));
  for (int i = 0; i < 8; i += 2) {
    const Eight a = v[i], b = v[i + 1];
    v[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
    v[i + 1] = __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += i % 2 == 0 ? 1 : 3) {
    const Eight a = v[i], b = v[i + 2];
    v[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    v[i + 2] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    const Eight low = __builtin_shufflevector(v[i], v[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    const Eight high = __builtin_shufflevector(v[i], v[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    std::memcpy(y + i * y_step, &low, sizeof(Eight));
    std::memcpy(y + (i + 4) * y_step, &high, sizeof(Eight));
  }
}

TANGRAD_INLINE void transpose_block(const double* x, int64_t x_step, double* y, int64_t y_step) {
  Four v[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&v[i], x + i * x_step, sizeof(Four));
  for (int i = 0; i < 4; i += 2) {
    const Four a = v[i], b = v[i + 1];
    v[i] = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    v[i + 1] = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  }
  for (int i = 0; i < 2; ++i) {
    const Four low = __builtin_shufflevector(v[i], v[i + 2], 0, 1, 4, 5);
    const Four high = __builtin_shufflevector(v[i], v[i + 2], 2, 3, 6, 7);
    std::memcpy(y + i * y_step, &low, sizeof(Four));
    std::memcpy(y + (i + 2) * y_step, &high, sizeof(Four));
  }
}
#endif

// The transpose of a tile, whose columns are `x_step` apart. No column is on the page of the one before, where
// processors would fetch it by themselves: some columns ahead are asked for.
#define TANGRAD_TURNED(T)                                                                                          \
  TANGRAD_WIDE static void turn(const T* x, int64_t x_step, T* y, int64_t y_step, int64_t height, int64_t width) { \
    constexpr int64_t kLanes = 32 / sizeof(T), kLine = kAlign / sizeof(T), kAhead = 16;                            \
    int64_t column = 0;                                                                                            \
    TANGRAD_TURN_BLOCKS                                                                                            \
    for (; column < width; ++column)                                                                               \
      for (int64_t row = 0; row < height; ++row) y[row * y_step + column] = x[column * x_step + row];              \
  }
#if defined(TANGRAD_SHUFFLES)
#define TANGRAD_TURN_BLOCKS                                                                                        \
  for (; column + kLanes <= width; column += kLanes) {                                                             \
    for (int64_t i = column + kAhead; i < std::min(column + kAhead + kLanes, width); ++i)                          \
      for (int64_t row = 0; row < height; row += kLine) __builtin_prefetch(x + i * x_step + row);                  \
    int64_t row = 0;                                                                                               \
    for (; row + kLanes <= height; row += kLanes)                                                                  \
      transpose_block(x + column * x_step + row, x_step, y + row * y_step + column, y_step);                       \
    for (; row < height; ++row)                                                                                    \
      for (int64_t i = column; i < column + kLanes; ++i) y[row * y_step + i] = x[i * x_step + row];                \
  }
#else
#define TANGRAD_TURN_BLOCKS
#endif
TANGRAD_TURNED(float)
TANGRAD_TURNED(double)

// y = x OPERATION z. What is transposed is read in tiles: along its columns each element is in another line of the cache.
template <typename T>
void operate_in_tiles(Plan plan, const T* x, const T* z, T* y) {
  constexpr int64_t kGap = kAlign / sizeof(T);
  const int64_t operation = plan[1], rows = plan[3], columns = plan[4], bands = (rows + kTall - 1) / kTall;
  const int turned = plan[5] == 1 ? 0 : 1;
  parallel(plan[2] * bands, [&](int64_t i) {
    alignas(kAlign) T tile[kTall * (kWide + kGap)];
    const int64_t top = i % bands * kTall, height = std::min(kTall, rows - top), matrix = i / bands * rows * columns;
    for (int64_t left = 0; left < columns; left += kWide) {
      const int64_t width = std::min(kWide, columns - left);
      Place<T> places[2];
      for (int k = 0; k < 2; ++k) {
        T* data = const_cast<T*>(k == 0 ? x : z) + matrix;
        places[k] = {data + top * columns + left, columns, 1};
        if (k != turned) continue;
        turn(data + left * rows + top, rows, tile, kWide + kGap, height, width);
        places[k] = {tile, kWide + kGap, 1};
      }
      for (int64_t row = 0; row < height; ++row)
        compute(operation, {places[0].data + row * places[0].row, 0, 1}, {places[1].data + row * places[1].row, 0, 1},
                y + matrix + (top + row) * columns + left, width);
    }
  });
}

}  // namespace
}  // namespace tangrad

// plan: dtype, operation of two elements, matrices, rows, columns, which of the two is transposed (1 or 2).
TANGRAD_KERNEL(tiles) {
  using namespace tangrad;
  if (plan[0] == F32)
    operate_in_tiles(plan, static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), static_cast<float*>(out[0]));
  else
    operate_in_tiles(plan, static_cast<const double*>(in[0]), static_cast<const double*>(in[1]),
                     static_cast<double*>(out[0]));
  return 0;
}

TANGRAD_KERNEL(rows) {
  using namespace tangrad;
  return plan[0] == F32 ? Program<float>(plan, in, out).run() : Program<double>(plan, in, out).run();
}

// exp(x) / sum(exp(x)) of rows. plan: dtype (F32 or BF16), rows, and the elements of one.
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
