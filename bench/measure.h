// Readings of the machine for benchmarks.
#pragma once

#include <vector>

namespace bandana::bench {

// CPU time of this thread, in seconds: other programs on the core do not count.
double CpuSeconds();

// Resident memory of this process, in MiB.
double ResidentMib();
// The most that it was, in MiB.
double PeakMib();

// The value that `part` of all values lie below, `part` in [0, 1]; 0 of none.
double Percentile(std::vector<double> values, double part);

}  // namespace bandana::bench
