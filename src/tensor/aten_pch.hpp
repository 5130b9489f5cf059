#pragma once
// What nearly every file on libtorch reads, compiled once. Files still include what they use.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>
