"""The benchmark: ``python -m bethink.bench`` times bethink beside peers in one run."""
