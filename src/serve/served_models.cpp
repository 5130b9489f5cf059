#include "serve/served_models.hpp"

#include "base/error.hpp"
#include "request/model_search.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// A folder or file by its absolute path, whatever the working directory is later.
std::string settled(const Session& session, const std::string& model) {
  session.model(model);  // throws where there is none
  const bool is_path = model.find('/') != std::string::npos && is_there(model);
  return is_path ? fs::absolute(model).lexically_normal().string() : model;
}

void add_named(const Session& session, const std::string& text, ServedModels& into) {
  const size_t equals = text.find('=');
  const std::string model = equals == std::string::npos ? text : text.substr(equals + 1);
  std::string name = equals == std::string::npos ? model : text.substr(0, equals);
  // A folder without a name goes by its own.
  if (name.find('/') != std::string::npos)
    name = fs::path(name).lexically_normal().filename().string();
  if (name.empty() || name.size() > 200)
    throw InvalidRequest({"--model", text, "has no name", "give NAME=FOLDER"});
  if (!into.models.emplace(name, settled(session, model)).second)
    throw InvalidRequest({"--model", text, "the name is there already", "give NAME=FOLDER"});
  if (into.first.empty()) into.first = name;
}

void add_all(const Session& session, ServedModels& into) {
  for (const Json& entry : session.models()) {
    if (!entry.value("found_at", "").empty())
      into.models.emplace(entry["id"].get<std::string>(), entry["id"].get<std::string>());
  }
  for (const Json& found : session.models_here())
    into.models.emplace(found["name"].get<std::string>(), found["path"].get<std::string>());
  const std::string usual = session.model("").value("id", "");
  if (into.models.contains(usual)) into.first = usual;
  if (into.first.empty() && !into.models.empty()) into.first = into.models.begin()->first;
}

}  // namespace

ServedModels find_served_models(const Session& session, const std::vector<std::string>& names,
                                const std::vector<std::string>& lora_folders) {
  ServedModels models;
  for (const std::string& name : names) add_named(session, name, models);
  if (names.empty()) add_all(session, models);
  if (models.models.empty())
    throw InvalidRequest({"--model", "", "no model is here", "name one, or set OMNIRT_MODELS"});
  for (const std::string& folder : lora_folders) {
    std::error_code error;
    if (!fs::is_directory(folder, error))
      throw InvalidRequest({"--lora-dir", folder, "there is no such folder", "name one"});
    models.lora_folders.push_back(fs::absolute(folder).lexically_normal());
  }
  return models;
}

std::map<fs::path, std::string> names_of_folders(const Session& session,
                                                 const ServedModels& models) {
  std::map<fs::path, std::string> names;
  for (const auto& [name, model] : models.models) {
    const Json described = session.model(model);
    names.emplace(fs::absolute(described["tasks"][0]["found_at"].get<std::string>()), name);
  }
  return names;
}

}  // namespace omnirt::serve
