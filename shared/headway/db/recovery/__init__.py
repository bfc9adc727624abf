"""What schedulers write of attempts and runs that dead processes leave."""
