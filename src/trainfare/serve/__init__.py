"""The service: pages and an API over published books. Reads; never computes money."""
