// Owners of the objects of C libraries.
#pragma once

namespace bandana {

// Deleter of a std::unique_ptr: std::unique_ptr<X509, FreeWith<X509_free>>.
template <auto function>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    function(object);
  }
};

}  // namespace bandana
