// Times in the zone that is chosen: the browser's own, UTC, or the DAG's.  The choice is in the
// address as `tz`, and kept for the next page.
const KEPT = "headway-tz";

/** Show all times of the page in the zone that is chosen, and have the switch change it. */
export function showTimes() {
  const select = document.getElementById("zone");
  if (!select) return;
  offer(select, document.body.dataset.zone);
  const zone = chosen(select);
  select.value = zone;
  if (!select.dataset.ready) {
    select.dataset.ready = "";
    select.closest("label").hidden = false;
    select.addEventListener("change", () => choose(select.value));
  }
  const format = formatFor(zone === "dag" ? document.body.dataset.zone : zone);
  for (const element of document.querySelectorAll("time[datetime]")) {
    const shown = format(new Date(element.dateTime));
    if (element.textContent !== shown) element.textContent = shown;
  }
}

/** Offer the time zone of the DAG that the page is about. */
function offer(select, zone) {
  if (!zone || select.querySelector("option[value=dag]")) return;
  select.append(new Option(`DAG's, ${zone}`, "dag"));
}

function chosen(select) {
  const asked = new URL(location.href).searchParams.get("tz") ?? localStorage.getItem(KEPT);
  return [...select.options].some((option) => option.value === asked) ? asked : "mine";
}

function choose(zone) {
  localStorage.setItem(KEPT, zone);
  const here = new URL(location.href);
  here.searchParams.set("tz", zone);
  history.replaceState(null, "", here);
  showTimes();
}

function formatFor(zone) {
  if (zone === "utc" || zone === "UTC") return (at) => at.toISOString().slice(0, 19).replace("T", " ");
  if (zone === "mine") return ofBrowser; // without Intl, whose first use takes longer than all else that a page does
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
  return (at) => {
    const by = Object.fromEntries(parts.formatToParts(at).map((part) => [part.type, part.value]));
    return `${by.year}-${by.month}-${by.day} ${by.hour}:${by.minute}:${by.second}`;
  };
}

function ofBrowser(at) {
  const date = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()];
  return `${date.map(inTwo).join("-")} ${time.map(inTwo).join(":")}`;
}

function inTwo(number) {
  return String(number).padStart(2, "0");
}
