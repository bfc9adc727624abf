"""From a claimed notification to the order for the child that is to send it."""

from headway.db.execution.notification_claims import ClaimedNotification
from headway_worker.protocol.notification_order import NotificationOrder


def order_of(claimed: ClaimedNotification, base_url: str) -> NotificationOrder:
    """Return the order for a claimed notification."""
    notifier = claimed.definition
    subject, body, to = notifier["subject"], notifier["body"], notifier["to"]
    return NotificationOrder(
        key=str(claimed.message_key),
        event=str(claimed.event),
        dag_id=claimed.dag_id,
        run_id=claimed.run_id,
        interval_start=claimed.interval_start.isoformat(),
        interval_end=claimed.interval_end.isoformat(),
        connection=str(notifier["connection"]),
        subject=None if subject is None else str(subject),
        body=None if body is None else str(body),
        to=[str(address) for address in to] if isinstance(to, list) else [],
        events=claimed.events,
        told=claimed.told,
        base_url=base_url.rstrip("/"),
    )
