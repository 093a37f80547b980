// Compiled with client/include as the only include folder of the project.
#include <bandana/client.h>
#include <bandana/options.h>
#include <bandana/store.h>
