"""One order's whole way through the system, put together from what each part wrote down for itself."""
