"""Timings of proxsdca over its history, run by asv."""
