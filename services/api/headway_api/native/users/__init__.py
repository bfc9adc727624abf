"""Operations on accounts and tokens."""
