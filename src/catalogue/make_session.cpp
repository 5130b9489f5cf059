#include "catalogue/make_session.hpp"

#include <ATen/Parallel.h>

#include <cstdlib>
#include <string>

#include "catalogue/catalogue.hpp"
#include "engine/engine.hpp"
#include "engine/plugins.hpp"

namespace omnirt {

std::unique_ptr<Session> make_session(bool single_run,
                                      const std::vector<std::filesystem::path>& plugins) {
  Catalogue catalogue = builtin_catalogue();
  for (const std::filesystem::path& file : plugins) load_plugin(catalogue, file);
  return std::make_unique<Session>(std::make_unique<Engine>(std::move(catalogue)), single_run);
}

// The kernels' team is made at its first use, of the size that the variable says; libtorch's serves
// the references.
void limit_threads(int count) {
  setenv("OMP_NUM_THREADS", std::to_string(count).c_str(), /*overwrite=*/1);
  at::set_num_threads(count);
}

}  // namespace omnirt
