// Numbers as unsigned integers in their order: `Key<bits, kind>` for the bits of each dtype.
//
// Among floats both zeros are equal, and all NaN, which are greater than infinity: their ranks do not say which they
// were. `kTotal` is the other order, that of the bits: -0.0 before 0.0, NaN with the sign bit before all others.

#pragma once

#include <cstdint>
#include <type_traits>

#include "kernel.h"

namespace tangrad {

enum class Kind { kUnsigned, kSigned, kFloat };

template <typename B, Kind kKind, B kInfinity = 0>
struct Key {
  using Bits = B;
  using Rank = std::conditional_t<sizeof(B) == 8, uint64_t, uint32_t>;
  static constexpr B kSign = static_cast<B>(B{1} << (8 * sizeof(B) - 1));
  static constexpr B kNaN = static_cast<B>(~B{0});

  // Without branches, so that many are found at once.
  static B all_if(bool condition) { return static_cast<B>(B{0} - static_cast<B>(condition)); }
  static constexpr int kLast = 8 * sizeof(B) - 1;
  static Rank total(B x) {
    if (kKind == Kind::kUnsigned) return x;
    if (kKind == Kind::kSigned) return static_cast<B>(x ^ kSign);
    const B negative = static_cast<B>(B{0} - static_cast<B>(x >> kLast));
    return static_cast<B>(x ^ (negative | kSign));
  }
  static Rank rank(B x) {
    if (kKind != Kind::kFloat) return total(x);
    const B plain = static_cast<B>(x & ~all_if(x == kSign)), size = static_cast<B>(x & ~kSign);
    return static_cast<B>(total(plain) | all_if(size > kInfinity));
  }
  static B back(Rank rank) {
    const B x = static_cast<B>(rank);
    if (kKind == Kind::kUnsigned) return x;
    if (kKind == Kind::kSigned) return static_cast<B>(x ^ kSign);
    const B negative = static_cast<B>(static_cast<B>(x >> kLast) - 1);
    return static_cast<B>(x ^ (negative | kSign));
  }
  // Whether the rank does not say what it was.
  static bool is_special(B x) {
    return kKind == Kind::kFloat && ((x == kSign) | (static_cast<B>(x & ~kSign) > kInfinity));
  }
};

// Calls `act` with the key of a dtype, and returns what it returns.
template <typename Act>
int with_key(int64_t dtype, const Act& act) {
  switch (dtype) {
    case F32: return act(Key<uint32_t, Kind::kFloat, 0x7f800000u>());
    case F64: return act(Key<uint64_t, Kind::kFloat, 0x7ff0000000000000u>());
    case F16: return act(Key<uint16_t, Kind::kFloat, 0x7c00u>());
    case BF16: return act(Key<uint16_t, Kind::kFloat, 0x7f80u>());
    case I8: return act(Key<uint8_t, Kind::kSigned>());
    case I16: return act(Key<uint16_t, Kind::kSigned>());
    case I32: return act(Key<uint32_t, Kind::kSigned>());
    case I64: return act(Key<uint64_t, Kind::kSigned>());
    case U8: return act(Key<uint8_t, Kind::kUnsigned>());
    case U16: return act(Key<uint16_t, Kind::kUnsigned>());
    case U32: return act(Key<uint32_t, Kind::kUnsigned>());
    default: return act(Key<uint64_t, Kind::kUnsigned>());
  }
}

}  // namespace tangrad
