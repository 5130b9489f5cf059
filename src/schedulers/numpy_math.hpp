#pragma once
#include <cstdint>
#include <span>
#include <vector>

// The few numpy functions that the reference plans its schedules with, to the bit: timesteps are
// rounded or cut to whole numbers afterwards, so a last bit can become a whole step.
namespace omnirt::np {

// numpy.linspace in float64: n values from start to stop, both included (n = 1: start alone).
std::vector<double> linspace(double start, double stop, int64_t n);
// numpy.arange for floats. Its length is a rounded-up quotient, so it can hold one value more than
// (stop - start) / step says.
std::vector<double> arange(double start, double stop, double step);
// numpy.interp over the points (0, table[0]), (1, table[1]), ...; flat beyond both ends.
double interp(double x, std::span<const float> table);
// numpy.round: halves go to the even neighbour.
double round(double x);
// numpy.log of a float32 on x86 with FMA; it is not the correctly rounded one. x > 0, normal.
float log(float x);

}  // namespace omnirt::np
