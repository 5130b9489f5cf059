# make demo | test | check | build | lint | bench | install | wheels | cuda | gpu-bundle | docs | sbom. Each does its own set-up. PRESET=debug|asan|tsan picks another build,
# BENCH=full the whole bench.
PRESET ?= release
BUILD := build/$(PRESET)
TORCH_FLAG := $(if $(OMNIRT_TORCH),-DOMNIRT_TORCH=$(OMNIRT_TORCH))

.PHONY: build demo test check lint cuda gpu-bundle bench install wheels docs sbom setup clean
build: setup
	@cmake --preset $(PRESET) $(TORCH_FLAG) > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD) --target omnirt
setup:
	@scripts/setup
demo: build
	@scripts/demo $(BUILD)/omnirt
test: setup
	@cmake --preset $(PRESET) $(TORCH_FLAG) > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	cmake --build $(BUILD)
	ctest --test-dir $(BUILD) --output-on-failure -j 2
# STEP=... runs only these steps (scripts/check lists them), MINUTES=... bounds the time, CHANGED=yes lints only what changed.
check:
	@scripts/check $(if $(MINUTES),--minutes $(MINUTES)) $(if $(CHANGED),--changed) $(STEP)
lint:
	@scripts/setup lint
	@scripts/lint
# The cuda backend, against a libtorch that has CUDA; building it needs no device.
cuda:
	@scripts/setup cuda
	@cmake --preset release -B build/cuda -DOMNIRT_TORCH="$$(echo "$$PWD"/build/cuda-venv/lib/python3*/site-packages/torch)" \
	  > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	cmake --build build/cuda
	build/cuda/omnirt backends
# One folder that tests and measures a machine with a GPU (docs/gpu.md); building it needs none.
gpu-bundle:
	@scripts/gpu_bundle
bench: build
	@scripts/setup bench
	@bench/run $(BUILD)/omnirt $(if $(filter full,$(BENCH)),--full)
install: setup
	@cmake --preset $(PRESET) $(TORCH_FLAG) > build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	cmake --build $(BUILD) --target omnirt omnirt_shared
	cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))
# The Python packages, tested: build/wheels/omnirt-*.whl and build/ops-wheel/omnirt_ops-*.whl.
wheels: setup
	@scripts/setup wheels
	@scripts/wheel_omnirt
	@scripts/setup ops
	@scripts/wheel_ops
# The documentation as a website: build/site.
docs:
	@scripts/build_docs
# A software bill of materials: build/omnirt.spdx.json.
sbom: build
	@scripts/sbom $(BUILD)
clean:
	rm -rf build/release build/debug build/asan build/tsan
