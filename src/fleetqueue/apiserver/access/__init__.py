"""Who a caller is and what it may do: certificates, tokens, RBAC and the review kinds; all pure."""
