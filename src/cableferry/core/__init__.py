"""What may happen: facts, tables and rules, without a clock, chance or I/O."""
