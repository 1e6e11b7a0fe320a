"""Our API server against kube-apiserver and etcd: throughput, CPU per write, fan-out, start,
memory.
"""
