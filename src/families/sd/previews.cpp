#include "families/sd/previews.hpp"

namespace omnirt::families {
namespace {

// Least squares over decoded latents, as the field uses them (ComfyUI, latent_formats.SD15).
PreviewMeans stable_diffusion() {
  return {.colours = {{0.3512, 0.2297, 0.3227},
                      {0.3250, 0.4974, 0.2350},
                      {-0.2829, 0.1762, 0.2721},
                      {-0.2120, -0.2616, -0.7177}},
          .bias = {},
          .tiny = "madebyollin/taesd"};
}

// The same over pictures of the embedded model: tools/goldens/preview_colours.py.
PreviewMeans emoji() {
  return {.colours = {{0.007, 0.032, -0.016},   {0.009, -0.016, 0.028},   {-0.054, -0.007, 0.095},
                      {0.071, 0.147, 0.188},    {0.009, -0.019, -0.006},  {0.017, 0.019, -0.001},
                      {-0.058, 0.094, -0.070},  {0.034, 0.045, 0.050},    {-0.173, -0.121, -0.014},
                      {-0.009, 0.026, 0.018},   {-0.002, -0.021, -0.007}, {0.065, 0.002, -0.090},
                      {-0.011, 0.022, 0.051},   {-0.023, 0.000, -0.023},  {-0.060, -0.034, 0.025},
                      {-0.065, 0.027, 0.033},   {0.134, 0.083, 0.072},    {0.055, 0.045, 0.051},
                      {-0.040, -0.021, -0.003}, {0.086, -0.043, 0.032},   {-0.086, -0.066, -0.017},
                      {0.020, -0.057, -0.068},  {-0.038, -0.025, 0.025},  {-0.015, -0.019, -0.032},
                      {-0.010, 0.026, -0.001},  {0.001, -0.076, -0.017},  {-0.006, -0.006, 0.023},
                      {0.041, 0.043, 0.007},    {-0.019, -0.028, -0.035}, {-0.039, 0.026, 0.050},
                      {0.063, 0.033, 0.051},    {0.026, -0.015, -0.007}},
          .bias = {0.216, 0.100, -0.013},
          .tiny = "vae"};  // is tiny itself
}

}  // namespace

std::map<std::string, PreviewMeans> sd_previews() {
  return {{"", stable_diffusion()}, {"emoji", emoji()}};
}

}  // namespace omnirt::families
