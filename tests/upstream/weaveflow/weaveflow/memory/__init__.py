"""Weaveflow's memory."""
