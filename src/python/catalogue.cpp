#include "python/catalogue.hpp"

#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "catalogue/catalogue.hpp"
#include "engine/engine.hpp"
#include "engine/plugins.hpp"
#include "engine/session.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/block_list.hpp"
#include "python/block.hpp"
#include "python/parts.hpp"

namespace omnirt::python {
namespace {

Json parsed(const std::string& spec) {
  return parse_json(spec, "declaration");
}

// An edit that leaves the catalogue as it was where it does not fit.
template <class Edit>
void edit(Catalogue& catalogue, Edit&& make) {
  Catalogue edited = catalogue;
  make(edited);
  std::vector<Finding> problems = check_catalogue(edited);
  if (!problems.empty()) throw InvalidRequest(std::move(problems));
  catalogue = std::move(edited);
}

void place_block(Catalogue& catalogue, const std::string& family, const std::string& where,
                 const std::string& name, const BlockHandle& made) {
  edit(catalogue, [&](Catalogue& edited) {
    BlockList& list = edited.family(family).blocks;
    if (where == "before") {
      insert_before(list, name, made.block);
    } else if (where == "after") {
      insert_after(list, name, made.block);
    } else {
      replace(list, name, made.block);
    }
  });
}

void add_guider(Catalogue& catalogue, const std::string& spec, nb::object make) {
  GuiderInfo info = make_guider(parsed(spec), std::move(make));
  edit(catalogue, [&](Catalogue& edited) { edited.guiders.push_back(info); });
}

// Whether an entry lists schedulers that are made for the same.
bool suits(const Catalogue& catalogue, const ModelSpec& entry, const SchedulerInfo& info) {
  return std::ranges::any_of(entry.supported_schedulers, [&](const std::string& name) {
    const SchedulerInfo* listed = catalogue.find_scheduler(name);
    return listed && listed->made_for == info.made_for;
  });
}

void add_scheduler(Catalogue& catalogue, const std::string& spec, nb::object make) {
  SchedulerInfo info = make_scheduler(parsed(spec), std::move(make));
  edit(catalogue, [&](Catalogue& edited) {
    edited.schedulers.push_back(info);
    for (Family& family : edited.families) {
      for (ModelSpec& entry : family.entries) {
        if (suits(edited, entry, info)) entry.supported_schedulers.push_back(info.class_name);
      }
    }
  });
}

void replace_network(Catalogue& catalogue, const std::string& class_name, nb::object module) {
  auto found = std::ranges::find(catalogue.networks, class_name, &nn::NetworkInfo::class_name);
  if (found == catalogue.networks.end() || found->role != "denoiser") {
    throw Unsupported({"components", class_name,
                       "a torch module takes the place of a denoiser, and this is none",
                       "give the component's folder to the request"});
  }
  *found = make_network(*found, std::move(module));
}

std::vector<std::string> names_of(Catalogue& catalogue, const std::string& family,
                                  const std::string& inside) {
  const BlockList& list = catalogue.family(family).blocks;
  return block_names(inside.empty() ? list : block_of(list, inside)->inner());
}

}  // namespace

void bind_catalogue(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Catalogue>(m, "Catalogue")
      .def("place_block", place_block, "family"_a, "where"_a, "name"_a, "block"_a)
      .def(
          "block",
          [](Catalogue& catalogue, const std::string& family, const std::string& name) {
            return BlockHandle{block_of(catalogue.family(family).blocks, name)};
          },
          "family"_a, "name"_a)
      .def(
          "remove_block",
          [](Catalogue& catalogue, const std::string& family, const std::string& name) {
            edit(catalogue, [&](Catalogue& edited) { remove(edited.family(family).blocks, name); });
          },
          "family"_a, "name"_a)
      .def("block_names", names_of, "family"_a, "inside"_a)
      .def("add_guider", add_guider, "spec"_a, "make"_a)
      .def("add_scheduler", add_scheduler, "spec"_a, "make"_a)
      .def("replace_network", replace_network, "class_name"_a, "module"_a)
      .def("copy",
           [](const Catalogue& catalogue) { return std::make_shared<Catalogue>(catalogue); })
      .def("session", [](const Catalogue& catalogue) {
        return std::make_shared<Session>(std::make_unique<Engine>(catalogue));
      });
  m.def("catalogue", [] { return std::make_shared<Catalogue>(builtin_catalogue()); });
}

}  // namespace omnirt::python
