// Memory that is kept for later use and can be given back when a device has none left, such as the frames of a
// session that no Run uses.
#pragma once

#include <memory>

namespace tenon::runtime {

class Device;
struct IdleMemoryEntry;

/// Something that keeps memory of devices. An implementation is final and has a Registration as its last member.
class IdleMemory {
 public:
  IdleMemory() = default;
  virtual ~IdleMemory() = default;
  IdleMemory(const IdleMemory&) = delete;
  IdleMemory& operator=(const IdleMemory&) = delete;

  /// Frees memory of `device` that nobody uses at the moment; false when there was none. Called from any thread, one
  /// call at a time for each object, inside of Buffer::allocate. It allocates nothing. A lock that it takes must not be
  /// held by anyone who allocates.
  virtual bool drop_idle(const Device& device) = 0;

  /// Lets Buffer::allocate find an object. The destructor waits for a call of drop_idle that is under way. As the last
  /// member it is made when the object is complete and destroyed while it still is.
  class Registration {
   public:
    explicit Registration(IdleMemory& object);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    std::shared_ptr<IdleMemoryEntry> entry_;
  };
};

/// Asks every registered object. True when one of them freed something.
bool drop_idle_memory(const Device& device);

}  // namespace tenon::runtime
