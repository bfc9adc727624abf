"""Operations on runs and their tasks: charts, explanations, Spark, changes."""
