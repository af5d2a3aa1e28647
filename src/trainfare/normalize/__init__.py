"""Turn deliveries into facts: kinds of charges, machines, attempts, placements, currencies, amortization, estimates."""
