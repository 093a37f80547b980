// The end of a program that throws without exceptions: short, in place of libstdc++'s, which brings
// a demangler of 60 KB. Only operator new throws here, out of memory.
#include <cstdlib>

namespace __gnu_cxx {  // NOLINT(cert-dcl58-cpp): the library's own name for it

void __verbose_terminate_handler();
void __verbose_terminate_handler() { std::abort(); }

}  // namespace __gnu_cxx
