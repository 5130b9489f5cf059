# torch's wheel with CUDA lies beside NVIDIA's own, which hold the CUDA runtime and no compiler. Torch's config asks for a
# whole toolkit unless its target for the runtime is there already; nothing here is compiled for the device, so the runtime
# is enough. Used by this build and installed for others, whose find_package(omnirt) finds the same libtorch.

# omnirt_cudart_beside(<prefix of a libtorch>): before find_package(Torch). Sets OMNIRT_CUDA_HEADERS to FALSE where the
# headers are not whole: torch's wheel does not ask for the part of them in crt/.
function(omnirt_cudart_beside torch)
  file(GLOB libraries ${torch}/../nvidia/cu*/lib/libcudart.so.*)
  if(NOT libraries OR NOT EXISTS ${torch}/lib/libtorch_cuda.so OR TARGET torch::cudart)
    return()
  endif()
  list(GET libraries 0 library)
  cmake_path(SET headers NORMALIZE ${library}/../../include)
  add_library(torch::cudart INTERFACE IMPORTED GLOBAL)
  target_include_directories(torch::cudart SYSTEM INTERFACE ${headers})
  target_link_libraries(torch::cudart INTERFACE ${library})
  if(NOT EXISTS ${headers}/crt/host_config.h)
    set(OMNIRT_CUDA_HEADERS FALSE PARENT_SCOPE)
  endif()
endfunction()
