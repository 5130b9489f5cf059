#pragma once
#include <filesystem>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt {

// Loads a plug-in (pipeline/plugin.hpp) and lets it edit `catalogue`; the library stays loaded as
// long as the process. Throws InvalidRequest naming the file: not there, no plug-in, made for
// another omnirt or libtorch, or what it adds does not fit; the catalogue is then as it was.
// A program that loads plug-ins exports its symbols to them: CMake's omnirt_export_to_plugins().
void load_plugin(Catalogue& catalogue, const std::filesystem::path& file);

// The files that OMNIRT_PLUGINS names, separated by colons.
std::vector<std::filesystem::path> plugins_of_environment();

// What does not fit together in a catalogue: names that are there twice, config keys of one name
// and two types, keys of two names and one flag.
std::vector<Finding> check_catalogue(const Catalogue& catalogue);

}  // namespace omnirt
