// split(x, N): a vector in N pieces of whole 16-byte units, the trailing ones perhaps short or empty. split_rows(m, N): the
// rows of a matrix in N pieces.
#pragma once

#include "coll/launch.h"

namespace coll {

/// The pieces of a vector of elements of T. With Shape::kWhole all are full, and `begin` and `size` cost nothing.
template <class Shape, class T, int N>
struct Pieces {
  u64 length; ///< elements of the whole
  u64 piece;  ///< elements of a full piece

  __device__ explicit Pieces(u64 elements) : length(elements) {
    constexpr u64 kUnit = 16 / sizeof(T);
    if constexpr (Shape::kOne) piece = u32(elements) / N;
    else if constexpr (Shape::kWhole) piece = elements / N;
    else piece = ((elements + N - 1) / N + kUnit - 1) / kUnit * kUnit;
  }

  __device__ u64 begin(u32 r) const { return Shape::kWhole || r * piece < length ? r * piece : length; }
  __device__ u64 size(u32 r) const {
    if constexpr (Shape::kWhole) return piece;
    const u64 rest = length - begin(r);
    return rest < piece ? rest : piece;
  }
};

/// The same of rows: of a matrix with so many, piece r has a full piece's rows from row begin(r) on, as far as there are any.
template <int N>
struct RowPieces {
  u64 all;  ///< rows of the matrix
  u64 rows; ///< of a full piece

  __device__ explicit RowPieces(u64 all) : all(all), rows((all + N - 1) / N) {}

  __device__ u64 begin(u32 r) const { return r * rows; }
  /// Whether piece r has a row of this number; the same for all threads of the row.
  __device__ bool has(u32 r, u64 row) const { return begin(r) + row < all; }
};

} // namespace coll
