"""Match rules, form pots, weigh payers, split, audit."""
