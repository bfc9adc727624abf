"""Operations on the installation: queues, processes, callbacks, backfills, search."""
