"""The scheduler service: creates runs, queues tasks, adopts what the dead leave."""
