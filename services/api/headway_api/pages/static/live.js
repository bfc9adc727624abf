// Keep a page live: when the API tells of a change of the page's topic, load the page again, and
// put in place what differs.
import { morph } from "./morph.js";

const REST = 250; // milliseconds between two loads at least, so that a storm of events costs little
const AGAIN = 10_000; // milliseconds after which a stream that was refused is asked for again
const SHARE = 4; // so many times as long as a load took; an API that is busy is asked less often
const policy = window.trustedTypes?.createPolicy("headway", { createHTML: (text) => text });

/** Return the document of a text of the API's own. */
export function parsed(text) {
  return new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
}

let afterEach = () => undefined;
let shownText = "";

/** Go to another address of the same page, and put in place what differs. */
export async function visit(address) {
  history.pushState(null, "", address);
  await reload(afterEach);
}

/** Have links that fold groups keep the place to which the page is scrolled. */
export function listenForFolds() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.fold");
    const elsewhere = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (!link || elsewhere) return;
    event.preventDefault();
    const address = new URL(link.getAttribute("href"), location.href);
    address.hash = ""; // it is for pages without script
    visit(address);
  });
}

/** Follow topics, with spaces between; `afterwards` is called when the page has changed. */
export function keepLive(topics, afterwards) {
  afterEach = afterwards;
  window.addEventListener("popstate", () => reload(afterwards));
  if (!topics) return;
  const shown = document.getElementById("live");
  const load = atMostOnceAtATime(() => reload(afterwards));
  const asked = topics.split(" ").map((topic) => `topic=${encodeURIComponent(topic)}`).join("&");
  let source = null;

  function open() {
    source?.close();
    if (document.hidden) return;
    source = new EventSource(`/headway/v1/live?${asked}`);
    source.onopen = () => say(shown, "live", false);
    source.onerror = () => {
      if (!shown.classList.contains("stale")) say(shown, `stale since ${now()}`, true);
      if (source.readyState === EventSource.CLOSED) setTimeout(open, AGAIN);
    };
    // The first snapshot, too: something may have changed since the page was made.
    for (const kind of ["snapshot", "change", "gone"]) source.addEventListener(kind, load);
  }

  document.addEventListener("visibilitychange", open);
  window.addEventListener("pagehide", () => source?.close());
  window.addEventListener("pageshow", (event) => event.persisted && open()); // the way back
  open();
}

function now() {
  return new Date().toLocaleTimeString();
}

function say(shown, text, stale) {
  shown.hidden = false;
  shown.textContent = text;
  shown.classList.toggle("stale", stale);
}

async function reload(afterwards) {
  const asked = location.href;
  const answer = await fetch(asked, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const text = await answer.text();
  if (location.href !== asked) return; // somebody has gone on meanwhile
  if (text !== shownText) show(parsed(text));
  shownText = text;
  afterwards(); // also if the page is the same: rows that a script has drawn are not in it
}

function show(page) {
  const wanted = page.getElementById("content");
  if (wanted) morph(document.getElementById("content"), wanted);
  document.title = page.title;
}

function atMostOnceAtATime(work) {
  let under_way = false;
  let again = false;
  async function run() {
    if (under_way) {
      again = true;
      return;
    }
    under_way = true;
    do {
      again = false;
      const began = performance.now();
      await work().catch(() => undefined); // the stream says when the API is away
      const took = performance.now() - began;
      await new Promise((done) => setTimeout(done, Math.max(REST, SHARE * took)));
    } while (again);
    under_way = false;
  }
  return run;
}
