#pragma once
#include <torch/headeronly/version.h>

#include <omnirt_abi.hpp>

#include "pipeline/block_list.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/model_spec.hpp"

// What a plug-in includes, next to the shared blocks that it takes (blocks/). A plug-in is a shared
// library that exports one function:
//
//   extern "C" omnirt::Plugin omnirt_plugin() {
//     return {.name = "match_colours", .add = [](omnirt::Catalogue& catalogue) { ... }};
//   }
//
// `add` edits the catalogue: blocks into a family's list, whole families, networks, schedulers,
// guiders. docs/blocks.md and docs/adding-a-model.md show how one is written and built.
namespace omnirt {

#define OMNIRT_TEXT_OF(x) #x
#define OMNIRT_TEXT(x) OMNIRT_TEXT_OF(x)

// C++ types cross the border, so both sides must agree in all that determines their layout: the
// headers of this project, libtorch, the compiler's ABI. The marker at its front is looked for in
// the file before it is loaded.
inline constexpr const char* plugin_abi =
    "omnirt-plugin-abi:" OMNIRT_ABI ", libtorch " OMNIRT_TEXT(TORCH_VERSION_MAJOR) "." OMNIRT_TEXT(
        TORCH_VERSION_MINOR) "." OMNIRT_TEXT(TORCH_VERSION_PATCH) ", C++ ABI " OMNIRT_TEXT(__GXX_ABI_VERSION);

struct Plugin {
  const char* abi = plugin_abi;  // set where the plug-in was compiled; stays the first member
  const char* name = "";
  void (*add)(Catalogue& catalogue) = nullptr;
};

}  // namespace omnirt

// Both sides are C++ of one compiler (plugin_abi); only the name is C's.
// NOLINTNEXTLINE(clang-diagnostic-return-type-c-linkage)
extern "C" omnirt::Plugin omnirt_plugin();
