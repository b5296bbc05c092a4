// Lists of what a Run has one of per input or output.
#pragma once

#include <boost/container/small_vector.hpp>
#include <span>

namespace tenon {

/// As std::vector, but up to four elements need no memory of the heap.
template <class T>
using Few = boost::container::small_vector<T, 4>;

template <class T>
std::span<T> span_of(Few<T>& few) {
  return {few.data(), few.size()};
}

}  // namespace tenon
