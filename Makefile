# The front of the build: each target does the set-up that it needs, then calls meson and ninja,
# which may as well be used directly. On a machine with more than two cores: make JOBS=8 ...
JOBS ?= 2

.DEFAULT_GOAL := build
.PHONY: build demo test test-long clean help

build:
	@scripts/setup.sh build
	@test -f build/build.ninja || meson setup build
	@ninja -C build -j $(JOBS)
	@scripts/where.sh build

# A build folder that was made before TurboJPEG was there is looked through again.
demo:
	@scripts/setup.sh demo
	@test -f build/build.ninja || meson setup build
	@ninja -C build -j $(JOBS)
	@test -x build/examples/mobilenet/train_mobilenet || \
		{ meson configure build --clearcache && meson setup --reconfigure build && \
		ninja -C build -j $(JOBS); }
	@scripts/demo.sh

test:
	@scripts/setup.sh test
	@JOBS=$(JOBS) scripts/test.sh

test-long:
	@scripts/setup.sh long
	@JOBS=$(JOBS) scripts/test-long.sh

clean:
	@rm -rf build build-asan build-tsan build-clang build-neon

help:
	@echo 'make            the library and the command, in build/'
	@echo 'make demo       from nothing to a trained network, in build/demo/'
	@echo 'make test       all tests: plain, with sanitizers, and a build with clang'
	@echo 'make test-long  the random tests with 20 times the cases, the code of all kernels, ARM'
	@echo 'make clean      removes build/ and the other build folders'
	@echo 'JOBS=N          N jobs at a time (now $(JOBS))'
