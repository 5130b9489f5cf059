#pragma once
#include "hub/listing.hpp"
#include "hub/repository_cache.hpp"

namespace omnirt::hub {

// The files that a snapshot in the cache holds, as the hub would list them. Throws InvalidFile,
// naming the file, for a link to a blob that is missing.
Listing listing_of_cached(const RepositoryCache& cache, const std::string& commit);

}  // namespace omnirt::hub
