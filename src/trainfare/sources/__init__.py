"""Read what users hand over: one file per format. Translates, decides nothing about money."""
