"""Answers from published books. Reads; never computes money."""
