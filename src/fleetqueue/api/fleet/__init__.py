"""The wire types of KubeFleet.

Each module declares its kinds in v1beta1, the stored version. The other versions are in `v1` and
`v1alpha1`: a kind that looks the same there is a subclass of the v1beta1 one, and only what differs
is declared anew.
"""
