"""Write the JSON of all dashboards into the chart."""

from deploy.helm.dashboards.files import FOLDER, texts

for name, text in texts().items():
    (FOLDER / name).write_text(text)
