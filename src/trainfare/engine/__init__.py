"""Run SQL steps on DuckDB or Spark. No cost terms appear here."""
