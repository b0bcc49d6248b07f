module sshload.dev/benchmarks/delay_proxy

go 1.26.0
