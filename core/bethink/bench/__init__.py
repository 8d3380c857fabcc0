"""The benchmark: ``python -m bethink.bench`` times bethink beside its peers in one run."""
