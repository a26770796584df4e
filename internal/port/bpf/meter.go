package bpf

//go:generate go tool bpf2go -target bpfel -type account -type slot -type period -type moments Meter meter.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu
