// The end of a program that throws without exceptions: short, in place of libstdc++'s, which brings
// a demangler of 60 KB. Only operator new throws here, out of memory.
#include <cstdlib>

// NOLINTBEGIN(cert-dcl58-cpp,bugprone-reserved-identifier): the library's own names for it
namespace __gnu_cxx {

void __verbose_terminate_handler();
void __verbose_terminate_handler() { std::abort(); }

}  // namespace __gnu_cxx
// NOLINTEND(cert-dcl58-cpp,bugprone-reserved-identifier)
