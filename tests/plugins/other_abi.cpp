// A plug-in as one made for another omnirt looks.
#include "pipeline/plugin.hpp"

extern "C" omnirt::Plugin omnirt_plugin() {
  return {.abi = "omnirt-plugin-abi:omnirt 9.9.9 (headers 0123456789abcdef), libtorch 1.2.3",
          .name = "other_abi",
          .add = nullptr};
}
