"""Collectors: query running systems, and record what they say."""
