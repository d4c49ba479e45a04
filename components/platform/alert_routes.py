"""Which alert reaches whom. Pure."""

from typing import Any

from components.cloud import AlertReceiver


def alert_config(receiver: AlertReceiver | None) -> dict[str, Any]:
    """Who is told of what: alerts say it themselves, by their label `notify`.

    An `event` is told once; of a `state` people are also told when it ends. Everything else is
    shown in Grafana, and nobody is woken by it.
    """
    nobody = "nobody"
    config: dict[str, Any] = {
        "global": {"resolve_timeout": "5m"},
        # The chart's own rules would silence what only informs, such as a job's success.
        "inhibit_rules": [],
        "route": {"receiver": nobody, "group_by": ["alertname", "namespace"], "routes": []},
        "receivers": [{"name": nobody}],
        "templates": [],
    }
    if receiver is None:
        return config
    for label, tell_end in (("event", False), ("state", True)):
        name = f"people-{label}"
        settings = {**receiver.settings, "send_resolved": tell_end}
        config["receivers"].append({"name": name, receiver.kind: [settings]})
        config["route"]["routes"].append(
            {
                "receiver": name,
                "matchers": [f'notify = "{label}"'],
                "group_by": ["alertname", "namespace"],
                # The jobs of a sweep end together: one message, not twenty.
                "group_wait": "1m",
                "group_interval": "5m",
                "repeat_interval": "24h",
            }
        )
    return config
