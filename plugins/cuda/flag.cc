#include "flag.h"

#include <new>

#include "tenon/ep/device/indices.hpp"

namespace tenon::cuda {

IndexFlag::IndexFlag(const Instance& instance, std::string place)
    : place_(std::move(place)), words_(instance.device.staging_memory(), sizeof(ep::IndexReport)) {
  new (words_.get().address) ep::IndexReport;
}

std::optional<ep::Error> IndexFlag::take() {
  return ep::take_report(*reinterpret_cast<ep::IndexReport*>(words_.get().address), place_);
}

}  // namespace tenon::cuda
