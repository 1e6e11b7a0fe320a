"""Resource quotas: what each object uses, how much of each quota is used, and what may come."""
