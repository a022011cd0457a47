// What every kernel includes: the instruction set it is compiled for, and plain helpers.
//
// Files in this folder are compiled once per instruction set (CMakeLists.txt), with VARFOCUS_SET the
// namespace of the set and VARFOCUS_LANES its floats per register. The linker keeps one copy of
// each inline function or template that it finds under one name, and must not find one that needs
// AVX where everybody may call it. Therefore nothing here is shared by name: everything is in the
// set's namespace or in an unnamed one, or always inlined; no templates of the standard library
// (its vector, min, copy, atomic …) are used, only its C functions. `make symbols` checks the
// object files. Each file exports one function, which enters its kernels into the table.
#pragma once

#include <math.h>
#include <string.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "../kernels.hpp"
#include "../simd.hpp"

namespace varfocus {
namespace VARFOCUS_SET {

// Written as comparisons, these are one instruction each.
VARFOCUS_INLINE float smaller(float a, float b) { return a < b ? a : b; }
VARFOCUS_INLINE float larger(float a, float b) { return a > b ? a : b; }
VARFOCUS_INLINE int smaller(int a, int b) { return a < b ? a : b; }
VARFOCUS_INLINE int larger(int a, int b) { return a > b ? a : b; }
VARFOCUS_INLINE int clamped(int x, int low, int high) { return smaller(larger(x, low), high); }

VARFOCUS_INLINE float square_root(float x) { return sqrtf(x); }

template <class T>
VARFOCUS_INLINE void copy_to(T* to, const T* from, std::ptrdiff_t count) {
    if (count > 0) memcpy(to, from, std::size_t(count) * sizeof(T));
}
template <class T>
VARFOCUS_INLINE void fill_with(T* to, std::ptrdiff_t count, T value) {
    for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = value;
}

// Numbers that start where the widest vector should: loads that straddle two cache lines take
// twice as long.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::size_t count, T value = T()) { assign(count, value); }
    Buffer(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_), room_(other.room_) {
        other.data_ = nullptr, other.size_ = other.room_ = 0;
    }
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { release(); }

    void assign(std::size_t count, T value) {
        resize(count);
        fill_with(data_, std::ptrdiff_t(count), value);
    }
    // Makes room; what was there is forgotten if there was less.
    void resize(std::size_t count) {
        if (count > room_) {
            release();
            data_ = static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(64)));
            room_ = count;
        }
        size_ = count;
    }
    T* data() { return data_; }
    const T* data() const { return data_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }

  private:
    void release() {
        if (data_ != nullptr) ::operator delete(data_, std::align_val_t(64));
        data_ = nullptr, room_ = 0;
    }
    T* data_ = nullptr;
    std::size_t size_ = 0, room_ = 0;
};

}  // namespace VARFOCUS_SET
}  // namespace varfocus
