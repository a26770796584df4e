package bpf

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target bpfel Live live.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
